// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// woken returns the names of the HelmReleases that something wakes.
func woken(t *testing.T, hrs []*helmv2.HelmRelease, happens func(r *HelmReleaseReconciler, q workqueue.TypedRateLimitingInterface[reconcile.Request])) []string {
	t.Helper()
	b := fake.NewClientBuilder().WithScheme(Scheme()).
		WithIndex(&helmv2.HelmRelease{}, dependencyIndex, dependencyKeys).WithIndex(&helmv2.HelmRelease{}, sourceIndex, sourceKey)
	for _, hr := range hrs {
		b = b.WithObjects(hr.DeepCopy())
	}
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	happens(&HelmReleaseReconciler{client: b.Build()}, q)
	var names []string
	for q.Len() > 0 {
		request, _ := q.Get()
		names = append(names, request.String())
	}
	slices.Sort(names)
	return names
}

func named(namespace, name string, edit ...func(*helmv2.HelmRelease)) *helmv2.HelmRelease {
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 1, ResourceVersion: "5"}}
	for _, e := range edit {
		e(hr)
	}
	return hr
}

func readyAt(generation int64) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) {
		hr.Status.ObservedGeneration = generation
		hr.Status.Conditions = []metav1.Condition{{Type: helmv2.ConditionReady, Status: metav1.ConditionTrue}}
	}
}

func version(v string) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) { hr.ResourceVersion = v }
}

func needing(refs ...helmv2.DependencyReference) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) { hr.Spec.DependsOn = refs }
}

func TestDependentsAreWoken(t *testing.T) {
	onDB := needing(helmv2.DependencyReference{Name: "x"}, helmv2.DependencyReference{Name: "db"})
	onExpression := needing(helmv2.DependencyReference{Name: "db", ReadyExpr: "true"})
	hrs := []*helmv2.HelmRelease{
		named("prod", "waiting", onDB), named("prod", "settled", onDB, readyAt(1)),
		named("prod", "asking", onExpression), named("prod", "answered", onExpression, readyAt(1)),
		named("prod", "stranger"), named("test", "namesake", onDB),
		named("test", "far", needing(helmv2.DependencyReference{Name: "db", Namespace: "prod"})),
		// What it asks, it asks of another kind.
		named("prod", "mixed", needing(helmv2.DependencyReference{Name: "db"}, helmv2.DependencyReference{APIVersion: "v1", Kind: "ConfigMap", Name: "flags", ReadyExpr: "true"})),
		named("prod", "other-kind", needing(helmv2.DependencyReference{APIVersion: "v1", Kind: "ConfigMap", Name: "db", ReadyExpr: "true"})),
	}
	everybody := []string{"prod/answered", "prod/asking", "prod/mixed", "prod/settled", "prod/waiting", "test/far"}
	db := func(edit ...func(*helmv2.HelmRelease)) *helmv2.HelmRelease { return named("prod", "db", edit...) }
	unready := func(hr *helmv2.HelmRelease) { hr.Status.ObservedGeneration = 1 }
	update := func(before, after *helmv2.HelmRelease) func(*HelmReleaseReconciler, workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		return func(r *HelmReleaseReconciler, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			r.dependents().Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
		}
	}
	create := func(hr *helmv2.HelmRelease, initial bool) func(*HelmReleaseReconciler, workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		return func(r *HelmReleaseReconciler, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			r.dependents().Create(t.Context(), event.CreateEvent{Object: hr, IsInInitialList: initial}, q)
		}
	}
	for name, tc := range map[string]struct {
		reason  string
		happens func(*HelmReleaseReconciler, workqueue.TypedRateLimitingInterface[reconcile.Request])
		want    []string
	}{
		"BecameReady": {"all who depend on it", update(db(unready), db(readyAt(1), version("6"))), everybody},
		"CaughtUp":    {"ready for its present spec", update(db(readyAt(0)), db(readyAt(1), version("6"))), everybody},
		"Changed":     {"an expression may ask for anything, as long as it was not answered", update(db(unready), db(unready, version("6"))), []string{"prod/asking"}},
		"StaysReady":  {"nothing new for the others", update(db(readyAt(1)), db(readyAt(1), version("6"))), []string{"prod/asking"}},
		"FellBehind":  {"its upgrade is no concern of those who have what they needed", update(db(readyAt(1)), db(readyAt(0), version("6"))), []string{"prod/asking"}},
		"Resync":      {"nothing happened", update(db(unready), db(readyAt(1))), nil},
		"Created":     {"restored from a backup, say", create(db(readyAt(1)), false), everybody},
		"CreatedNew":  {"not ready yet", create(db(), false), []string{"prod/asking"}},
		"AtStart":     {"everybody is visited then", create(db(readyAt(1)), true), nil},
		"Uninvolved":  {"nobody depends on it", update(named("prod", "web"), named("prod", "web", readyAt(1), version("6"))), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := woken(t, hrs, tc.happens); !slices.Equal(got, tc.want) {
				t.Errorf("%s: woken are %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

// using makes a HelmRelease one of the OCIRepository prod/charts that was
// attempted with an artifact.
func using(revision, digest string) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) {
		hr.Spec.ChartRef = &helmv2.CrossNamespaceSourceReference{Kind: helmv2.KindOCIRepository, Name: "charts"}
		hr.Status.LastAttemptedRevision, hr.Status.LastAttemptedRevisionDigest = revision, digest
	}
}

func reconciling(reason string) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) {
		hr.Status.Conditions = []metav1.Condition{{Type: helmv2.ConditionReconciling, Status: metav1.ConditionTrue, Reason: reason}}
	}
}

func TestUsersAreWoken(t *testing.T) {
	repository := &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "charts"}}
	repository.Status.Artifact = &fluxmeta.Artifact{Revision: "1.0.0@sha256:new"}
	untagged := repository.DeepCopy()
	untagged.Status.Artifact.Revision = "latest@sha256:new"
	hrs := []*helmv2.HelmRelease{
		named("prod", "has", using("1.0.0+new", "sha256:new"), readyAt(1)),
		named("prod", "has-latest", using("1.0.0+new", "latest@sha256:new"), readyAt(1)),
		named("prod", "acting", using("1.0.0+new", "sha256:new"), reconciling(helmv2.ReasonProgressing)),
		named("prod", "waiting", using("1.0.0+new", "sha256:new"), reconciling(helmv2.ReasonProgressingWithRetry)),
		named("prod", "old", using("1.0.0+old", "sha256:old"), readyAt(1)),
		named("prod", "behind", using("1.0.0+new", "sha256:new"), readyAt(0)),
		named("prod", "new", using("", "")),
	}
	update := func(o client.Object) func(*HelmReleaseReconciler, workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		return func(r *HelmReleaseReconciler, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			r.usersOf(helmv2.KindOCIRepository).Update(t.Context(), event.UpdateEvent{ObjectNew: o}, q)
		}
	}
	for name, tc := range map[string]struct {
		reason  string
		happens func(*HelmReleaseReconciler, workqueue.TypedRateLimitingInterface[reconcile.Request])
		want    []string
	}{
		"Update": {"who has it needs no visit", update(repository), []string{"prod/behind", "prod/has-latest", "prod/new", "prod/old", "prod/waiting"}},
		"Latest": {"a tag that is no version is recorded with its digest", update(untagged), []string{"prod/behind", "prod/new", "prod/old", "prod/waiting"}},
		"Create": {"nor does a source that came back with what it had", func(r *HelmReleaseReconciler, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			r.usersOf(helmv2.KindOCIRepository).Create(t.Context(), event.CreateEvent{Object: repository}, q)
		}, []string{"prod/behind", "prod/has-latest", "prod/new", "prod/old", "prod/waiting"}},
		"Delete": {"everybody is to say that it is gone", func(r *HelmReleaseReconciler, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			r.usersOf(helmv2.KindOCIRepository).Delete(t.Context(), event.DeleteEvent{Object: repository}, q)
		}, []string{"prod/acting", "prod/behind", "prod/has", "prod/has-latest", "prod/new", "prod/old", "prod/waiting"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := woken(t, hrs, tc.happens); !slices.Equal(got, tc.want) {
				t.Errorf("%s: woken are %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}
