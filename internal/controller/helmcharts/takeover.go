// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmcharts

import (
	"context"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/helmchart"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

// records reads the records of releases. A helm.Runner implements it.
type records interface {
	LiveHistory(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, recorded helmv2.Snapshots) ([]release.Revision, error)
	Inventory(ctx context.Context, getter genericclioptions.RESTClientGetter, q helm.ReadRequest) ([]release.Object, error)
}

// existing is a revision that k3s' controller has made.
type existing struct {
	revision release.Revision
	objects  []release.Object
}

// unfinished is the error of a take-over that waits for an action of k3s' controller.
type unfinished struct{ left time.Duration }

// Error implements error.
func (u *unfinished) Error() string { return "an action of k3s' controller has not finished" }

// existing returns the newest revision of a release that k3s' controller has made: its record has the
// label of that controller. It returns nil if there is none. It reads as the identity of the release.
// While an action has not finished, it returns *unfinished: its Job may still run. Afterwards the
// HelmRelease unlocks the release.
func (r *Reconciler) existing(ctx context.Context, hr *helmv2.HelmRelease) (*existing, error) {
	conn, err := r.connections.Peek(ctx, hr)
	if err != nil {
		return nil, err
	}
	target := release.Target{Name: hr.Spec.ReleaseName, Namespace: hr.Spec.TargetNamespace, StorageNamespace: hr.Spec.StorageNamespace}
	revisions, err := r.records.LiveHistory(ctx, conn, target, nil)
	if apierrors.IsForbidden(err) {
		// The HelmRelease reports which right is missing.
		return nil, nil //nolint:nilnil // there is none that the release could use
	}
	if err != nil || len(revisions) == 0 || revisions[0].ConfigHash == "" || revisions[0].Altered {
		return nil, err
	}
	newest := revisions[0]
	switch {
	case newest.Status == helmv2.StatusDeployed || newest.Status == helmv2.StatusFailed:
	case newest.Pending() || newest.Status == helmv2.StatusUninstalling:
		if left := newest.LastWritten().Add(hr.GetTimeout()).Sub(r.now()); left > 0 {
			return nil, &unfinished{left}
		}
		return nil, nil //nolint:nilnil // it is unlocked first
	default:
		return nil, nil //nolint:nilnil // nothing is installed
	}
	history := helmv2.Snapshots{{Name: newest.Name, Namespace: newest.Namespace, Version: newest.Version, Digest: newest.Digest, APIVersion: release.SnapshotScheme}}
	objects, err := r.records.Inventory(ctx, conn, helm.ReadRequest{Target: target, Version: newest.Version, Spec: hr.Spec, History: history})
	return &existing{newest, objects}, err
}

// takeOver records the release of k3s' controller in the status of a HelmRelease that is made for it,
// which is suspended meanwhile. Otherwise it would be upgraded even if nothing differs.
func (r *Reconciler) takeOver(ctx context.Context, c *cattlev1.HelmChart, want *helmv2.HelmRelease) error {
	found, err := r.existing(ctx, want)
	if found == nil || err != nil {
		return err
	}
	suspended := want.DeepCopy()
	suspended.Spec.Suspend = true
	made, err := r.applyRelease(ctx, c, suspended)
	if err != nil {
		return err
	}
	return r.record(ctx, made, found)
}

// dropFinalizer removes the finalizer that k3s' controller has left. That controller would never
// remove it while the annotation names Pintle.
func (r *Reconciler) dropFinalizer(ctx context.Context, c *cattlev1.HelmChart) error {
	without := c.DeepCopy()
	without.Finalizers = slices.DeleteFunc(without.Finalizers, func(f string) bool { return f == cattlev1.FinalizerK3s })
	return r.client.Patch(ctx, without, client.MergeFromWithOptions(c, client.MergeFromWithOptimisticLock{}), fieldOwner)
}

// keepAccount makes the HelmRelease an owner of the ServiceAccount that k3s' controller has made. Its only
// owner is the HelmChart, so that the garbage collector would delete it before the release is
// uninstalled.
func (r *Reconciler) keepAccount(ctx context.Context, c *cattlev1.HelmChart, made *helmv2.HelmRelease) error {
	account := &corev1.ServiceAccount{}
	found, err := r.read(ctx, c, helmchart.ServiceAccountName(c), account)
	if err != nil || !found || !owned(account, c) || owned(account, made) {
		return err
	}
	kept := account.DeepCopy()
	kept.OwnerReferences = append(kept.OwnerReferences, metav1.OwnerReference{
		APIVersion: helmv2.GroupVersion.String(), Kind: helmv2.HelmReleaseKind, Name: made.Name, UID: made.UID,
	})
	return r.client.Patch(ctx, kept, client.MergeFromWithOptions(account, client.MergeFromWithOptimisticLock{}), fieldOwner)
}

// owned reports whether an object has an owner.
func owned(object, owner metav1.Object) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == owner.GetUID() })
}

// hasFinalizer reports whether k3s' controller has left its finalizer.
func hasFinalizer(c *cattlev1.HelmChart) bool {
	return slices.Contains(c.Finalizers, cattlev1.FinalizerK3s)
}

// replaced reports whether the finalizer of k3s' controller is no longer needed, because the
// HelmRelease uninstalls the release. made is the HelmRelease; nil if there is none. A HelmChart that
// is refused and deleted must not hang.
func replaced(c *cattlev1.HelmChart, made *helmv2.HelmRelease, refused bool) bool {
	switch {
	case !hasFinalizer(c):
		return false
	case made != nil && slices.Contains(made.Finalizers, helmv2.Finalizer):
		return true
	}
	return refused && !c.DeletionTimestamp.IsZero()
}

// uninstalls returns whether the Job exists with which k3s' controller uninstalls a HelmChart, and
// whether it has finished. The Job goes on even if the annotation names Pintle since.
//
// k3s' controller makes the HelmChart an owner of the Job. Another Job of that name does not count,
// such as one of an earlier HelmChart. A user can forge the owner, and a forged Job keeps the release
// installed. That gives no rights: a user that may create Jobs in this namespace can run
// Pods as the ServiceAccount of the release, and do more to it.
func (r *Reconciler) uninstalls(ctx context.Context, c *cattlev1.HelmChart) (exists, finished bool, err error) {
	job := &batchv1.Job{}
	exists, err = r.read(ctx, c, "helm-delete-"+c.Name, job)
	if err != nil || !exists || !owned(job, c) {
		return false, false, err
	}
	finished = slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
	return true, finished, nil
}

// handedOver is the value of the annotation that keeps the release of a HelmRelease when the HelmChart
// is given back.
const handedOver = "handed-over"

// handOver deletes the objects of a HelmChart that Pintle no longer manages. Its release stays
// installed. A HelmChart that is being deleted keeps them, unless k3s' controller uninstalls it: then
// only that must.
func (r *Reconciler) handOver(ctx context.Context, c *cattlev1.HelmChart) error {
	if !c.DeletionTimestamp.IsZero() && !hasFinalizer(c) {
		return nil
	}
	hr := &helmv2.HelmRelease{}
	err := r.client.Get(ctx, client.ObjectKeyFromObject(c), hr)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || !metav1.IsControlledBy(hr, c) {
		return err
	}
	if hr.Annotations[helmv2.AnnotationOrphan] == "" {
		orphan := hr.DeepCopy()
		metav1.SetMetaDataAnnotation(&orphan.ObjectMeta, helmv2.AnnotationOrphan, handedOver)
		if err := r.client.Patch(ctx, orphan, client.MergeFrom(hr), fieldOwner); err != nil {
			return client.IgnoreNotFound(err)
		}
		controller.Emit(r.events, c, status.HelmChartHandedOver(hr.Spec.TargetNamespace+"/"+hr.Spec.ReleaseName))
	}
	if err := r.deleteOthers(ctx, c, ""); err != nil {
		return err
	}
	if hr.DeletionTimestamp.IsZero() {
		return client.IgnoreNotFound(r.client.Delete(ctx, hr))
	}
	return nil
}

// keepNoLonger removes the annotation that handOver has set. The HelmChart was taken again before the
// HelmRelease was deleted.
func (r *Reconciler) keepNoLonger(ctx context.Context, hr *helmv2.HelmRelease) error {
	if hr == nil || hr.Annotations[helmv2.AnnotationOrphan] != handedOver || !hr.DeletionTimestamp.IsZero() {
		return nil
	}
	deletable := hr.DeepCopy()
	delete(deletable.Annotations, helmv2.AnnotationOrphan)
	return client.IgnoreNotFound(r.client.Patch(ctx, deletable, client.MergeFrom(hr), fieldOwner))
}
