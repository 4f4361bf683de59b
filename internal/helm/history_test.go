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

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestOutcomeIsWhatHistoryReads: the revisions of an outcome equal those that History reads later.
// A difference would look like a change by another client.
func TestOutcomeIsWhatHistoryReads(t *testing.T) {
	w := newWorld(t)
	files := note()
	files["templates/test.yaml"] = testHook
	artifact := w.chart("1.0.0", files)
	// JSON does not preserve this integer.
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

// TestUnreadableHistory: an invalid record is an error.
func TestUnreadableHistory(t *testing.T) {
	w := newWorld(t)
	artifact := w.chart("1.0.0", note())
	for _, a := range []release.HelmAction{release.Install{Timeout: time.Minute}, release.Upgrade{Timeout: time.Minute}} {
		if out := w.runner.Run(t.Context(), w.conn, job(a, artifact, "1.0.0", nil)); out.Err != nil {
			t.Fatal(out.Err)
		}
	}
	secret := w.Object("/api/v1/namespaces/prod/secrets/" + key + "2")
	secret.Object["data"] = map[string]any{"release": "AAAA"}
	w.Put("/api/v1/namespaces/prod/secrets/"+key+"2", secret.Object)
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

// TestSupersededWaitIsMarked: a revision whose wait ended because its inputs are outdated has the
// label for that, and no other.
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

func TestFailureLabel(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		action release.HelmAction
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
			if got := (&Job{Action: tc.action}).failureLabel(ctx)(); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestReadOnce: reads of objects reuse the revision that History has read. Run reads it again, and
// so do all readers after it has changed.
func TestReadOnce(t *testing.T) {
	w := newWorld(t)
	w.Watchable = true
	const path = "/api/v1/namespaces/prod/secrets/sh.helm.release.v1.app.v1"
	files := note()
	files["templates/reads.yaml"] = `# {{ len (lookup "v1" "ConfigMap" "prod" "none") }}`
	artifact := w.chart("1.0.0", files)
	if out := w.runner.Run(t.Context(), w.conn, job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", nil)); out.Err != nil {
		t.Fatal(out.Err)
	}
	look := func() {
		t.Helper()
		infos, skipped, err := w.runner.Objects(t.Context(), w.conn, readRequest(1))
		if err != nil || len(infos) != 1 || len(skipped) != 0 || infos[0].Name != "app" {
			t.Errorf("objects %v, error %v", infos, err)
		}
		listed, err := w.runner.Inventory(t.Context(), w.conn, readRequest(1))
		if err != nil || len(listed) != 1 {
			t.Errorf("inventory %v, error %v", listed, err)
		}
		if health, err := w.runner.Health(t.Context(), w.conn, readRequest(1)); err != nil || !health.Ready {
			t.Errorf("health %v, error %v", health, err)
		}
		again, err := w.runner.Rerender(t.Context(), w.conn, job(nil, artifact, "1.0.0", nil), 1)
		if err != nil || !again.Reads || again.Changed {
			t.Errorf("rendered again %+v, error %v", again, err)
		}
		if _, err := w.runner.PreservedDigest(t.Context(), w.conn, observed(w.history()), nil); err != nil {
			t.Error(err)
		}
	}
	reads := func() (n int) {
		for _, read := range w.Reads {
			if read == "GET "+path {
				n++
			}
		}
		w.Reads = nil
		return n
	}
	stored := w.Object(path)
	stored.SetUID("uid-of-1")
	w.Put(path, stored.Object)
	w.runner = NewRunner(w.runner.charts, workers(), nil, sealKey(), time.Now)
	reads()
	w.history()
	if look(); reads() != 1 {
		t.Errorf("the revision was not read once")
	}
	w.Put(path, w.Object(path).Object)
	w.history()
	if look(); reads() != 1 {
		t.Errorf("what has changed was not read once more")
	}
	if out := w.runner.Run(t.Context(), w.conn, job(release.Uninstall{Timeout: time.Minute, Target: target()}, artifact, "", nil)); out.Err != nil || reads() == 0 {
		t.Errorf("uninstalled with what was read before; error %v", out.Err)
	}
}

func TestRecordsAreSentAsProtobuf(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	install(t, w, w.chart("1.0.0", note()), "one")
	const secrets = "/api/v1/namespaces/prod/secrets"
	if diff := cmp.Diff([]string{"POST " + secrets, "PUT " + secrets + "/sh.helm.release.v1.app.v1"}, w.Protobuf); diff != "" {
		t.Errorf("sent as protobuf (-want +got):\n%s", diff)
	}
}
