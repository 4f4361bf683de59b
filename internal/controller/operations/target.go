// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/operation"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

// target returns rec with the HelmRelease that the Operation is for, and the Operations that name
// it as their holder.
func (o *observer) target(ctx context.Context, rec reconciliation) (reconciliation, error) {
	var held helmv2.HelmReleaseList
	if err := o.client.List(ctx, &held, client.InNamespace(rec.op.Namespace), client.MatchingFields{controller.IndexHolder: string(rec.op.UID)}); err != nil {
		return rec, err
	}
	for i := range held.Items {
		rec.held = append(rec.held, &held.Items[i])
		rec.in.LockedReleases = append(rec.in.LockedReleases, held.Items[i].Name)
	}
	slices.Sort(rec.in.LockedReleases)
	var err error
	if rec.hr, rec.in.Target.Unresolved, err = o.resolve(ctx, rec.op); err != nil || rec.hr == nil {
		return rec, err
	}
	if o.locked.isStale(rec.hr) {
		return rec, errStale
	}
	return o.describe(ctx, rec)
}

// describe returns rec with the fields of the target that matter.
func (o *observer) describe(ctx context.Context, rec reconciliation) (reconciliation, error) {
	t, hr := &rec.in.Target, rec.hr
	t.HelmRelease, t.Deleted = hr.Name, !hr.DeletionTimestamp.IsZero()
	t.Suspended = release.SuspensionOf(hr.Spec.Suspend, hr.Annotations, rec.in.Now).Active
	t.Action = status.Announced(hr.Status)
	uid := hr.Annotations[opsv1alpha1.AnnotationHolder]
	if uid == "" || uid == string(rec.op.UID) {
		return rec, nil
	}
	name, living, err := o.locks.Operation(ctx, hr.Namespace, uid)
	t.LockHolder = operation.LockHolder{UID: uid, Name: name, Active: living}
	return rec, err
}

// resolve returns the HelmRelease that an Operation means, or why there is none.
func (o *observer) resolve(ctx context.Context, op *opsv1alpha1.Operation) (*helmv2.HelmRelease, *operation.Problem, error) {
	ref := op.Spec.TargetRef
	if _, err := schema.ParseGroupVersion(ref.APIVersion); err != nil {
		return nil, &operation.Problem{Reason: opsv1alpha1.ReasonTargetNotFound, Message: "apiVersion of the target is none"}, nil //nolint:nilerr // the problem reports it
	}
	if !operation.IsHelmRelease(ref) {
		var all helmv2.HelmReleaseList
		if err := o.client.List(ctx, &all, client.InNamespace(op.Namespace)); err != nil {
			return nil, nil, err
		}
		owned := slices.DeleteFunc(all.Items, func(hr helmv2.HelmRelease) bool { return !operation.Controls(ref, &hr) })
		if len(owned) > 1 {
			return nil, &operation.Problem{
				Reason:  opsv1alpha1.ReasonTargetAmbiguous,
				Message: fmt.Sprintf("%d HelmReleases belong to %s %s: which one is meant is not known", len(owned), ref.Kind, ref.Name),
			}, nil
		}
		if len(owned) == 1 {
			return &owned[0], nil, nil
		}
	}
	hr := &helmv2.HelmRelease{}
	err := o.client.Get(ctx, client.ObjectKey{Namespace: op.Namespace, Name: ref.Name}, hr)
	if apierrors.IsNotFound(err) {
		message := fmt.Sprintf("there is no HelmRelease %s", ref.Name)
		if ref.Kind != helmv2.HelmReleaseKind {
			message = fmt.Sprintf("no HelmRelease belongs to %s %s, and none has its name", ref.Kind, ref.Name)
		}
		return nil, &operation.Problem{Reason: opsv1alpha1.ReasonTargetNotFound, Message: message}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return hr, nil, nil
}
