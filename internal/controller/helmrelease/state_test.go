// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/release"
)

func TestSyncState(t *testing.T) {
	now := time.Unix(1000, 0)
	for name, tc := range map[string]struct {
		reason string
		change func(hr *helmv2.HelmRelease, want *release.Desired, now *time.Time)
		inSync bool
	}{
		"Unchanged": {"What is wanted was found in sync a moment ago.", func(*helmv2.HelmRelease, *release.Desired, *time.Time) {}, true},
		"Values":    {"Other values are wanted.", func(_ *helmv2.HelmRelease, w *release.Desired, _ *time.Time) { w.ConfigDigest = "sha256:new" }, false},
		"Request":   {"A reconciliation is requested.", func(_ *helmv2.HelmRelease, w *release.Desired, _ *time.Time) { w.Requests.Reconcile = "now" }, false},
		"Interval":  {"Its time has come.", func(_ *helmv2.HelmRelease, _ *release.Desired, n *time.Time) { *n = n.Add(time.Minute) }, false},
		"Status":    {"Another client wrote its status.", func(hr *helmv2.HelmRelease, _ *release.Desired, _ *time.Time) { hr.Status.Failures = 7 }, false},
		"Deleted":   {"It is to go.", func(_ *helmv2.HelmRelease, w *release.Desired, _ *time.Time) { w.Deleted = true }, false},
		"Kubeconfig": {"It may lead elsewhere by now.", func(hr *helmv2.HelmRelease, _ *release.Desired, _ *time.Time) {
			hr.Spec.KubeConfig = &helmv2.KubeConfigReference{}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var s syncState
			hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}}
			want := release.Desired{UID: "uid-1", ConfigDigest: "sha256:values", Policy: release.Policy{TestFilters: []release.TestFilter{{Name: "a"}}}}
			s.found(release.Synced{Desired: want, Status: hr.Status, Until: now.Add(time.Minute)})
			then := now
			tc.change(hr, &want, &then)
			left := func() time.Duration {
				in := release.Input{Desired: want, Recorded: hr.Status, Now: then}
				in.Observed.Synced = s.lastFound(hr)
				return release.CachedFor(in)
			}
			if got := left() > 0; got != tc.inSync {
				t.Errorf("%s In sync: %t", tc.reason, got)
			}
			if s.changed = true; left() > 0 || !s.known {
				t.Error("it is in sync after a change of live objects")
			}
		})
	}
}

// TestCachedReadsNothing: the reconciliation of a release in sync whose inputs have not changed
// does not read Helm's storage.
func TestCachedReadsNothing(t *testing.T) {
	s := &stub{stored: []release.Revision{{
		Name: "web", Namespace: "apps", Version: 1, Status: helmv2.StatusDeployed, Sealed: true, Owner: "uid-1",
	}}}
	r := testReconciler(t, s)
	reconcile := func(why string, reads bool) {
		t.Helper()
		s.read = nil
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
		if err != nil {
			t.Fatal(err)
		}
		if read := s.read != nil; read != reads {
			t.Errorf("%s: storage was read: %t", why, read)
		}
		if !reads && (result.RequeueAfter <= 0 || result.RequeueAfter > time.Minute) {
			t.Errorf("%s: the next reconciliation is in %s", why, result.RequeueAfter)
		}
	}
	reconcile("the revision is not recorded yet", true)
	hr := &helmv2.HelmRelease{}
	if err := r.client.Get(t.Context(), key, hr); err != nil {
		t.Fatal(err)
	}
	if i := hr.Status.Inventory; i == nil || len(i.Entries) != 1 || i.Entries[0].ID != "_listed__ConfigMap" {
		t.Errorf("the inventory of what was adopted is %+v", i)
	}
	reconcile("it was not seen in sync", true)
	reconcile("nothing has changed", false)
	s.values, s.stored[0].ConfigDigest = "sha256:new", "sha256:new"
	reconcile("other values are wanted", true)
}

// TestFirstIntervalIsShort: a release that is in sync at the start is compared again after a random
// part of its interval, because all releases are reconciled at the start. A release that was
// installed or upgraded since has a full interval.
func TestFirstIntervalIsShort(t *testing.T) {
	s := &stub{stored: []release.Revision{{
		Name: "web", Namespace: "apps", Version: 1, Status: helmv2.StatusDeployed, Sealed: true, Owner: "uid-1",
	}}}
	r := testReconciler(t, s)
	r.stagger = func(d time.Duration) time.Duration { return d / 4 }
	now := time.Now()
	r.now = func() time.Time { return now }
	reconcile := func(why string, want time.Duration) {
		t.Helper()
		for range 3 {
			result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
			if err != nil {
				t.Fatal(err)
			}
			if result.RequeueAfter > controller.StaleRetry {
				if result.RequeueAfter != want {
					t.Errorf("%s: looks again after %s, want %s", why, result.RequeueAfter, want)
				}
				return
			}
		}
		t.Errorf("%s: does not come to rest", why)
	}
	reconcile("at the start", 15*time.Second)
	now = now.Add(time.Minute)
	reconcile("later", time.Minute)

	hr := &helmv2.HelmRelease{}
	if err := r.client.Get(t.Context(), key, hr); err != nil {
		t.Fatal(err)
	}
	r.memory.With(key, func(m *memory) { m.sync = syncState{} })
	if _, err := r.publisher.publishOutcome(t.Context(), hr, release.Outcome{
		Action: release.Upgrade{}, Desired: release.Desired{UID: "uid-1"}, Started: now, Ended: now,
	}); err != nil {
		t.Fatal(err)
	}
	reconcile("after an action", time.Minute)
}

func TestStagger(t *testing.T) {
	for range 1000 {
		if d := staggerBy(5)(time.Minute); d <= 0 || d > time.Minute {
			t.Fatalf("a minute became %s", d)
		}
	}
	if d := staggerBy(0)(time.Minute); d != time.Minute {
		t.Errorf("a minute that is not to be spread became %s", d)
	}
	if d := staggerBy(5)(0); d != 0 {
		t.Errorf("nothing became %s", d)
	}
}

// TestRefusals: a release that was refused for its size is remembered until it is stored.
func TestRefusals(t *testing.T) {
	t.Parallel()
	var m memory
	refused := release.Outcome{
		Action: release.Upgrade{}, Desired: release.Desired{UID: "1"}, Err: errors.New("too large"),
		Record: &release.RecordSize{Bytes: 2, Limit: 1},
	}
	stored, cancelled, interrupted, failed := refused, refused, refused, refused
	interrupted.Interrupted = &release.Outage{}
	stored.Revisions = []release.Revision{{Version: 1}}
	cancelled.Cancelled = true
	failed.Record = nil
	for i, tc := range []struct {
		reason string
		o      release.Outcome
		held   bool
	}{
		{"other failures are no refusals", failed, false},
		{"nor is what was ended on purpose", cancelled, false},
		{"nor is an outage", interrupted, false},
		{"a refusal is remembered", refused, true},
		{"another failure before anything was stored says nothing about it", failed, true},
		{"something was made since", stored, false},
		{"a refusal is remembered", refused, true},
	} {
		m.recordRefusal(tc.o)
		if got := m.refusal; (got != nil) != tc.held {
			t.Errorf("%d: %s: %+v", i, tc.reason, got)
		}
	}
	if got := m.refusal; got.Action != "upgrade" || got.Desired.UID != "1" || got.Message == "" {
		t.Errorf("remembered %+v", got)
	}
}
