// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestBelieve: labels and annotations of a record count if it has a seal, and the labels even if the
// history of the HelmRelease that they name has its digest.
func TestBelieve(t *testing.T) {
	t.Parallel()
	claims := func(r Revision) Revision {
		r.Attempt, r.Plan, r.TestRequest = &Attempt{ID: testUID + ".2.x"}, "sha256:plan", "one"
		r.Applied, r.Rollback, r.RolledBackTo = true, true, 1
		return r
	}
	for name, tc := range map[string]struct {
		change  func(*Revision)
		digest  string
		owner   string
		attempt bool
		claimed bool
	}{
		"Sealed":          {func(*Revision) {}, "", testUID, true, false},
		"SealedForOther":  {func(r *Revision) { r.Owner = "other" }, "", "other", true, false},
		"Unsealed":        {func(r *Revision) { r.Sealed = false }, "", "", false, true},
		"UnsealedOther":   {func(r *Revision) { r.Sealed, r.Owner = false, "other" }, "", "", false, false},
		"Recorded":        {func(r *Revision) { r.Sealed = false }, "sha256:deployed", testUID, false, false},
		"RecordedOther":   {func(r *Revision) { r.Sealed, r.Owner = false, "other" }, "sha256:deployed", "", false, false},
		"RecordedChanged": {func(r *Revision) { r.Sealed, r.Digest = false, "x" }, "sha256:deployed", "", false, true},
		"RecordedUnread":  {func(r *Revision) { r.Sealed, r.Unread = false, true }, "sha256:deployed", "", false, true},
	} {
		r := claims(testRevision(2, helmv2.StatusDeployed))
		tc.change(&r)
		var history helmv2.Snapshots
		if tc.digest != "" {
			s := testSnapshot(testRevision(2, helmv2.StatusDeployed))
			s.Digest = tc.digest
			history = helmv2.Snapshots{s}
		}
		got := Believe(r, testUID, history)
		if got.Owner != tc.owner || (got.Attempt != nil) != tc.attempt || got.Claimed != tc.claimed || got.Applied != (tc.owner != "") || (got.RolledBackTo > 0) != (tc.owner != "") {
			t.Errorf("%s: %+v", name, got)
		}
		if again := Believe(got, testUID, history); again.Owner != got.Owner || again.Attempt != got.Attempt {
			t.Errorf("%s: once more %+v", name, again)
		}
	}
}

// TestProven: content is proven by a seal of the same life for the HelmRelease, or by its history.
func TestProven(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*Revision, *helmv2.Snapshot)
		want   bool
	}{
		"Both":            {func(*Revision, *helmv2.Snapshot) {}, true},
		"History":         {func(r *Revision, _ *helmv2.Snapshot) { r.Sealed = false }, true},
		"Seal":            {func(_ *Revision, s *helmv2.Snapshot) { s.Version = 9 }, true},
		"SealForOther":    {func(r *Revision, s *helmv2.Snapshot) { s.Version, r.Owner = 9, "other" }, false},
		"SealOfOtherLife": {func(r *Revision, s *helmv2.Snapshot) { s.Version, r.FirstDeployed = 9, testNow }, false},
		"None":            {func(r *Revision, s *helmv2.Snapshot) { s.Version, r.Sealed = 9, false }, false},
		"Changed":         {func(r *Revision, _ *helmv2.Snapshot) { r.Sealed, r.Digest = false, "x" }, false},
		"Altered":         {func(r *Revision, _ *helmv2.Snapshot) { r.Altered = true }, false},
		"UnknownScheme":   {func(r *Revision, s *helmv2.Snapshot) { r.Sealed, s.APIVersion = false, "other/v1" }, false},
		"Superseded": {func(r *Revision, s *helmv2.Snapshot) {
			r.Sealed, r.Status, r.DeployedDigest, r.Digest = false, helmv2.StatusSuperseded, s.Digest, "sha256:superseded"
		}, true},
		"SupersededAndChanged": {func(r *Revision, _ *helmv2.Snapshot) {
			r.Sealed, r.Status, r.DeployedDigest, r.Digest = false, helmv2.StatusSuperseded, "x", "sha256:superseded"
		}, false},
	} {
		r := testRevision(2, helmv2.StatusDeployed)
		s := testSnapshot(r)
		tc.change(&r, s)
		if got := Proven(&r, testUID, helmv2.Snapshots{s}); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
	if r := testRevision(2, helmv2.StatusDeployed); Proven(&r, "", nil) {
		t.Error("proven for no HelmRelease")
	}
}

// TestProvenSince: deployed revisions that nothing proves count as later ones.
func TestProvenSince(t *testing.T) {
	t.Parallel()
	stored := []Revision{
		testRevision(5, helmv2.StatusFailed), testRevision(4, helmv2.StatusDeployed), testRevision(3, helmv2.StatusSuperseded),
		testRevision(2, helmv2.StatusFailed), testRevision(1, helmv2.StatusSuperseded),
	}
	for name, tc := range map[string]struct {
		proven       map[int]bool
		deployed     int
		later, taken []int
	}{
		"Proven": {map[int]bool{4: true}, 4, []int{5}, nil},
		"Older":  {map[int]bool{3: true}, 3, []int{4, 5}, []int{4}},
		"First":  {map[int]bool{1: true}, 1, []int{3, 4, 5}, []int{4, 3}},
		"None":   {nil, 0, []int{1, 3, 4, 5}, []int{4, 3, 1}},
	} {
		deployed, later, taken, err := ProvenSince(stored, 0, func(version int) (bool, error) { return tc.proven[version], nil })
		if diff := cmp.Diff([]any{tc.deployed, tc.later, tc.taken}, []any{deployed, later, taken}); diff != "" || err != nil {
			t.Errorf("%s (-want +got):\n%s%v", name, diff, err)
		}
	}
}

// TestUnprovenDrift: drift is not corrected towards a revision that nothing proves.
func TestUnprovenDrift(t *testing.T) {
	t.Parallel()
	in := inSyncInput()
	in.Desired.Policy.Drift, in.Desired.Policy.DriftTimeout = helmv2.DriftDetectionEnabled, time.Minute
	in.Observed.Drift = &Drift{Objects: []DriftedObject{{Removed: true}}}
	if _, corrects := Decide(in).Action.(CorrectDrift); !corrects {
		t.Errorf("proven: %+v", Decide(in))
	}
	in.Observed.Revisions[0].Sealed, in.Recorded.History[0].APIVersion = false, "other/v1"
	if d := Decide(in); d.Rule != RuleDrifted || d.Action != (Settle{}) {
		t.Errorf("not proven: %+v", d)
	}
}

// TestUnprovenTests: tests that a digest of helm-controller does not cover are not run. An upgrade
// makes a revision whose tests are known.
func TestUnprovenTests(t *testing.T) {
	t.Parallel()
	in := inSyncInput()
	in.Desired.Policy.Tests = true
	if _, tests := Decide(in).Action.(Test); !tests {
		t.Errorf("proven: %+v", Decide(in))
	}
	in.Observed.Revisions[0].Sealed, in.Observed.Revisions[0].HelmControllerDigest = false, in.Recorded.History[0].Digest
	in.Recorded.History[0].APIVersion = helmv2.SnapshotAPIVersionV2
	if d := Decide(in); d.Rule != RuleUntested {
		t.Errorf("of helm-controller: %+v", d)
	} else if _, upgrades := d.Action.(Upgrade); !upgrades {
		t.Errorf("of helm-controller: %+v", d)
	}
}
