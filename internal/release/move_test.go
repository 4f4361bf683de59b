// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestMustCheckTarget: the target is checked only if the result decides about an uninstall, and
// without a result nothing is uninstalled.
func TestMustCheckTarget(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Input)
		want   bool
	}{
		"Renamed":   {func(*Input) {}, true},
		"Checked":   {func(in *Input) { in.Observed.Target = &TargetCheck{Refused: "no"} }, false},
		"NotMoved":  {func(in *Input) { in.Desired.Target.Name = "web" }, false},
		"Suspended": {func(in *Input) { in.Desired.Suspension.Active = true }, false},
		"Deleted":   {func(in *Input) { in.Desired.Deleted = true }, false},
		"Locked":    {func(in *Input) { in.Observed.LockHolder = &Operation{} }, false},
		"Waited":    {func(in *Input) { in.Observed.WaitingOperation = &Operation{} }, false},
		"Running":   {func(in *Input) { in.Observed.Running = &Running{} }, false},
		"Pending":   {func(in *Input) { newestIs(in, helmv2.StatusPendingUpgrade) }, false},
		"Nothing":   {func(in *Input) { in.Observed.Revisions = nil }, false},
		"Gone":      {func(in *Input) { newestIs(in, helmv2.StatusUninstalled) }, false},
		"Forgotten": {func(in *Input) {
			in.Observed.Revisions[0].Owner, in.Observed.Conflicts = "other-uid", []Conflict{{UID: "other-uid"}}
		}, false},
		"ByHand": {func(in *Input) {
			in.Desired.Target.Name, in.Desired.Target.Namespace = "web", "other"
			in.Observed.Revisions[0].Namespace = "other"
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := inSyncInput()
			in.Desired.Target.Name = "renamed"
			tc.change(&in)
			if got := MustCheckTarget(in); got != tc.want {
				t.Errorf("MustCheckTarget is %t", got)
			}
			d := Decide(in)
			if _, uninstalls := d.Action.(Uninstall); uninstalls && tc.want {
				t.Errorf("uninstalls without a check: %+v", d)
			}
		})
	}
}

// TestObstacles: a release of another owner or a rejection at the new target keeps the old release.
func TestObstacles(t *testing.T) {
	foreign := Revision{Name: "renamed", Version: 1, Status: helmv2.StatusDeployed, Owner: "other-uid"}
	unknown, gone, own := foreign, foreign, foreign
	unknown.Owner, own.Owner, gone.Status = "", testUID, helmv2.StatusUninstalled
	other := Conflict{UID: "other-uid", Namespace: "apps", Name: "other", Elsewhere: true}
	for name, tc := range map[string]struct {
		check  TargetCheck
		reason string
	}{
		"Free":        {TargetCheck{}, ""},
		"Others":      {TargetCheck{Revisions: []Revision{foreign}, Conflicts: []Conflict{other}}, helmv2.ReasonContested},
		"NoOwner":     {TargetCheck{Revisions: []Revision{unknown}}, helmv2.ReasonTargetUnavailable},
		"Uninstalled": {TargetCheck{Revisions: []Revision{gone}}, ""},
		"Own":         {TargetCheck{Revisions: []Revision{own}}, ""},
		"Refused":     {TargetCheck{Refused: "no"}, helmv2.ReasonTargetUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			in := inSyncInput()
			in.Desired.Target.Name = "renamed"
			in.Observed.Target = &tc.check
			switch a := Decide(in).Action.(type) {
			case Uninstall:
				if tc.reason != "" {
					t.Errorf("uninstalls %+v", a)
				}
			case Wait:
				if a.Obstacle != tc.reason || tc.reason == "" {
					t.Errorf("waits for %q", a.Obstacle)
				}
			default:
				t.Errorf("decides %+v", a)
			}
		})
	}
}

// TestStrayIsUnlocked: a stray release with the status of an uninstall is unlocked and then recorded: no
// history shows that the uninstall was begun.
func TestStrayIsUnlocked(t *testing.T) {
	in := inSyncInput()
	in.Recorded.History, in.Recorded.UpgradeFailures = nil, 1
	in.Observed.Stray = &Target{Name: "old", Namespace: "apps", StorageNamespace: "store"}
	in.Observed.Revisions = in.Observed.Revisions[:1]
	in.Observed.Revisions[0].Status, in.Observed.Revisions[0].Modified = helmv2.StatusUninstalling, metav1.NewTime(testNow.Add(-24*60*60*1e9)).Time
	d := Decide(in)
	if a, unlocks := d.Action.(Unlock); !unlocks || a.Target != *in.Observed.Stray {
		t.Errorf("decides %+v", d)
	}
}
