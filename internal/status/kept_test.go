// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestKeptObjects: the condition of a rollback and an event name the objects that the rollback has kept.
// The condition of a hold names them as long as the hold lasts, and no former time of its end.
func TestKeptObjects(t *testing.T) {
	const kept = "PersistentVolumeClaim/apps/data: ReleasePolicy/p protects it"
	back := testRevision(3, helmv2.StatusDeployed)
	back.Rollback, back.RolledBackTo = true, 1
	for name, tc := range map[string]struct{ hold, condition string }{
		"Requested": {"1", helmv2.ConditionRolledBack}, "Remediation": {"", helmv2.ConditionRemediated},
	} {
		want := testDesired()
		hr := testObject()
		hr.Status.History = helmv2.Snapshots{{Version: 1, Name: "web", Namespace: "apps", Status: "superseded"}}
		hr.Annotations = map[string]string{}
		if tc.hold != "" {
			hr.Annotations[helmv2.AnnotationRollbackTo] = tc.hold
		}
		want.Hold = release.HoldOf(hr.Annotations, testNow)
		r := Finished(hr, release.Outcome{
			Action: release.Rollback{Version: 1, Hold: tc.hold != ""}, Desired: want, Revisions: []release.Revision{back}, Kept: []string{kept},
		}, testNow)
		named := func(status helmv2.HelmReleaseStatus) bool {
			c := conditions{list: status.Conditions}
			return strings.HasSuffix(c.get(tc.condition).Message, "; kept objects: "+kept)
		}
		if !named(r.Status) {
			t.Errorf("%s: conditions %+v", name, r.Status.Conditions)
		}
		events := 0
		for _, e := range r.Events {
			if e.Reason == helmv2.EventReasonObjectsKept && e.Message == "Helm rollback kept objects: "+kept {
				events++
			}
		}
		if events != 1 {
			t.Errorf("%s: events %+v", name, r.Events)
		}
		if tc.hold == "" {
			continue
		}
		hr.Status = r.Status
		in := release.Input{Desired: want, Recorded: r.Status, Now: testNow, Observed: release.Observed{Revisions: []release.Revision{back}}}
		// The time of the hold is set, changed and removed.
		for _, until := range []string{"", "2100-01-02T03:04:05Z", "2100-02-02T03:04:05Z", ""} {
			delete(hr.Annotations, helmv2.AnnotationRollbackUntil)
			if until != "" {
				hr.Annotations[helmv2.AnnotationRollbackUntil] = until
			}
			in.Desired.Hold, in.Recorded = release.HoldOf(hr.Annotations, testNow), hr.Status
			hr.Status = Settled(hr, release.Decision{Rule: release.RuleRolledBack, State: release.StateRolledBack, Action: release.Settle{}}, in).Status
			c := conditions{list: hr.Status.Conditions}
			if message := c.get(helmv2.ConditionRolledBack).Message; !named(hr.Status) || strings.Count(message, kept) != 1 || strings.Contains(message, " UTC") != (until != "") || len(until) > 10 && !strings.Contains(message, "held until "+until[:10]) {
				t.Errorf("until %q: %s", until, message)
			}
		}
	}
}
