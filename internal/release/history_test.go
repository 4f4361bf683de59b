// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// snapshots returns a history with the given statuses, the highest revision first.
func snapshots(statuses ...helmv2.ReleaseStatus) helmv2.Snapshots {
	var all helmv2.Snapshots
	for i, status := range statuses {
		all = append(all, testSnapshot(testRevision(len(statuses)-i, status)))
	}
	return all
}

func versions(history helmv2.Snapshots) []int {
	all := []int{}
	for _, s := range history {
		all = append(all, s.Version)
	}
	return all
}

// TestTruncate: a history is bounded and keeps its rollback target.
func TestTruncate(t *testing.T) {
	const (
		deployed   = helmv2.StatusDeployed
		superseded = helmv2.StatusSuperseded
		failed     = helmv2.StatusFailed
	)
	for name, tc := range map[string]struct {
		reason  string
		history helmv2.Snapshots
		want    []int
	}{
		"Empty":         {"An empty history stays empty.", nil, []int{}},
		"One":           {"The newest stays.", snapshots(deployed), []int{1}},
		"Previous":      {"The rollback target stays, older ones are dropped.", snapshots(deployed, superseded, superseded), []int{3, 2}},
		"FailedBetween": {"Later failures stay too.", snapshots(failed, failed, deployed, superseded), []int{4, 3, 2}},
		"ManyFailures": {
			"Failures do not displace the target and are bounded.",
			snapshots(failed, failed, failed, failed, failed, failed, deployed),
			[]int{7, 6, 5, 4, 1},
		},
		"OnlyFailures": {"Five stay without a rollback target.", snapshots(failed, failed, failed, failed, failed, failed), []int{6, 5, 4, 3, 2}},
		"Unordered": {
			"The order of the input does not matter.",
			helmv2.Snapshots{testSnapshot(testRevision(1, superseded)), testSnapshot(testRevision(2, deployed))},
			[]int{2, 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := versions(tc.history)
			if diff := cmp.Diff(tc.want, versions(Truncate(tc.history))); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, versions(tc.history)); diff != "" {
				t.Errorf("Truncate changed its argument:\n%s", diff)
			}
		})
	}
}

// TestLatest: the snapshot with the highest revision is the latest, in any order.
func TestLatest(t *testing.T) {
	if got := Latest(nil); got != nil {
		t.Errorf("of an empty history: %v", got)
	}
	history := helmv2.Snapshots{{Version: 2}, nil, {Version: 9}, {Version: 4}}
	if got := Latest(history); got.Version != 9 {
		t.Errorf("got revision %d, want the highest", got.Version)
	}
}

// TestVerified: a digest is compared only if its scheme is known.
func TestVerified(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		snapshot helmv2.Snapshot
		want     bool
	}{
		"Same":    {"The record is unchanged.", helmv2.Snapshot{APIVersion: SnapshotScheme, Digest: "sha256:a"}, true},
		"Other":   {"The record was changed.", helmv2.Snapshot{APIVersion: SnapshotScheme, Digest: "sha256:b"}, false},
		"Foreign": {"Another scheme is trusted.", helmv2.Snapshot{APIVersion: "v2", Digest: "sha256:b"}, true},
		"Ancient": {"So is none.", helmv2.Snapshot{Digest: "sha256:b"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Verified(&tc.snapshot, &Revision{Digest: "sha256:a"}); got != tc.want {
				t.Errorf("%s got %t", tc.reason, got)
			}
		})
	}
}

// TestSchemeDiffersFromHelmController: helm-controller does not verify digests of Pintle.
func TestSchemeDiffersFromHelmController(t *testing.T) {
	if SnapshotScheme == "" || SnapshotScheme == "v2" {
		t.Errorf("scheme %q: helm-controller would verify digests of Pintle", SnapshotScheme)
	}
}

// TestStoredTarget: a deleted or moved HelmRelease has its release at the recorded target.
func TestStoredTarget(t *testing.T) {
	spec := Target{Name: "new", Namespace: "new", StorageNamespace: "new"}
	recorded := helmv2.HelmReleaseStatus{
		StorageNamespace: "old-storage",
		History:          helmv2.Snapshots{{Name: "old", Namespace: "old", Version: 1}},
	}
	for name, tc := range map[string]struct {
		reason   string
		deleted  bool
		recorded helmv2.HelmReleaseStatus
		want     Target
	}{
		"Living":  {"The spec has the target.", false, helmv2.HelmReleaseStatus{}, spec},
		"Moved":   {"The release stays at the recorded target until it is uninstalled.", false, recorded, Target{Name: "old", Namespace: "old", StorageNamespace: "old-storage"}},
		"Deleted": {"A deletion uses the recorded target.", true, recorded, Target{Name: "old", Namespace: "old", StorageNamespace: "old-storage"}},
		"Unknown": {"Without a recorded target the spec is used.", true, helmv2.HelmReleaseStatus{}, spec},
	} {
		t.Run(name, func(t *testing.T) {
			got := StoredTarget(Desired{Target: spec, Deleted: tc.deleted}, tc.recorded)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestMustReadHistory: storage is read only if the decision can depend on it.
func TestMustReadHistory(t *testing.T) {
	attempted := helmv2.HelmReleaseStatus{StorageNamespace: "apps"}
	for name, tc := range map[string]struct {
		reason   string
		want     Desired
		recorded helmv2.HelmReleaseStatus
		running  *Running
		must     bool
	}{
		"Usually":            {"Everything depends on it.", Desired{}, helmv2.HelmReleaseStatus{}, nil, true},
		"Running":            {"The attempt decides.", Desired{}, attempted, &Running{}, false},
		"Suspended":          {"No action will follow.", Desired{Suspension: Suspension{Active: true}}, attempted, nil, false},
		"Deleted":            {"There may be a release to uninstall.", Desired{Deleted: true}, attempted, nil, true},
		"DeletedUnattempted": {"No action was ever attempted.", Desired{Deleted: true}, helmv2.HelmReleaseStatus{}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := MustReadHistory(tc.want, tc.recorded, tc.running); got != tc.must {
				t.Errorf("%s got %t", tc.reason, got)
			}
		})
	}
}

// TestMustConfirm: only a finalization because no release is stored is confirmed.
func TestMustConfirm(t *testing.T) {
	deployed := testRevision(1, helmv2.StatusDeployed)
	for name, tc := range map[string]struct {
		reason string
		edit   func(*Input)
		want   bool
	}{
		"Nothing":     {"no revision is stored", func(*Input) {}, true},
		"Uninstalled": {"the newest revision is uninstalled", func(in *Input) { in.Observed.Revisions = []Revision{testRevision(1, helmv2.StatusUninstalled)} }, true},
		"Stored":      {"a stored release is uninstalled, which reads from the API server", func(in *Input) { in.Observed.Revisions = []Revision{deployed} }, false},
		"Living":      {"it is not being deleted", func(in *Input) { in.Desired.Deleted = false }, false},
		"Never":       {"no action was ever attempted", func(in *Input) { in.Recorded.StorageNamespace = "" }, false},
		"Orphaned":    {"the release stays in any case", func(in *Input) { in.Desired.Deletion.Orphan = true }, false},
		"Suspended":   {"the release stays in any case", func(in *Input) { in.Desired.Suspension.Active = true }, false},
		"Unreachable": {"it cannot be confirmed", func(in *Input) { in.Observed.Unreachable = "gone" }, false},
		"Running":     {"no revision was read", func(in *Input) { in.Observed.Running = &Running{} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Desired: Desired{Deleted: true, UID: "uid"}}
			in.Recorded.StorageNamespace, in.Recorded.History = "apps", helmv2.Snapshots{testSnapshot(deployed)}
			tc.edit(&in)
			if got := MustConfirm(in); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}
}

// TestDeletionWithout: a release without access is given up only in a namespace that is being
// deleted.
func TestDeletionWithout(t *testing.T) {
	missing := errors.New("ServiceAccount 'apps/tenant': not found")
	if why, blocked := DeletionWithout(missing, true); why != missing.Error() || blocked != nil {
		t.Errorf("in a namespace that is being deleted: %q, %v", why, blocked)
	}
	why, blocked := DeletionWithout(missing, false)
	if why != "" || blocked == nil || !blocked.Retry.IsBackoff() || blocked.Terminal || blocked.Reason != helmv2.ReasonUninstallFailed {
		t.Fatalf("in any other namespace: %q, %+v", why, blocked)
	}
	if !strings.Contains(blocked.Message, missing.Error()) || !strings.Contains(blocked.Todo, helmv2.AnnotationOrphan) {
		t.Errorf("message %q, what to do %q", blocked.Message, blocked.Todo)
	}
}

// TestResetCounters: new inputs reset the failure counters.
func TestResetCounters(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*Desired)
		want   int64
	}{
		"Unchanged":  {"The counters stay.", func(*Desired) {}, 2},
		"Generation": {"A new generation resets the counters.", func(d *Desired) { d.Generation++ }, 0},
		"Chart":      {"So does another chart version.", func(d *Desired) { d.Chart.Version = "2.0.0" }, 0},
		"Values":     {"So are other values.", func(d *Desired) { d.ConfigDigest = "sha256:new" }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			in := inSyncInput()
			in.Recorded.Failures, in.Recorded.InstallFailures, in.Recorded.UpgradeFailures = 2, 2, 2
			tc.change(&in.Desired)
			got := ResetCounters(in.Recorded, in.Desired)
			if diff := cmp.Diff([]int64{tc.want, tc.want, tc.want}, []int64{got.Failures, got.InstallFailures, got.UpgradeFailures}); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRevisions: revisions are sorted newest first, and the last write is the modification.
func TestRevisions(t *testing.T) {
	revisions := []Revision{{Version: 2}, {Version: 10}, {Version: 1}}
	SortNewestFirst(revisions)
	o := Observed{Revisions: revisions}
	if got := o.Newest().Version; got != 10 {
		t.Errorf("newest is %d", got)
	}
	if got := (Observed{}).Newest(); got != nil {
		t.Errorf("newest of an empty list is %v", got)
	}
	written := Revision{LastDeployed: testNow, Modified: testNow.Add(time.Minute)}
	if got := written.LastWritten(); !got.Equal(written.Modified) {
		t.Errorf("written at %s, not at its last write", got)
	}
}

// TestRetry: each kind of retry has its delay and its text.
func TestRetry(t *testing.T) {
	type want struct {
		Never, Now, Backoff, Spread bool
		Delay                       time.Duration
		Text                        string
	}
	for name, tc := range map[string]struct {
		reason string
		retry  Retry
		want   want
	}{
		"Zero":     {"The zero value waits for an event.", Retry{}, want{Never: true, Text: "never"}},
		"Never":    {"It is the zero value.", Never(), want{Never: true, Text: "never"}},
		"Now":      {"There is more work.", Now(), want{Now: true, Text: "now"}},
		"After":    {"The delay is exact.", After(time.Minute), want{Delay: time.Minute, Text: "1m0s"}},
		"Interval": {"The delay has jitter.", Interval(time.Minute), want{Delay: time.Minute, Spread: true, Text: "1m0s"}},
		"Backoff":  {"The caller counts failures.", Backoff(), want{Backoff: true, Text: "backoff"}},
	} {
		t.Run(name, func(t *testing.T) {
			delay, spread := tc.retry.Delay()
			got := want{tc.retry.IsNever(), tc.retry.IsNow(), tc.retry.IsBackoff(), spread, delay, tc.retry.String()}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestBlocked: an obstacle has its cause in the message and is retried with back-off.
func TestBlocked(t *testing.T) {
	cause := errors.New("connection refused")
	b := BlockedBy(helmv2.ReasonArtifactFailed, cause, "could not get %s", "web")
	if got, want := b.Error(), "could not get web: connection refused"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !errors.Is(b, cause) {
		t.Error("the cause is lost")
	}
	if !b.Retry.IsBackoff() {
		t.Errorf("requeue is %s", b.Retry)
	}
}

// TestMustRead: an older record is read only if a decision can depend on it.
func TestMustRead(t *testing.T) {
	t.Parallel()
	two := Revision{Name: "app", Namespace: "prod", Version: 2, Status: helmv2.StatusDeployed, Digest: "sha256:2"}
	one := Revision{Unread: true, Name: "app", Version: 1, Status: helmv2.StatusSuperseded}
	stored := func(change func(*Revision)) []Revision {
		newest := two
		change(&newest)
		return []Revision{newest, one}
	}
	asIs := func(*Revision) {}
	last := func(change func(*helmv2.Snapshot)) helmv2.Snapshots {
		s := &helmv2.Snapshot{APIVersion: SnapshotScheme, Name: "app", Namespace: "prod", Version: 2, Status: helmv2.StatusDeployed, Digest: "sha256:2"}
		change(s)
		return helmv2.Snapshots{s, {APIVersion: SnapshotScheme, Name: "app", Namespace: "prod", Version: 1, Status: helmv2.StatusSuperseded, Digest: "sha256:1"}}
	}
	same := func(*helmv2.Snapshot) {}
	deployed := last(same)
	deployed[1].Status = helmv2.StatusDeployed
	for name, tc := range map[string]struct {
		recorded helmv2.Snapshots
		stored   []Revision
		want     bool
	}{
		"In sync":               {last(same), stored(asIs), false},
		"Nothing is recorded":   {nil, stored(asIs), true},
		"Newest failed":         {last(same), stored(func(r *Revision) { r.Status = helmv2.StatusFailed }), true},
		"Newest is not ours":    {last(same), stored(func(r *Revision) { r.Digest = "sha256:x" }), true},
		"Newest is not known":   {last(same), stored(func(r *Revision) { r.Version = 3 }), true},
		"Of another name":       {last(same), stored(func(r *Revision) { r.Name = "other" }), true},
		"Of another namespace":  {last(same), stored(func(r *Revision) { r.Namespace = "stage" }), true},
		"Superseded unrecorded": {deployed, stored(asIs), true},
		"Forgotten":             {last(same)[:1], stored(asIs), false},
		"Tests failed": {last(func(s *helmv2.Snapshot) {
			s.SetTestHooks(map[string]*helmv2.TestHookStatus{"probe": {Phase: helmv2.TestPhaseFailed}})
		}), stored(asIs), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := MustRead(tc.recorded, tc.stored, 1); got != tc.want {
				t.Errorf("MustRead is %t, want %t", got, tc.want)
			}
		})
	}
}

// TestFailedSince: the revisions after the deployed one have failed.
func TestFailedSince(t *testing.T) {
	const (
		deployed    = helmv2.StatusDeployed
		superseded  = helmv2.StatusSuperseded
		failed      = helmv2.StatusFailed
		uninstalled = helmv2.StatusUninstalled
		removing    = helmv2.StatusUninstalling
	)
	for name, tc := range map[string]struct {
		reason string
		// statuses are those of revisions 1, 2 and so on; an empty one is not stored.
		statuses   []helmv2.ReleaseStatus
		undeployed bool
		before     int
		deployed   int
		failed     []int
	}{
		"None":             {"Nothing is stored.", nil, false, 1, 0, nil},
		"Deployed":         {"No revision failed.", []helmv2.ReleaseStatus{superseded, deployed}, false, 3, 2, nil},
		"Failed":           {"Earlier failures do not count.", []helmv2.ReleaseStatus{failed, deployed, failed, failed}, false, 5, 2, []int{3, 4}},
		"NeverDeployed":    {"All have failed.", []helmv2.ReleaseStatus{failed, failed}, false, 3, 0, []int{1, 2}},
		"Truncated":        {"Records are deleted, but that of the deployed revision.", []helmv2.ReleaseStatus{deployed, "", "", failed, failed}, false, 6, 1, []int{4, 5}},
		"Resumed":          {"The new revision is stored already.", []helmv2.ReleaseStatus{deployed, failed, helmv2.StatusPendingUpgrade}, false, 3, 1, []int{2}},
		"Pending":          {"An action of another client was interrupted.", []helmv2.ReleaseStatus{deployed, helmv2.StatusPendingUpgrade}, false, 3, 1, []int{2}},
		"RolledBack":       {"A failed rollback marks the failed revision before it as superseded.", []helmv2.ReleaseStatus{deployed, superseded, failed}, false, 4, 1, []int{2, 3}},
		"Marking":          {"The process ended when the former revision was superseded and the new one not deployed yet.", []helmv2.ReleaseStatus{superseded, failed, helmv2.StatusPendingUpgrade}, false, 3, 1, []int{2}},
		"MarkingFirst":     {"The same with a former revision that has failed.", []helmv2.ReleaseStatus{superseded, helmv2.StatusPendingUpgrade}, true, 2, 0, []int{1}},
		"Uninstalled":      {"An uninstalled revision has no objects.", []helmv2.ReleaseStatus{superseded, uninstalled, failed}, false, 4, 0, []int{3}},
		"Uninstalling":     {"A deployed revision is uninstalled.", []helmv2.ReleaseStatus{superseded, failed, removing}, false, 0, 3, nil},
		"UninstallingOne":  {"A failed revision is uninstalled: another is deployed.", []helmv2.ReleaseStatus{deployed, failed, removing}, false, 0, 1, []int{2, 3}},
		"UninstallingNone": {"A failed revision is uninstalled: its label says so.", []helmv2.ReleaseStatus{failed, removing}, true, 0, 0, []int{1, 2}},
		"Two":              {"The latest deployed revision counts.", []helmv2.ReleaseStatus{deployed, deployed, failed}, false, 0, 2, []int{3}},
	} {
		t.Run(name, func(t *testing.T) {
			var stored []Revision
			for i, status := range tc.statuses {
				if status != "" {
					stored = append(stored, Revision{Version: i + 1, Status: status, Undeployed: tc.undeployed && (status == removing || status == superseded)})
				}
			}
			for range 2 {
				last, since := FailedSince(stored, tc.before)
				if diff := cmp.Diff(tc.failed, since); diff != "" || last != tc.deployed {
					t.Errorf("%s deployed %d, want %d; failed (-want +got):\n%s", tc.reason, last, tc.deployed, diff)
				}
				slices.Reverse(stored)
			}
		})
	}
}
