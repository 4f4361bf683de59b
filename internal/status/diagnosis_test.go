// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestDiagnosed: for each action, the message of a failure begins with the summary of the
// diagnosis. The event has the same message, and annotations with details and logs.
func TestDiagnosed(t *testing.T) {
	const summary = "Hook apps/migrate (Job): ContainerFailed: container main exited with code 3"
	const logs = "Last log lines of container main of Pod migrate-x:\n\none\ntwo\n\nLast Helm logs:\n\nline"
	deployed := testRevision(2, helmv2.StatusDeployed)
	for name, tc := range map[string]struct {
		action    release.HelmAction
		condition string
		want      string
	}{
		"install":   {release.Install{}, helmv2.ConditionReleased, "Helm install failed for release apps/web with chart web@1.1.0: hooks failed: " + summary + ": timeout"},
		"upgrade":   {release.Upgrade{}, helmv2.ConditionReleased, "Helm upgrade failed for release apps/web with chart web@1.1.0: hooks failed: " + summary + ": timeout"},
		"test":      {release.Test{}, helmv2.ConditionTestSuccess, "Helm test failed for release apps/web.v1 with chart web@1.1.0: hooks failed: " + summary + ": timeout"},
		"rollback":  {release.Rollback{Version: 1}, helmv2.ConditionRemediated, "Helm rollback to previous release apps/web.v1 with chart web@1.1.0 failed: hooks failed: " + summary + ": timeout"},
		"remedy":    {release.Uninstall{Remediation: true}, helmv2.ConditionRemediated, "Helm uninstall remediation for release apps/web.v1 with chart web@1.1.0 failed: hooks failed: " + summary + ": timeout"},
		"uninstall": {release.Uninstall{}, helmv2.ConditionReleased, "Helm uninstall failed for release apps/web.v1 with chart web@1.1.0: hooks failed: " + summary + ": timeout"},
		"heal":      {release.Recheck{Version: 1}, helmv2.ConditionReleased, "Helm install failed for release apps/web with chart web@1.1.0: hooks failed: " + summary + ": timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			want := testDesired()
			want.Policy.Tests = true
			out := release.Outcome{
				Action: tc.action, Desired: want, Err: fmt.Errorf("hooks failed: %s: %w", summary, errors.New("timeout")), Logs: []string{"line"}, Started: testNow, Ended: testNow,
				Diagnosis: &release.Diagnosis{
					Code: helmv2.FailureContainer, Object: release.Object{Kind: "Job", Namespace: "apps", Name: "migrate"}, Summary: summary,
					Details: []string{"the first detail", "the second"}, Logs: []release.ContainerLog{{Pod: "migrate-x", Container: "main", Text: "one\ntwo\n"}},
				},
			}
			r := Finished(testObject(), out, testNow)
			c := conditions{list: r.Status.Conditions}
			if got := c.get(tc.condition).Message; got != tc.want {
				t.Errorf("%s has message %q, want %q", tc.condition, got, tc.want)
			}
			if len(r.Events) != 1 || !strings.Contains(headOf(r.Events[0].Message), " failed: "+summary+". ") || !strings.HasSuffix(r.Events[0].Message, "\n"+tc.want) {
				t.Fatalf("events %+v", r.Events)
			}
			m := r.Events[0].Metadata
			if m[helmv2.EventMetadataFailure] != "ContainerFailed" || m[helmv2.EventMetadataObject] != "Job/apps/migrate" || m[helmv2.EventMetadataRevision] == "" {
				t.Errorf("metadata %v", m)
			}
			if m[helmv2.EventMetadataDetails] != "the first detail\nthe second" || m[helmv2.EventMetadataLogs] != logs {
				t.Errorf("details %q, logs %q", m[helmv2.EventMetadataDetails], m[helmv2.EventMetadataLogs])
			}
		})
	}
	for name, action := range map[string]release.HelmAction{
		"install": release.Install{}, "upgrade": release.Upgrade{}, "test": release.Test{}, "rollback": release.Rollback{Version: 1}, "uninstall": release.Uninstall{},
	} {
		want := testDesired()
		want.Policy.Tests = true
		r := Finished(testObject(), release.Outcome{
			Action: action, Desired: want, Revisions: []release.Revision{deployed},
			HookLogs: []release.ContainerLog{{Pod: "migrate-x", Container: "main", Text: "all well"}},
		}, testNow)
		if len(r.Events) != 1 || r.Events[0].Metadata[helmv2.EventMetadataLogs] != "Last log lines of container main of Pod migrate-x:\n\nall well" {
			t.Fatalf("%s: events %+v", name, r.Events)
		}
		if strings.Contains(r.Events[0].Message, "all well") {
			t.Errorf("%s: the message has the log of a hook: %s", name, r.Events[0].Message)
		}
		for _, c := range r.Status.Conditions {
			if strings.Contains(c.Message, "all well") {
				t.Errorf("%s: %s has the log of a hook: %s", name, c.Type, c.Message)
			}
		}
	}
}

// headOf returns the sentences of a message.
func headOf(text string) string {
	head, _, _ := strings.Cut(text, "\n")
	return head
}
