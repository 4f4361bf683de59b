// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestStorable: a message is truncated to maxMessage bytes, between characters.
func TestStorable(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		message string
		length  int
	}{
		"Short":     {"It does not change.", "short", 5},
		"Longest":   {"It has the maximum length.", strings.Repeat("x", maxMessage), maxMessage},
		"TooLong":   {"It is truncated.", strings.Repeat("x", maxMessage+1), maxMessage},
		"Character": {"It is truncated before a character.", strings.Repeat("x", maxMessage-4) + "€€€", maxMessage - 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := storable(tc.message)
			if len(got) != tc.length || !utf8.ValidString(got) {
				t.Errorf("%s %d bytes, want %d: ...%q", tc.reason, len(got), tc.length, got[max(0, len(got)-10):])
			}
			if storable(got) != got {
				t.Error("a second call changes the message")
			}
		})
	}
}

// TestTransitionTime: the transition time changes with status, reason and message.
func TestTransitionTime(t *testing.T) {
	before := metav1.NewTime(testNow.Add(-time.Hour))
	for name, tc := range map[string]struct {
		reason                  string
		status                  metav1.ConditionStatus
		conditionReason, detail string
		moved                   bool
	}{
		"Same":    {"Nothing changed.", metav1.ConditionTrue, "R", "m", false},
		"Status":  {"The status changed.", metav1.ConditionFalse, "R", "m", true},
		"Reason":  {"The reason changed.", metav1.ConditionTrue, "S", "m", true},
		"Message": {"The message changed.", metav1.ConditionTrue, "R", "n", true},
	} {
		t.Run(name, func(t *testing.T) {
			hr := &helmv2.HelmRelease{}
			hr.Status.Conditions = []metav1.Condition{{
				Type: "Ready", Status: metav1.ConditionTrue, Reason: "R", Message: "m", LastTransitionTime: before, ObservedGeneration: 1,
			}}
			c := conditionsOf(hr, &hr.Status, 7, testNow.Add(123*time.Millisecond))
			c.set("Ready", tc.status, tc.conditionReason, tc.detail)
			got := c.get("Ready")
			want := before
			if tc.moved {
				want = metav1.NewTime(testNow)
			}
			if !got.LastTransitionTime.Equal(&want) || got.ObservedGeneration != 7 || c.changed(helmv2.ConditionReady) != tc.moved {
				t.Errorf("%s got %+v, changed %t", tc.reason, got, c.changed(helmv2.ConditionReady))
			}
			if hr.Status.Conditions[0].Message != "m" || hr.Status.Conditions[0].ObservedGeneration != 1 {
				t.Error("the present conditions were changed")
			}
		})
	}
}

// TestMerge: merge adds new revisions, and keeps the facts that only history has.
func TestMerge(t *testing.T) {
	by := origin{testUID, helmv2.ActionUpgrade, "sha256:new"}
	recorded := func() helmv2.Snapshots {
		s := snapshot(testRevision(1, helmv2.StatusDeployed))
		s.Action, s.OCIDigest, s.TestHooks = helmv2.ActionInstall, "sha256:old", &map[string]*helmv2.TestHookStatus{"t": {}}
		return helmv2.Snapshots{s}
	}
	otherScheme := func() helmv2.Snapshots {
		s := recorded()
		s[0].APIVersion, s[0].Digest = "v2", "sha256:other"
		return s
	}
	foreign := testRevision(2, helmv2.StatusSuperseded)
	foreign.Owner = "uid-2"
	for name, tc := range map[string]struct {
		reason  string
		history helmv2.Snapshots
		stored  []release.Revision
		want    []string
	}{
		"Nothing": {"Without revisions, the history is empty.", nil, nil, nil},
		"New": {
			"A new revision has the origin, and the old one keeps its own.", recorded(),
			[]release.Revision{testRevision(2, helmv2.StatusDeployed), testRevision(1, helmv2.StatusSuperseded)},
			[]string{
				"2 deployed upgrade sha256:new pintle.dev/v2 sha256:2-deployed tested=false",
				"1 superseded install sha256:old pintle.dev/v2 sha256:1-superseded tested=true",
			},
		},
		"Foreign": {
			"A revision of another owner has no origin.", nil,
			[]release.Revision{foreign},
			[]string{"2 superseded   pintle.dev/v2 sha256:2-superseded tested=false"},
		},
		"OtherScheme": {
			"A revision that an action has written has a new snapshot, because the old digest no longer matches.", otherScheme(),
			[]release.Revision{testRevision(1, helmv2.StatusSuperseded)},
			[]string{"1 superseded install sha256:old pintle.dev/v2 sha256:1-superseded tested=true"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := tc.history.DeepCopy()
			var got []string
			for _, s := range merge(tc.history, tc.stored, by) {
				got = append(got, fmt.Sprintf("%d %s %s %s %s %s tested=%t", s.Version, s.Status, s.Action, s.OCIDigest, s.APIVersion, s.Digest, s.TestHooks != nil))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, tc.history); diff != "" {
				t.Errorf("the argument was changed:\n%s", diff)
			}
		})
	}
}

// TestSnapshotSurvivesStorage: a snapshot equals itself after it was stored and read.
func TestSnapshotSurvivesStorage(t *testing.T) {
	r := testRevision(1, helmv2.StatusUninstalled)
	r.FirstDeployed = testNow.In(time.FixedZone("somewhere", 3600)).Add(time.Nanosecond)
	r.Deleted = testNow.Add(999 * time.Millisecond)
	s := snapshot(r)
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	back := &helmv2.Snapshot{}
	if err := json.Unmarshal(raw, back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, back); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

// TestEventMetadata: annotations of events have the known facts of a revision, and no others.
func TestEventMetadata(t *testing.T) {
	all := map[string]string{
		"helm.toolkit.fluxcd.io/revision": "1.1.0", "helm.toolkit.fluxcd.io/token": "sha256:values",
		"helm.toolkit.fluxcd.io/app-version": "7", "helm.toolkit.fluxcd.io/oci-digest": "sha256:oci",
	}
	if diff := cmp.Diff(all, desiredMetadata(testDesired())); diff != "" {
		t.Errorf("of the desired state (-want +got):\n%s", diff)
	}
	s := snapshot(testRevision(1, helmv2.StatusDeployed))
	s.OCIDigest = "sha256:oci"
	if diff := cmp.Diff(all, snapshotMetadata(s)); diff != "" {
		t.Errorf("of a snapshot (-want +got):\n%s", diff)
	}
	r := testRevision(1, helmv2.StatusFailed)
	r.AppVersion = ""
	want := map[string]string{"helm.toolkit.fluxcd.io/revision": "1.1.0", "helm.toolkit.fluxcd.io/token": "sha256:values"}
	if diff := cmp.Diff(want, revisionMetadata(&r)); diff != "" {
		t.Errorf("of a revision without an app version (-want +got):\n%s", diff)
	}
	if got := snapshotMetadata(nil); got != nil {
		t.Errorf("of no snapshot: %v", got)
	}
}

// TestInventory: objects have the identifiers of Flux.
func TestInventory(t *testing.T) {
	got := inventory([]release.Object{
		{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "apps", Name: "web"},
		{Version: "v1", Kind: "Namespace", Name: "apps"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role", Namespace: "apps", Name: "system:web"},
	})
	want := &helmv2.ResourceInventory{Entries: []helmv2.ResourceRef{
		{ID: "apps_web_apps_Deployment", Version: "v1"},
		{ID: "_apps__Namespace", Version: "v1"},
		{ID: "apps_system__web_rbac.authorization.k8s.io_Role", Version: "v1"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHelmLogs: only the last lines are in events, and long lines are truncated.
func TestHelmLogs(t *testing.T) {
	var lines []string
	for i := range 12 {
		lines = append(lines, fmt.Sprint(i))
	}
	if got := helmLogs(nil); len(got) > 0 {
		t.Errorf("no lines: %q", got)
	}
	want := []string{"2", "3", "4", "5", "6", "7", "8", "9", "10", "11"}
	if diff := cmp.Diff(want, helmLogs(lines)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	long := strings.Repeat("x", 2*maxLogLine)
	if got := helmLogs([]string{long}); len(got[0]) > maxLogLine+5 || !strings.HasSuffix(got[0], "...") {
		t.Errorf("%d bytes of a line of %d", len(got[0]), len(long))
	}
}

// TestStoredFailureMessage: the message has the name of the release once.
func TestStoredFailureMessage(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, description, want string
	}{
		"Helm":     {"The name before the error is removed.", `Release "web" failed: timed out`, "timed out"},
		"Unlocked": {"Other descriptions do not change.", "Release unlocked from stale 'pending-install' state", "Release unlocked from stale 'pending-install' state"},
	} {
		t.Run(name, func(t *testing.T) {
			r := testRevision(1, helmv2.StatusFailed)
			r.Description = tc.description
			want := "Helm install failed for release apps/web with chart web@1.1.0: " + tc.want
			if got := storedFailureMessage(helmv2.ActionInstall, &r); got != want {
				t.Errorf("%s\ngot  %q\nwant %q", tc.reason, got, want)
			}
		})
	}
}

// TestFailureNamesTheRelease: the message has the name of the release, which can differ from the
// name of the HelmRelease and from spec.releaseName.
func TestFailureNamesTheRelease(t *testing.T) {
	hr := testObject()
	hr.Spec.ReleaseName = "a-name-that-is-much-too-long"
	want := testDesired()
	want.Target.Name = "a-name-0123456789ab"
	r := Finished(hr, release.Outcome{Action: release.Upgrade{}, Desired: want, Err: errors.New("it broke")}, testNow)
	const message = "Helm upgrade failed for release apps/a-name-0123456789ab with chart web@1.1.0: it broke"
	if c := apimeta.FindStatusCondition(r.Status.Conditions, helmv2.ConditionReleased); c == nil || c.Message != message {
		t.Errorf("Released is %+v", c)
	}
}

// TestReadyNeedsAReason: without a condition about the release, summarize does not set Ready.
func TestReadyNeedsAReason(t *testing.T) {
	hr := testObject()
	hr.Status.Conditions = []metav1.Condition{{Type: helmv2.ConditionReconciling, Status: metav1.ConditionTrue, Reason: helmv2.ReasonProgressing}}
	c := conditionsOf(hr, &hr.Status, 3, testNow)
	c.summarize(&hr.Status, testDesired())
	if ready := c.get(helmv2.ConditionReady); ready.Type != "" {
		t.Errorf("Ready is %+v", ready)
	}
}
