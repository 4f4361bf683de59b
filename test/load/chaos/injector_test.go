// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"net/http"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness/faultproxy"
)

func TestInjectorHitsOnce(t *testing.T) {
	i := newInjector()
	patch := faultproxy.Request{Verb: http.MethodPatch, Resource: "deployments", Namespace: "a", Name: "app"}
	elsewhere := patch
	elsewhere.Namespace = "b"
	unknown := patch
	unknown.Namespace = "c"
	i.watch("a", &trial{step: step{patch.Key(), 2}, fault: faultproxy.Lost})
	i.watch("b", nil)
	for n, want := range []faultproxy.Fault{faultproxy.None, faultproxy.Lost, faultproxy.None} {
		for _, other := range []faultproxy.Request{elsewhere, unknown} {
			if got := i.decide(other); got != faultproxy.None {
				t.Errorf("a request of another release fails with %s", got)
			}
		}
		if got := i.decide(patch); got != want {
			t.Errorf("request %d fails with %q, want %q", n+1, got, want)
		}
		if state := i.state("a"); n > 0 && (state.hit.IsZero() || !state.ended.IsZero()) {
			t.Errorf("after request %d: %+v", n+1, state)
		}
	}
	i.done(patch, faultproxy.Lost)
	state := i.state("a")
	if state.ended.IsZero() || len(state.seen) != 3 || len(state.faults) != 1 || state.faults[0] != "PATCH/deployments/app/2/lost" {
		t.Errorf("in the end: %+v", state)
	}
	if !i.state("b").hit.IsZero() {
		t.Error("another release has a fault")
	}
	i.forget("a")
	if got := i.state("a"); got.seen != nil {
		t.Errorf("afterwards: %+v", got)
	}
}

func TestInjectorExempts(t *testing.T) {
	i := newInjector()
	i.watch("a", nil)
	i.own("a")
	for _, tc := range []struct {
		request faultproxy.Request
		seen    bool
	}{
		{faultproxy.Request{Verb: http.MethodPut, Resource: "leases", Namespace: "a", Name: "x"}, false},
		{faultproxy.Request{Verb: http.MethodPost, Resource: "events", Namespace: "a"}, false},
		{faultproxy.Request{Verb: "WATCH", Resource: "secrets"}, false},
		{faultproxy.Request{Verb: "WATCH", Resource: "jobs", Namespace: "a"}, true},
		{faultproxy.Request{Verb: http.MethodGet, Path: "/apis"}, true},
	} {
		before := len(i.state("a").seen)
		i.decide(tc.request)
		if seen := len(i.state("a").seen) > before; seen != tc.seen {
			t.Errorf("%s: seen %v", tc.request.Key(), seen)
		}
	}
	i.own("")
	before := len(i.state("a").seen)
	i.decide(faultproxy.Request{Verb: http.MethodGet, Path: "/apis"})
	if len(i.state("a").seen) > before {
		t.Error("a request without a namespace belongs to a release that does not run alone")
	}
}

func TestInjectorAtRandom(t *testing.T) {
	i := newInjector()
	i.watch("a", nil)
	i.atRandom(&schedule{seed: 1, rate: 1})
	all := []faultproxy.Request{
		{Verb: http.MethodGet, Resource: "jobs", Namespace: "a", Name: "app"}, {Verb: http.MethodGet, Path: "/apis"}, {Verb: "WATCH", Resource: "secrets"},
	}
	for _, r := range all {
		if i.decide(r) == faultproxy.None {
			t.Errorf("%s does not fail", r.Key())
		}
	}
	if got := i.decide(faultproxy.Request{Verb: http.MethodPut, Resource: "leases", Namespace: "a"}); got != faultproxy.None {
		t.Error("a lease fails")
	}
	i.atRandom(nil)
	for _, r := range all {
		if i.decide(r) != faultproxy.None {
			t.Errorf("%s fails after the end", r.Key())
		}
	}
}

func TestObserverCounts(t *testing.T) {
	o := &observer{seen: map[string]*seen{}}
	meta := func(uid string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "a", Name: releaseName, UID: types.UID(uid)}
	}
	job := &batchv1.Job{ObjectMeta: meta("1")}
	job.Annotations = map[string]string{"helm.sh/hook": "pre-upgrade", messageAnnotation: "two"}
	again := job.DeepCopy()
	again.UID = "2"
	cloned := job.DeepCopy()
	cloned.UID, cloned.Labels = "3", map[string]string{opsv1alpha1.LabelOperation: "x"}
	hr := &helmv2.HelmRelease{ObjectMeta: meta("4")}
	hr.Generation, hr.Status.ObservedGeneration, hr.Status.UpgradeFailures = 2, 2, 3
	hr.Status.Conditions = []metav1.Condition{{Type: helmv2.ConditionReady, Status: metav1.ConditionTrue, Reason: "x"}}
	hr.Status.History = helmv2.Snapshots{{Version: 7}}
	calm := hr.DeepCopy()
	calm.Status.UpgradeFailures = 0
	object := &corev1.ConfigMap{ObjectMeta: meta("5"), Data: map[string]string{"message": "one"}}
	changed := object.DeepCopy()
	changed.Data["message"] = "two"
	warning := &corev1.Event{ObjectMeta: meta("6"), Reason: "UpgradeFailed", InvolvedObject: corev1.ObjectReference{Kind: helmv2.HelmReleaseKind}}
	others := &corev1.Event{ObjectMeta: meta("7"), Reason: "BackoffLimitExceeded", InvolvedObject: corev1.ObjectReference{Kind: "Job"}}
	for _, object := range []any{job, job, again, cloned, hr, calm, object, changed, warning, others, "no object"} {
		o.note(object, false)
	}
	o.note(job, true)
	f, err := o.facts("a")
	if err != nil {
		t.Fatal(err)
	}
	if len(f.hooks) != 3 || f.hooks[0] != (hook{"pre-upgrade", "two"}) || f.hooks[2].event != operationHook {
		t.Errorf("hooks are %v", f.hooks)
	}
	if !f.exists || !f.quiet || !f.ready || f.revision != 7 || f.failures != 3 {
		t.Errorf("the HelmRelease is %+v", f)
	}
	if f.message != "two" || f.changes != 1 || len(f.warnings) != 1 {
		t.Errorf("message %s, %d changes, warnings %v", f.message, f.changes, f.warnings)
	}
	o.note(toolscache.DeletedFinalStateUnknown{Obj: changed}, true)
	o.note(calm, true)
	if f, _ := o.facts("a"); f.exists || f.message != "" {
		t.Errorf("after deletion: %+v", f)
	}
	held := calm.DeepCopy()
	held.Annotations = map[string]string{opsv1alpha1.AnnotationHolder: "x"}
	o.note(held, false)
	if f, _ := o.facts("a"); f.quiet {
		t.Error("a release that an Operation holds is quiet")
	}
	o.note(&corev1.Secret{ObjectMeta: meta("8")}, false)
	if _, err := o.facts("a"); err == nil {
		t.Error("a record that cannot be read is no error")
	}
	if f, _ := o.facts("b"); f.exists {
		t.Error("there is a release where nothing was seen")
	}
}
