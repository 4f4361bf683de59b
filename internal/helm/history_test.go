// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/release"
)

func TestToRevision(t *testing.T) {
	t.Parallel()
	rls := revision(3, helmrelease.StatusFailed, map[string]string{
		helmv2.LabelRevision: "uid-1.3", helmv2.LabelInterrupted: "true", "modifiedAt": "1767323045",
	})
	rls.Info.Deleted = helmtime.Time{Time: time.Unix(9, 0)}
	got := toRevision(rls)
	want := release.Revision{
		Name: "app", Namespace: "prod", Version: 3, Status: helmv2.StatusFailed, Description: "described",
		ChartName: "note", ChartVersion: "1.2.3+abc", AppVersion: "9",
		Digest: observationDigest(rls), ConfigDigest: got.ConfigDigest,
		FirstDeployed: rls.Info.FirstDeployed.Time, LastDeployed: rls.Info.LastDeployed.Time, Deleted: time.Unix(9, 0),
		Modified: time.Unix(1767323045, 0), Owner: "uid-1", Interrupted: true,
		Tests: map[string]release.TestRun{"probe": {}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("toRevision (-want +got):\n%s", diff)
	}
	if got.ConfigDigest == "" || got.Digest == "" {
		t.Error("a digest is missing")
	}
	// What somebody else stored may lack anything.
	bare := toRevision(&helmrelease.Release{Name: "app", Labels: map[string]string{"modifiedAt": "yesterday"}})
	bare.Digest, bare.ConfigDigest = "", ""
	if diff := cmp.Diff(release.Revision{Name: "app"}, bare); diff != "" {
		t.Errorf("a release without anything (-want +got):\n%s", diff)
	}
}

func TestToRevisionLabels(t *testing.T) {
	t.Parallel()
	type want struct{ Interrupted, Superseded, Applied, Rollback bool }
	for name, tc := range map[string]struct {
		reason string
		labels map[string]string
		want   want
	}{
		"None":       {"nothing is said", nil, want{}},
		"Superseded": {"its wait was given up", map[string]string{helmv2.LabelOutdated: "true"}, want{Superseded: true}},
		"Cut off":    {"its action was cut off", map[string]string{helmv2.LabelInterrupted: "true"}, want{Interrupted: true}},
		"Applied":    {"stamp and number are its own", map[string]string{helmv2.LabelRevision: "uid-1.3", helmv2.LabelApplied: "3"}, want{Applied: true}},
		"Rollback":   {"so they are of a rollback", map[string]string{helmv2.LabelRevision: "uid-1.3", helmv2.LabelRollback: "3"}, want{Rollback: true}},
		"Inherited": {
			"Helm copies labels from one revision to the next",
			map[string]string{helmv2.LabelRevision: "uid-1.2", helmv2.LabelApplied: "2", helmv2.LabelRollback: "2"}, want{},
		},
		"HalfInherited": {
			"a predecessor's number says nothing of this one",
			map[string]string{helmv2.LabelRevision: "uid-1.3", helmv2.LabelApplied: "2", helmv2.LabelRollback: "2"}, want{},
		},
		"NotStamped": {"who made it is not known", map[string]string{helmv2.LabelApplied: "3", helmv2.LabelRollback: "3"}, want{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := toRevision(revision(3, helmrelease.StatusFailed, tc.labels))
			if diff := cmp.Diff(tc.want, want{got.Interrupted, got.Outdated, got.Applied, got.Rollback}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestToRevisionModified(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason   string
		labels   map[string]string
		modified time.Time
	}{
		"Both":      {"the write after the creation is the last", map[string]string{"createdAt": "5", "modifiedAt": "7"}, time.Unix(7, 0)},
		"Inherited": {"Helm copied the modification of the revision before", map[string]string{"createdAt": "7", "modifiedAt": "5"}, time.Unix(7, 0)},
		"Created":   {"a new revision was not modified yet", map[string]string{"createdAt": "7"}, time.Unix(7, 0)},
		"Garbage":   {"somebody wrote what is no time", map[string]string{"createdAt": "x", "modifiedAt": ""}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := toRevision(revision(3, helmrelease.StatusFailed, tc.labels)); !got.Modified.Equal(tc.modified) {
				t.Errorf("%s: %s", tc.reason, got.Modified)
			}
		})
	}
}

func TestToRevisionHooks(t *testing.T) {
	t.Parallel()
	moment := helmtime.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	hook := func(name string, events ...helmrelease.HookEvent) *helmrelease.Hook {
		return &helmrelease.Hook{Name: name, Events: events}
	}
	ran := hook("ran", helmrelease.HookPostUpgrade, helmrelease.HookTest)
	ran.LastRun = helmrelease.HookExecution{StartedAt: moment, CompletedAt: moment.Add(time.Second), Phase: helmrelease.HookPhaseFailed}
	type want struct {
		PostInstall, PostUpgrade, PostRollback bool
		Tests                                  map[string]release.TestRun
	}
	for name, tc := range map[string]struct {
		hooks []*helmrelease.Hook
		want  want
	}{
		"None":     {nil, want{}},
		"Before":   {[]*helmrelease.Hook{hook("a", helmrelease.HookPreInstall, helmrelease.HookPreUpgrade, helmrelease.HookPreRollback)}, want{}},
		"Install":  {[]*helmrelease.Hook{hook("a"), hook("b", helmrelease.HookPreInstall, helmrelease.HookPostInstall)}, want{PostInstall: true}},
		"Upgrade":  {[]*helmrelease.Hook{hook("a", helmrelease.HookPostUpgrade)}, want{PostUpgrade: true}},
		"Rollback": {[]*helmrelease.Hook{hook("a", helmrelease.HookPostRollback)}, want{PostRollback: true}},
		"Tests": {
			[]*helmrelease.Hook{ran, hook("never", helmrelease.HookTest), hook("old", "test-success"), hook("a", helmrelease.HookPreInstall)},
			want{PostUpgrade: true, Tests: map[string]release.TestRun{
				"ran":   {Started: moment.Time, Completed: moment.Time.Add(time.Second), Phase: helmv2.TestPhaseFailed},
				"never": {}, "old": {},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rls := revision(3, helmrelease.StatusFailed, nil)
			rls.Hooks = tc.hooks
			got := toRevision(rls)
			if diff := cmp.Diff(tc.want, want{got.PostInstall, got.PostUpgrade, got.PostRollback, got.Tests}); diff != "" {
				t.Errorf("toRevision (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOutcomeIsWhatHistoryReads: an account of an action that reads otherwise
// later would look as if somebody had changed the release.
func TestOutcomeIsWhatHistoryReads(t *testing.T) {
	w := newWorld(t)
	files := note()
	files["templates/test.yaml"] = testHook
	artifact := w.chart("1.0.0", files)
	// An integer that JSON cannot give back.
	values := map[string]any{"message": "one", "large": int64(1)<<53 + 1, "empty": map[string]any{}}
	out := w.runner.Run(t.Context(), w.conn, job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", values))
	if out.Err != nil {
		t.Fatal(out.Err)
	}
	if diff := cmp.Diff(w.history(), out.Revisions); diff != "" {
		t.Errorf("after the install (-history +outcome):\n%s", diff)
	}
	out = w.runner.Run(t.Context(), w.conn, job(release.Upgrade{Timeout: time.Minute}, artifact, "1.0.0", nil))
	if out.Err != nil {
		t.Fatal(out.Err)
	}
	if diff := cmp.Diff(w.history(), out.Revisions); diff != "" {
		t.Errorf("after the upgrade (-history +outcome):\n%s", diff)
	}
}

// TestUnreadableHistory: one bad record is said, and not passed over.
func TestUnreadableHistory(t *testing.T) {
	w := newWorld(t)
	artifact := w.chart("1.0.0", note())
	for _, a := range []release.Action{release.Install{Timeout: time.Minute}, release.Upgrade{Timeout: time.Minute}} {
		if out := w.runner.Run(t.Context(), w.conn, job(a, artifact, "1.0.0", nil)); out.Err != nil {
			t.Fatal(out.Err)
		}
	}
	secret := w.object("/api/v1/namespaces/prod/secrets/" + key + "2")
	secret.Object["data"] = map[string]any{"release": "AAAA"}
	w.put("/api/v1/namespaces/prod/secrets/"+key+"2", secret.Object)
	const want = "no revision can be read from Secret prod/sh.helm.release.v1.app.v2: its data is not base64; restore or delete it"
	_, err := w.runner.History(t.Context(), w.conn, target(), nil)
	if err == nil || err.Error() != "history of release app in namespace prod: "+want {
		t.Errorf("history: %v", err)
	}
	out := w.runner.Run(t.Context(), w.conn, job(release.Upgrade{Timeout: time.Minute}, artifact, "1.0.0", nil))
	if out.Err == nil || !strings.Contains(out.Err.Error(), want) || out.Stored() {
		t.Errorf("an upgrade: %v", out.Err)
	}
}

func TestHistoryIsCancelled(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.runner.History(ctx, w.conn, target(), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// A wait that is given up because something else is wanted is marked as such,
// and only as such.
func TestSupersededWaitIsMarked(t *testing.T) {
	w := newWorld(t)
	artifact := w.chart("1.0.0", neverReady())
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan release.Outcome, 1)
		go func() {
			done <- w.runner.Run(ctx, w.conn, job(release.Install{Timeout: time.Hour}, artifact, "1.0.0", nil))
		}()
		synctest.Wait()
		cancel(release.ErrOutdated)
		if out := <-done; !out.Cancelled || !out.Outdated || out.Err == nil {
			t.Errorf("cancelled %t, superseded %t, error %v", out.Cancelled, out.Outdated, out.Err)
		}
	})
	if h := w.history(); len(h) != 1 || h[0].Status != helmv2.StatusFailed || h[0].Interrupted || !h[0].Outdated {
		t.Fatalf("history %+v", h)
	}
}

func TestMark(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		action release.Action
		cause  error
		want   string
	}{
		"Running":    {"a failure of its own", release.Upgrade{}, nil, ""},
		"Shutdown":   {"ended on purpose", release.Upgrade{}, context.Canceled, helmv2.LabelInterrupted},
		"Superseded": {"something else is wanted", release.Upgrade{}, release.ErrOutdated, helmv2.LabelOutdated},
		"Unlock":     {"the process died", release.Unlock{}, nil, helmv2.LabelInterrupted},
		"UnlockSuperseded": {
			"the process died, whatever is wanted since", release.Unlock{}, release.ErrOutdated, helmv2.LabelInterrupted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if tc.cause != nil {
				cancel(tc.cause)
			}
			if got := (&Job{Action: tc.action}).mark(ctx)(); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestReadOnce: what was read to decide need not be read again to look at the objects.
// What Run does reads again, and so does who finds that it has changed.
func TestReadOnce(t *testing.T) {
	w := newWorld(t)
	w.watchable = true
	const path = "/api/v1/namespaces/prod/secrets/sh.helm.release.v1.app.v1"
	files := note()
	files["templates/reads.yaml"] = `# {{ len (lookup "v1" "ConfigMap" "prod" "none") }}`
	artifact := w.chart("1.0.0", files)
	if out := w.runner.Run(t.Context(), w.conn, job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", nil)); out.Err != nil {
		t.Fatal(out.Err)
	}
	look := func() {
		t.Helper()
		settle := job(release.Settle{}, chart.Artifact{}, "", nil)
		infos, err := w.runner.Objects(t.Context(), w.conn, settle, 1)
		if err != nil || len(infos) != 1 || infos[0].Name != "app" {
			t.Errorf("objects %v, error %v", infos, err)
		}
		listed, err := w.runner.Inventory(t.Context(), w.conn, settle, 1)
		if err != nil || len(listed) != 1 {
			t.Errorf("inventory %v, error %v", listed, err)
		}
		if health, err := w.runner.Health(t.Context(), w.conn, settle, 1); err != nil || !health.Ready {
			t.Errorf("health %v, error %v", health, err)
		}
		again, err := w.runner.Rerender(t.Context(), w.conn, job(release.Settle{}, artifact, "1.0.0", nil), 1)
		if err != nil || !again.Reads || again.Changed {
			t.Errorf("rendered again %+v, error %v", again, err)
		}
		if _, err := w.runner.Preserved(t.Context(), w.conn, target(), w.history(), nil); err != nil {
			t.Error(err)
		}
	}
	reads := func() (n int) {
		for _, read := range w.reads {
			if read == "GET "+path {
				n++
			}
		}
		w.reads = nil
		return n
	}
	stored := w.object(path)
	stored.SetUID("uid-of-1")
	w.put(path, stored.Object)
	w.runner = NewRunner(w.runner.charts, nil, time.Now)
	reads()
	w.history()
	if look(); reads() != 1 {
		t.Errorf("the revision was not read once")
	}
	w.put(path, w.object(path).Object)
	w.history()
	if look(); reads() != 1 {
		t.Errorf("what has changed was not read once more")
	}
	if out := w.runner.Run(t.Context(), w.conn, job(release.Uninstall{Timeout: time.Minute, Target: target()}, artifact, "", nil)); out.Err != nil || reads() == 0 {
		t.Errorf("uninstalled with what was read before; error %v", out.Err)
	}
}
