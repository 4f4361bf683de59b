// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/release"
)

var errTransient = apierrors.NewServiceUnavailable("try again later")

// TestTransientErrorsChangeNothing: while an API server answers with errors of its own,
// Ready stays as it is. After a while it says so once, in words that do not change, and it
// is back when the server is.
func TestTransientErrorsChangeNothing(t *testing.T) {
	s := &stub{values: "sha256:a"}
	s.stored = []release.Revision{{Name: "web", Namespace: "apps", Version: 1, Status: helmv2.StatusDeployed, ConfigDigest: "sha256:a", Owner: "uid-1"}}
	r := newReconciler(t, s)
	now := time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)
	r.now = func() time.Time { return now }
	events := r.events.(*record.FakeRecorder)
	visit := func() (ready metav1.Condition, version string) {
		t.Helper()
		if s.unresolved == nil {
			// What is settled is not looked at again otherwise.
			r.rest.disturb(key)
		}
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
		if err != nil || result.RequeueAfter <= 0 {
			t.Fatalf("the reconciliation ends with %v, %v", result, err)
		}
		if s.unresolved != nil && result.RequeueAfter > outageRetry {
			t.Errorf("requeued after %s", result.RequeueAfter)
		}
		hr := &helmv2.HelmRelease{}
		if err := r.client.Get(t.Context(), key, hr); err != nil {
			t.Fatal(err)
		}
		if c := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReady); c != nil {
			ready = *c
		}
		return ready, hr.ResourceVersion
	}
	drain := func() (all []string) {
		for len(events.Events) > 0 {
			all = append(all, <-events.Events)
		}
		return all
	}
	for range 3 {
		visit()
	}
	sound, settled := visit()
	if sound.Status != metav1.ConditionTrue {
		t.Fatalf("it does not settle: %+v", sound)
	}
	drain()

	for i := range 10 {
		s.unresolved = release.BlockedBy(helmv2.ReasonStateError, fmt.Errorf("from port %d: %w", 50000+i, errTransient), "Could not read")
		if ready, version := visit(); version != settled || ready.Reason != sound.Reason {
			t.Fatalf("after %ds it is %+v", 3*i, ready)
		}
		now = now.Add(3 * time.Second)
	}
	first, told := visit()
	if first.Status != metav1.ConditionFalse || first.Reason != helmv2.ReasonStateError || !strings.HasSuffix(first.Message, "(since 2026-01-01T12:00:00Z)") {
		t.Fatalf("after 30 s it is %+v", first)
	}
	for i := range 5 {
		s.unresolved = release.BlockedBy(helmv2.ReasonStateError, fmt.Errorf("from port %d: %w", 60000+i, errTransient), "Could not read")
		now = now.Add(time.Minute)
		if ready, version := visit(); version != told {
			t.Fatalf("it was written again: %+v", ready)
		}
	}
	if made := drain(); len(made) != 1 {
		t.Errorf("events %q", made)
	}

	s.unresolved = nil
	if ready, _ := visit(); ready.Status != metav1.ConditionTrue || len(r.outages.known) != 0 {
		t.Errorf("when it is over, Ready is %+v, and %d outages are remembered", ready, len(r.outages.known))
	}
	s.unresolved = errTransient
	if ready, _ := visit(); ready.Status != metav1.ConditionTrue || len(r.outages.known) != 1 {
		t.Errorf("another outage begins with %+v", ready)
	}
	s.unresolved = nil
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil || len(r.outages.known) != 0 {
		t.Errorf("of a release in sync, %d outages are remembered, %v", len(r.outages.known), err)
	}
}

// TestOutages: what is taken for an outage, and when one is over.
func TestOutages(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	upstream := release.BlockedBy("X", errTransient, "the artifact server")
	upstream.Upstream = true
	terminal := release.BlockedBy("X", errTransient, "the API server")
	terminal.Terminal, terminal.Retry = true, release.Never()
	for name, tc := range map[string]struct {
		err    error
		outage bool
	}{
		"Bare":            {err: errTransient, outage: true},
		"Blocked":         {err: release.BlockedBy("X", errTransient, "x"), outage: true},
		"Terminal":        {err: terminal, outage: true},
		"ArtifactServer":  {err: upstream},
		"Other":           {err: errors.New("forbidden")},
		"ClusterIsBroken": {err: fmt.Errorf("%w: %w", &cluster.Unreachable{}, errTransient)},
	} {
		o := outages{}
		got := o.weigh(key, tc.err, now)
		if got.Brief != tc.outage || got.Transient != tc.outage || (len(o.known) == 1) != tc.outage {
			t.Errorf("%s: %+v, %d outages", name, got, len(o.known))
		}
		if tc.outage && (got.Terminal || got.Retry != release.BackoffUpTo(outageRetry)) {
			t.Errorf("%s: not tried again: %+v", name, got)
		}
		if again := o.weigh(key, tc.err, now.Add(outageGrace)); again.Brief {
			t.Errorf("%s: never said: %+v", name, again)
		}
		if _ = o.weigh(key, errors.New("forbidden"), now); len(o.known) != 0 {
			t.Errorf("%s: an answer does not end the outage", name)
		}
	}
}

// TestBackoffHasALimit: an outage that took long is noticed to be over soon.
func TestBackoffHasALimit(t *testing.T) {
	t.Parallel()
	r := newReconciler(t, &stub{})
	for range 10 {
		if got := r.result(key, release.BackoffUpTo(5*time.Second)); got.RequeueAfter > 5*time.Second || got.RequeueAfter < time.Second {
			t.Fatalf("requeued after %s", got.RequeueAfter)
		}
	}
	if got := r.result(key, release.Backoff()); got.RequeueAfter != time.Minute {
		t.Errorf("without a limit after %s", got.RequeueAfter)
	}
}

// TestOutageEndsWithAnAction: the next outage is not older than it is, and nothing is
// remembered of a HelmRelease that is gone.
func TestOutageEndsWithAnAction(t *testing.T) {
	t.Parallel()
	s := &stub{unresolved: errTransient}
	r := newReconciler(t, s)
	reconcile := func(want int) {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil || len(r.outages.known) != want {
			t.Errorf("%d outages are remembered, want %d; %v", len(r.outages.known), want, err)
		}
	}
	reconcile(1)
	s.unresolved = nil
	if reconcile(0); s.begun == nil {
		t.Error("nothing was begun")
	}
	s.unresolved = errTransient
	reconcile(1)
	hr := &helmv2.HelmRelease{}
	if err := r.client.Get(t.Context(), key, hr); err != nil {
		t.Fatal(err)
	}
	hr.Finalizers = nil
	if err := errors.Join(r.client.Update(t.Context(), hr), r.client.Delete(t.Context(), hr)); err != nil {
		t.Fatal(err)
	}
	reconcile(0)
}

// TestRide: errors of an API server are kept out of a comparison until they last. Errors
// about objects are not.
func TestRide(t *testing.T) {
	now := time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)
	denied := release.ObjectError{Object: release.Object{Name: "denied"}, Err: "forbidden"}
	unread := release.ObjectError{Object: release.Object{Name: "unread"}, Err: "busy", Transient: true}
	var o outages
	for _, step := range []struct {
		name   string
		errs   []release.ObjectError
		after  time.Duration
		told   int
		repeat bool
	}{
		{name: "Complete"},
		{name: "Denied", errs: []release.ObjectError{denied}, told: 1},
		{name: "Unread", errs: []release.ObjectError{unread}, repeat: true},
		{name: "StillUnread", errs: []release.ObjectError{unread}, after: outageGrace - time.Second, repeat: true},
		{name: "Mixed", errs: []release.ObjectError{unread, denied}, told: 1, repeat: true},
		{name: "Lasting", errs: []release.ObjectError{unread, denied}, after: time.Second, told: 2, repeat: true},
		{name: "Over", errs: []release.ObjectError{denied}, told: 1},
		{name: "Anew", errs: []release.ObjectError{unread}, repeat: true},
	} {
		now = now.Add(step.after)
		found := release.Drift{Errors: slices.Clone(step.errs)}
		o.ride(key, &found, now)
		if len(found.Errors) != step.told || found.Repeat != step.repeat {
			t.Errorf("%s: %+v", step.name, found)
		}
	}
}

// TestComparisonIsRepeated: a release of which an object could not be read is not at rest.
func TestComparisonIsRepeated(t *testing.T) {
	s := &stub{mode: helmv2.DriftDetectionEnabled, live: &livestub{}}
	r := newReconciler(t, s)
	inSync(t, r, s)
	visit(t, r)
	s.live.found.Errors = []release.ObjectError{{Err: "busy", Transient: true}}
	r.rest.disturb(key)
	for range 3 {
		looks := s.live.looks
		if result := visit(t, r); result.RequeueAfter > outageRetry || s.live.looks != looks+1 {
			t.Fatalf("compared %d times, requeued after %s", s.live.looks-looks, result.RequeueAfter)
		}
	}
}
