// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"strings"
	"sync"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/release"
)

// +kubebuilder:rbac:groups=kustomize.toolkit.fluxcd.io,resources=kustomizations,verbs=get

const (
	// kustomizeName and kustomizeNamespace are the labels by which kustomize-controller
	// says what it has applied.
	kustomizeName      = "kustomize.toolkit.fluxcd.io/name"
	kustomizeNamespace = "kustomize.toolkit.fluxcd.io/namespace"
	// trackingID is the annotation by which Argo CD does, before its first colon.
	trackingID = "argocd.argoproj.io/tracking-id"
	// checkingHealth is how kustomize-controller begins to say that it has applied
	// everything and waits for that to become ready, which may be for us.
	checkingHealth = "Running health checks"
)

// applier is who applies an object together with others; the zero value if nobody is
// known to.
type applier struct {
	kind string
	types.NamespacedName
}

func applierOf(obj metav1.Object) applier {
	labels := obj.GetLabels()
	if name := labels[kustomizeName]; name != "" {
		return applier{"Kustomization", types.NamespacedName{Namespace: labels[kustomizeNamespace], Name: name}}
	}
	if app, _, ok := strings.Cut(obj.GetAnnotations()[trackingID], ":"); ok {
		return applier{"Application", types.NamespacedName{Name: app}}
	}
	return applier{}
}

// onlyTracking returns of some annotations what tells who applies an object.
func onlyTracking(annotations map[string]string) map[string]string {
	id, ok := annotations[trackingID]
	if !ok {
		return nil
	}
	return map[string]string{trackingID: id}
}

// bursts remembers when the inputs of HelmReleases changed that one applier writes.
// Nothing of it survives the process, and what is there when it starts is no change.
// The zero value is ready for use.
type bursts struct {
	mu    sync.Mutex
	known map[types.NamespacedName]burst
}

type burst struct {
	// generations are of the HelmRelease, and of its source if that has the same
	// applier; zero if it has not.
	generations [2]int64
	burst       *release.Debounce
}

// note takes down that an input of a HelmRelease changes now.
func (b *bursts) note(key types.NamespacedName, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if in, met := b.known[key]; met {
		in.burst = continued(in.burst, now)
		b.known[key] = in
	}
}

// met takes down which generations of a HelmRelease and its source a visit sees. What
// was never seen before has not changed.
func (b *bursts) met(key types.NamespacedName, generations [2]int64, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	in, met := b.known[key]
	if met && in.generations == generations {
		return
	}
	if met {
		in.burst = continued(in.burst, now)
	}
	in.generations = generations
	if b.known == nil {
		b.known = map[types.NamespacedName]burst{}
	}
	b.known[key] = in
}

func continued(b *release.Debounce, now time.Time) *release.Debounce {
	if b.Over(now) {
		return &release.Debounce{First: now, Last: now}
	}
	return &release.Debounce{First: b.First, Last: now}
}

// of returns the latest burst of a HelmRelease; nil if there was none that has not
// been acted upon.
func (b *bursts) of(key types.NamespacedName) *release.Debounce {
	b.mu.Lock()
	defer b.mu.Unlock()
	if in := b.known[key]; in.burst != nil {
		found := *in.burst
		return &found
	}
	return nil
}

// acted ends the burst of a HelmRelease: what changes from now on is another.
func (b *bursts) acted(key types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if in, met := b.known[key]; met {
		in.burst = nil
		b.known[key] = in
	}
}

func (b *bursts) forget(key types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.known, key)
}

// meet takes down which state of its own and of its source hr is visited in, if who
// applies it applies others of its inputs too.
func (r *HelmReleaseReconciler) meet(ctx context.Context, hr *helmv2.HelmRelease) {
	key, by := client.ObjectKeyFromObject(hr), applierOf(hr)
	source := r.sourceBy(ctx, hr, by)
	if by == (applier{}) || source == 0 && !r.valuesBy(ctx, hr, by) {
		r.bursts.forget(key)
		return
	}
	r.bursts.met(key, [2]int64{hr.Generation, source}, r.now())
}

// sourceBy returns the generation of the source of hr if it has the applier; zero if
// not. The HelmChart of a template is made by ourselves.
func (r *HelmReleaseReconciler) sourceBy(ctx context.Context, hr *helmv2.HelmRelease, by applier) int64 {
	if by == (applier{}) || !hr.HasChartRef() {
		return 0
	}
	kind, key := inputs.SourceOf(hr)
	var source client.Object
	switch kind {
	case helmv2.KindOCIRepository:
		source = &sourcev1.OCIRepository{}
	case helmv2.KindHelmChart:
		source = &sourcev1.HelmChart{}
	default:
		// The artifact of others is not made from their spec.
		return 0
	}
	if r.client.Get(ctx, key, source) != nil || applierOf(source) != by {
		return 0
	}
	return source.GetGeneration()
}

// valuesBy reports whether something that hr takes values from has the applier. What
// is not in the cache is taken to have it: most of what is applied is not watched, by
// default, and asking for it at each visit would cost more than waiting for it in vain.
func (r *HelmReleaseReconciler) valuesBy(ctx context.Context, hr *helmv2.HelmRelease, by applier) bool {
	for _, kind := range []string{helmv2.KindConfigMap, helmv2.KindSecret} {
		for _, key := range inputs.ValuesFrom(hr, kind) {
			found := &metav1.PartialObjectMetadata{}
			found.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: kind})
			if r.noConfigWatches || r.cached.Get(ctx, key, found) != nil || applierOf(found) == by {
				return true
			}
		}
	}
	return false
}

// arriving fills in which changes of hr's inputs are not acted upon yet, and asks who
// applies them whether more are to come, if that can matter.
func (r *HelmReleaseReconciler) arriving(ctx context.Context, hr *helmv2.HelmRelease, in *release.Input) {
	in.Observed.Debounce = r.bursts.of(client.ObjectKeyFromObject(hr))
	if by := applierOf(hr); by.kind == "Kustomization" && release.MustCheckApplier(*in) {
		in.Observed.Debounce.Applying = r.applying(ctx, by.NamespacedName)
	}
}

// applying reports whether a Kustomization is being applied. Whether what it has
// applied becomes ready is another question, and we are part of the answer. Who may
// not be asked is taken to be through.
func (r *HelmReleaseReconciler) applying(ctx context.Context, key types.NamespacedName) bool {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"})
	if err := r.live.Get(ctx, key, u); err != nil {
		return false
	}
	var kustomization struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &kustomization); err != nil {
		return false
	}
	c := apimeta.FindStatusCondition(kustomization.Status.Conditions, helmv2.ConditionReconciling)
	return c != nil && c.Status == metav1.ConditionTrue && !strings.HasPrefix(c.Message, checkingHealth)
}
