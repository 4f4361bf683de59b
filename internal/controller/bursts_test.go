// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

func by(name string) map[string]string {
	return map[string]string{kustomizeName: name, kustomizeNamespace: "flux-system"}
}

func TestApplierOf(t *testing.T) {
	apps := applierOf(&metav1.ObjectMeta{Labels: by("apps")})
	if apps == (applier{}) || apps != applierOf(&metav1.ObjectMeta{Labels: by("apps"), Namespace: "other"}) {
		t.Errorf("two objects of a Kustomization have different appliers, the first %+v", apps)
	}
	if other := applierOf(&metav1.ObjectMeta{Labels: by("infra")}); other == apps {
		t.Error("two Kustomizations are one applier")
	}
	tracked := func(id string) applier {
		return applierOf(&metav1.ObjectMeta{Annotations: map[string]string{trackingID: id}})
	}
	if a, b := tracked("shop:apps/Deployment:a/b"), tracked("shop:/ConfigMap:a/c"); a == (applier{}) || a != b || a == tracked("web:/ConfigMap:a/c") {
		t.Errorf("of Argo CD's applications %+v and %+v are told", a, b)
	}
	if nobody := applierOf(&metav1.ObjectMeta{Labels: map[string]string{"app": "x"}}); nobody != (applier{}) {
		t.Errorf("%+v applies what nobody is known to", nobody)
	}
}

// TestBursts: a burst goes on while changes come in short order, and ends when it is
// acted upon.
func TestBursts(t *testing.T) {
	start := time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return start.Add(d) }
	var b bursts
	b.note(key, at(0))
	if b.of(key) != nil {
		t.Error("what was never met has changed")
	}
	b.met(key, [2]int64{1, 1}, at(0))
	if b.of(key) != nil {
		t.Error("what is met first has changed")
	}
	b.met(key, [2]int64{2, 1}, at(time.Second))
	b.note(key, at(2*time.Second))
	b.met(key, [2]int64{2, 1}, at(3*time.Second))
	b.met(key, [2]int64{2, 2}, at(3*time.Second))
	if got := b.of(key); got == nil || *got != (release.Debounce{First: at(time.Second), Last: at(3 * time.Second)}) {
		t.Errorf("three changes make the burst %+v", got)
	}
	b.note(key, at(time.Minute))
	if got := b.of(key); got == nil || got.First != at(time.Minute) {
		t.Errorf("a change much later belongs to the burst %+v", got)
	}
	b.acted(key)
	if got := b.of(key); got != nil {
		t.Errorf("%+v is left when it was acted upon", got)
	}
	b.note(key, at(time.Minute))
	if b.forget(key); b.of(key) != nil || len(b.known) > 0 {
		t.Error("what is forgotten is remembered")
	}
}

// TestMeet: what counts are inputs of one applier, and nothing else.
func TestMeet(t *testing.T) {
	values := func(hr *helmv2.HelmRelease) {
		hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: "ConfigMap", Name: "values"}}
	}
	for name, tc := range map[string]struct {
		reason             string
		hr, source, config map[string]string
		edit               func(*helmv2.HelmRelease)
		unwatched          bool
		want               bool
	}{
		"Nobody":       {reason: "nothing says who applies it", source: by("apps"), config: by("apps"), edit: values},
		"Alone":        {reason: "nothing else is applied with it", hr: by("apps")},
		"Source":       {reason: "the chart's version is in the source", hr: by("apps"), source: by("apps"), want: true},
		"OtherSource":  {reason: "another commit, another day", hr: by("apps"), source: by("infra")},
		"Values":       {reason: "values are in the ConfigMap", hr: by("apps"), config: by("apps"), edit: values, want: true},
		"OtherValues":  {reason: "another commit, another day", hr: by("apps"), config: by("infra"), edit: values},
		"ValuesUnused": {reason: "the ConfigMap is no input", hr: by("apps"), config: by("apps")},
		"Unknown": {reason: "what is not known may be changing", hr: by("apps"), edit: func(hr *helmv2.HelmRelease) {
			hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: "Secret", Name: "values"}}
		}, want: true},
		"Unwatched": {reason: "what is not known may be changing", hr: by("apps"), config: by("infra"), edit: values, unwatched: true, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReconciler(t, &stub{})
			source := &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "web", Generation: 1, Labels: tc.source}}
			r.client = fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(source).Build()
			r.cached = fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "values", Labels: tc.config}}).Build()
			r.noConfigWatches = tc.unwatched
			hr := &helmv2.HelmRelease{
				ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: tc.hr, Generation: 1},
				Spec:       helmv2.HelmReleaseSpec{ChartRef: &helmv2.CrossNamespaceSourceReference{Kind: "OCIRepository", Name: "web"}},
			}
			if tc.edit != nil {
				tc.edit(hr)
			}
			r.meet(t.Context(), hr)
			hr.Generation++
			r.meet(t.Context(), hr)
			if got := r.bursts.of(key) != nil; got != tc.want {
				t.Errorf("a change is remembered: %t, want %t, for %s", got, tc.want, tc.reason)
			}
		})
	}
}

// TestApplying: a Kustomization that has applied everything is through, though it
// waits for us to become ready.
func TestApplying(t *testing.T) {
	for name, tc := range map[string]struct {
		condition map[string]any
		want      bool
	}{
		"Absent":   {nil, false},
		"Building": {map[string]any{"type": "Reconciling", "status": "True", "reason": "Progressing", "message": "Building manifests for revision main@sha1:1"}, true},
		"Checking": {map[string]any{"type": "Reconciling", "status": "True", "reason": "Progressing", "message": checkingHealth + " for revision main@sha1:1 with a timeout of 5m0s"}, false},
		"Through":  {map[string]any{"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded", "message": "Applied"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := fake.NewClientBuilder().WithScheme(Scheme())
			if tc.condition != nil {
				tc.condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
				b = b.WithObjects(&unstructured.Unstructured{Object: map[string]any{
					"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
					"metadata": map[string]any{"namespace": "flux-system", "name": "apps"},
					"status":   map[string]any{"conditions": []any{tc.condition}},
				}})
			}
			r := &HelmReleaseReconciler{live: b.Build()}
			if got := r.applying(t.Context(), client.ObjectKey{Namespace: "flux-system", Name: "apps"}); got != tc.want {
				t.Errorf("it is applying: %t, want %t", got, tc.want)
			}
		})
	}
}
