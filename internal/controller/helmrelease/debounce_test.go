// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/controllertest"
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
		return applierOf(&metav1.ObjectMeta{Annotations: map[string]string{controller.AnnotationTrackingID: id}})
	}
	if a, b := tracked("shop:apps/Deployment:a/b"), tracked("shop:/ConfigMap:a/c"); a == (applier{}) || a != b || a == tracked("web:/ConfigMap:a/c") {
		t.Errorf("of Argo CD's applications %+v and %+v are told", a, b)
	}
	if unknown := applierOf(&metav1.ObjectMeta{Labels: map[string]string{"app": "x"}}); unknown != (applier{}) {
		t.Errorf("%+v applies an object without marks of an applier", unknown)
	}
}

// TestState: a burst goes on while changes come in short order, and ends when it is
// acted upon.
func TestState(t *testing.T) {
	start := time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return start.Add(d) }
	var b debounceState
	b.RecordChange(at(0))
	if b.Burst() != nil {
		t.Error("an input of a HelmRelease that was never observed has changed")
	}
	b.Observe([2]int64{1, 1}, at(0))
	if b.Burst() != nil {
		t.Error("what is observed first has changed")
	}
	b.Observe([2]int64{2, 1}, at(time.Second))
	b.RecordChange(at(2 * time.Second))
	b.Observe([2]int64{2, 1}, at(3*time.Second))
	b.Observe([2]int64{2, 2}, at(3*time.Second))
	if got := b.Burst(); got == nil || *got != (release.Debounce{First: at(time.Second), Last: at(3 * time.Second)}) {
		t.Errorf("three changes make the burst %+v", got)
	}
	b.RecordChange(at(time.Minute))
	if got := b.Burst(); got == nil || got.First != at(time.Minute) {
		t.Errorf("a change much later belongs to the burst %+v", got)
	}
	b.EndBurst()
	if got := b.Burst(); got != nil {
		t.Errorf("%+v is left when it was acted upon", got)
	}
}

// TestObserve: only changes of inputs of one applier count.
func TestObserve(t *testing.T) {
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
		"Unknown applier": {reason: "its applier is not known", source: by("apps"), config: by("apps"), edit: values},
		"Alone":           {reason: "nothing else is applied with it", hr: by("apps")},
		"Source":          {reason: "the chart's version is in the source", hr: by("apps"), source: by("apps"), want: true},
		"OtherSource":     {reason: "another commit, another day", hr: by("apps"), source: by("infra")},
		"Values":          {reason: "values are in the ConfigMap", hr: by("apps"), config: by("apps"), edit: values, want: true},
		"OtherValues":     {reason: "another commit, another day", hr: by("apps"), config: by("infra"), edit: values},
		"ValuesUnused":    {reason: "the ConfigMap is no input", hr: by("apps"), config: by("apps")},
		"Unknown": {reason: "what is not known may be changing", hr: by("apps"), edit: func(hr *helmv2.HelmRelease) {
			hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: "Secret", Name: "values"}}
		}, want: true},
		"Unwatched": {reason: "what is not known may be changing", hr: by("apps"), config: by("infra"), edit: values, unwatched: true, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			var memory controller.Table[debounceState]
			source := &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "web", Generation: 1, Labels: tc.source}}
			d := &debouncer{Memory: &memory, Now: time.Now, NoConfigWatches: tc.unwatched}
			d.Client = controllertest.NewClient().WithObjects(source).Build()
			d.Cached = controllertest.NewClient().WithObjects(
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "values", Labels: tc.config}}).Build()
			hr := &helmv2.HelmRelease{
				ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: tc.hr, Generation: 1},
				Spec:       helmv2.HelmReleaseSpec{ChartRef: &helmv2.CrossNamespaceSourceReference{Kind: "OCIRepository", Name: "web"}},
			}
			if tc.edit != nil {
				tc.edit(hr)
			}
			d.Observe(t.Context(), hr)
			hr.Generation++
			d.Observe(t.Context(), hr)
			var got bool
			memory.With(key, func(s *debounceState) { got = s.Burst() != nil })
			if got != tc.want {
				t.Errorf("a change is remembered: %t, want %t, for %s", got, tc.want, tc.reason)
			}
		})
	}
}

// TestForeignInputsAreForgotten: changes no longer count when no input has the applier.
func TestForeignInputsAreForgotten(t *testing.T) {
	var memory controller.Table[debounceState]
	d := &debouncer{Memory: &memory, Now: time.Now}
	memory.With(key, func(s *debounceState) {
		s.Observe([2]int64{1, 1}, time.Now())
		s.RecordChange(time.Now())
	})
	d.Observe(t.Context(), &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
	memory.With(key, func(s *debounceState) {
		if s.RecordChange(time.Now()); s.Burst() != nil {
			t.Errorf("remembered is %+v", s)
		}
	})
}

// TestApplying: a Kustomization that waits for the readiness of its objects, the HelmRelease among
// them, is no longer applying.
func TestApplying(t *testing.T) {
	condition := func(kind, status, message string, at time.Duration) any {
		start := time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)
		return map[string]any{
			"type": kind, "status": status, "reason": "Progressing", "message": message,
			"lastTransitionTime": start.Add(at).Format(time.RFC3339),
		}
	}
	for name, tc := range map[string]struct {
		conditions []any
		want       bool
	}{
		"Absent":   {nil, false},
		"Building": {[]any{condition("Reconciling", "True", "Building manifests", 0)}, true},
		"BuildingHealthy": {[]any{
			condition("Reconciling", "True", "Building manifests", time.Minute), condition("Healthy", "True", "Health check passed", 0),
		}, true},
		"BuildingUnhealthy": {[]any{
			condition("Reconciling", "True", "Building manifests", time.Minute), condition("Healthy", "False", "Health check failed", 0),
		}, true},
		"Checking": {[]any{
			condition("Reconciling", "True", "Running health checks", time.Minute), condition("Healthy", "Unknown", "Running health checks", time.Minute),
		}, false},
		"CheckingNextSecond": {[]any{
			condition("Reconciling", "True", "Running health checks", 0), condition("Healthy", "Unknown", "Running health checks", time.Second),
		}, false},
		"BuildingAfterCancelledCheck": {[]any{
			condition("Reconciling", "True", "Building manifests", time.Minute), condition("Healthy", "Unknown", "Running health checks", 0),
		}, true},
		"Through": {[]any{condition("Ready", "True", "Applied", 0), condition("Healthy", "True", "Health check passed", 0)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := controllertest.NewClient()
			if tc.conditions != nil {
				b = b.WithObjects(&unstructured.Unstructured{Object: map[string]any{
					"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
					"metadata": map[string]any{"namespace": "flux-system", "name": "apps"},
					"status":   map[string]any{"conditions": tc.conditions},
				}})
			}
			d := &debouncer{Live: b.Build()}
			if got := d.isApplying(t.Context(), client.ObjectKey{Namespace: "flux-system", Name: "apps"}); got != tc.want {
				t.Errorf("it is applying: %t, want %t", got, tc.want)
			}
		})
	}
}
