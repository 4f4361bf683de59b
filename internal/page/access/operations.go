// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"errors"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/operation"
)

// ErrNoOperations is the error for Operations of a controller that does not keep them.
var ErrNoOperations = errors.New("this controller does not run Operations: their CRD is not installed, or the controller may not watch them, or it only observes")

func ofOperations(namespace, name string) authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{
		Verb: "get", Group: opsv1alpha1.GroupVersion.Group, Version: opsv1alpha1.GroupVersion.Version, Resource: "operations", Namespace: namespace, Name: name,
	}
}

// Operations returns the Operations that the user may get: all, or only in some namespaces.
func (v *Viewer) Operations(ctx context.Context) ([]opsv1alpha1.Operation, error) {
	if !v.KeepsOperations() {
		return nil, ErrNoOperations
	}
	list := &opsv1alpha1.OperationList{}
	// The objects are only read.
	if err := v.Kept.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	return visible(ctx, v, list.Items, func(op *opsv1alpha1.Operation) string { return op.Namespace }, ofOperations("", ""))
}

// OperationsIn returns the Operations of a namespace.
func (v *Viewer) OperationsIn(ctx context.Context, namespace string) ([]opsv1alpha1.Operation, error) {
	if err := v.Check(ctx, ofOperations(namespace, "")); err != nil {
		return nil, err
	}
	if !v.KeepsOperations() {
		return nil, ErrNoOperations
	}
	list := &opsv1alpha1.OperationList{}
	err := v.Kept.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy)
	return list.Items, err
}

// Operation returns an Operation.
func (v *Viewer) Operation(ctx context.Context, namespace, name string) (*opsv1alpha1.Operation, error) {
	if err := v.Check(ctx, ofOperations(namespace, name)); err != nil {
		return nil, err
	}
	if !v.KeepsOperations() {
		return nil, ErrNoOperations
	}
	op := &opsv1alpha1.Operation{}
	return op, v.Kept.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, op)
}

// Target returns the HelmRelease that an Operation is for; nil if there is none, more than one, or one
// that the user may not get.
func (v *Viewer) Target(ctx context.Context, op *opsv1alpha1.Operation) (*helmv2.HelmRelease, error) {
	ref := op.Spec.TargetRef
	if operation.IsHelmRelease(ref) {
		hr, err := v.Release(ctx, op.Namespace, ref.Name)
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			return nil, nil //nolint:nilnil // there is none
		}
		return hr, err
	}
	of, err := v.releasesThat(ctx, func(hr *helmv2.HelmRelease) bool {
		return hr.Namespace == op.Namespace && operation.Controls(ref, hr)
	})
	if err != nil || len(of) != 1 {
		return nil, err
	}
	return &of[0], nil
}

// PodsOf returns the Pods of an Operation. The controller keeps them.
func (v *Viewer) PodsOf(ctx context.Context, op *opsv1alpha1.Operation) ([]corev1.Pod, error) {
	if err := v.Check(ctx, authorizationv1.ResourceAttributes{Verb: "list", Version: "v1", Resource: "pods", Namespace: op.Namespace}); err != nil {
		return nil, err
	}
	list := &corev1.PodList{}
	err := v.Kept.List(ctx, list, client.InNamespace(op.Namespace), client.MatchingLabels{opsv1alpha1.LabelOperation: string(op.UID)})
	return list.Items, err
}
