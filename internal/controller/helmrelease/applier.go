// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"strings"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
)

// +kubebuilder:rbac:groups=kustomize.toolkit.fluxcd.io,resources=kustomizations,verbs=get

const (
	// kustomizeName and kustomizeNamespace are the labels of objects that kustomize-controller
	// has applied.
	kustomizeName      = "kustomize.toolkit.fluxcd.io/name"
	kustomizeNamespace = "kustomize.toolkit.fluxcd.io/namespace"

	kindKustomization = "Kustomization"
	kindApplication   = "Application"
)

// applier is the object that applies others together, a Kustomization of Flux or an Application of
// Argo CD. The zero value means that it is not known.
type applier struct {
	kind string
	types.NamespacedName
}

// applierOf returns the applier of an object.
func applierOf(obj metav1.Object) applier {
	labels := obj.GetLabels()
	if name := labels[kustomizeName]; name != "" {
		return applier{kindKustomization, types.NamespacedName{Namespace: labels[kustomizeNamespace], Name: name}}
	}
	// The name of the Application comes before the first colon.
	if app, _, ok := strings.Cut(obj.GetAnnotations()[controller.AnnotationTrackingID], ":"); ok {
		return applier{kindApplication, types.NamespacedName{Name: app}}
	}
	return applier{}
}

// Known reports whether a is not the zero value.
func (a applier) Known() bool { return a != applier{} }

// isApplying reports whether a Kustomization is applying objects. Waiting for the readiness of the
// applied objects does not count: the HelmRelease is one of them. A Kustomization that cannot be
// read counts as not applying.
func (d *debouncer) isApplying(ctx context.Context, key types.NamespacedName) bool {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: kindKustomization})
	if err := d.Live.Get(ctx, key, u); err != nil {
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
	all := kustomization.Status.Conditions
	c := apimeta.FindStatusCondition(all, helmv2.ConditionReconciling)
	return c != nil && c.Status == metav1.ConditionTrue && !checksHealth(c, apimeta.FindStatusCondition(all, fluxmeta.HealthyCondition))
}

// checksHealth reports whether a Kustomization has applied its objects and waits for their
// readiness. kustomize-controller then sets Healthy to Unknown, together with a new message of
// Reconciling. A health check that was cancelled leaves Healthy as it is, and the next phase
// changes Reconciling later. kustomize-controller sets the time of a transition with each new
// message.
func checksHealth(reconciling, healthy *metav1.Condition) bool {
	return healthy != nil && healthy.Status == metav1.ConditionUnknown &&
		!healthy.LastTransitionTime.Before(&reconciling.LastTransitionTime)
}
