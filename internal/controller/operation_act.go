// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/operation"
)

// perform does what was decided and written down. All of it may be done again. op
// is the Operation as it was written; nil if it is gone.
func (r *OperationReconciler) perform(ctx context.Context, v *view, op *opsv1alpha1.Operation, action operation.Action) error {
	if op == nil {
		return nil
	}
	switch a := action.(type) {
	case operation.SetFinalizer:
		return r.finalizer(ctx, op, controllerutil.AddFinalizer)
	case operation.RemoveFinalizer:
		return client.IgnoreNotFound(r.finalizer(ctx, op, controllerutil.RemoveFinalizer))
	case operation.AcquireLock:
		return r.acquire(ctx, v)
	case operation.ReleaseLock:
		return r.release(ctx, v)
	case operation.Create:
		return r.create(ctx, v, a.Step)
	case operation.Resume:
		return r.resume(ctx, v, a)
	case operation.Stop:
		return r.stop(ctx, v, a.Jobs)
	case operation.Expire:
		return r.expire(ctx, v, a)
	case operation.RemoveCompanions:
		return r.removeCompanions(ctx, v, a.Names)
	case operation.Adopt, operation.Record, operation.Finish, operation.Wait, operation.Settle:
	}
	return nil
}

func (r *OperationReconciler) finalizer(ctx context.Context, op *opsv1alpha1.Operation, change func(client.Object, string) bool) error {
	before := op.DeepCopy()
	if !change(op, opsv1alpha1.Finalizer) {
		return nil
	}
	if err := r.client.Patch(ctx, op, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), fieldOwner); err != nil {
		return err
	}
	r.written.note(before)
	return nil
}

// acquire writes our UID on the target, in the version that the decision was made
// on: of this and of an announcement on the same version, only one succeeds.
func (r *OperationReconciler) acquire(ctx context.Context, v *view) error {
	return r.lock(ctx, v.hr, func(annotations map[string]string) {
		annotations[opsv1alpha1.AnnotationHolder] = string(v.op.UID)
	})
}

// release takes our UID off what has it.
func (r *OperationReconciler) release(ctx context.Context, v *view) error {
	for _, hr := range v.held {
		if r.locked.outdated(hr) {
			continue
		}
		err := r.lock(ctx, hr, func(annotations map[string]string) { delete(annotations, opsv1alpha1.AnnotationHolder) })
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// lock is the one place that writes the holder of a HelmRelease.
func (r *OperationReconciler) lock(ctx context.Context, before *helmv2.HelmRelease, change func(annotations map[string]string)) error {
	after := before.DeepCopy()
	if after.Annotations == nil {
		after.Annotations = map[string]string{}
	}
	change(after.Annotations)
	if err := r.client.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), fieldOwner); err != nil {
		return err
	}
	r.locked.note(before)
	return nil
}

// create makes what is missing, and then the Job. What exists was made by an
// earlier visit.
func (r *OperationReconciler) create(ctx context.Context, v *view, step int) error {
	for _, object := range append(slices.Clone(v.clones), v.plan.Steps[step].Job) {
		if err := v.who.client.Create(ctx, object.DeepCopy(), fieldOwner); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create %s %s: %s", object.GetKind(), object.GetName(), r.clear(ctx, v, err))
		}
	}
	return nil
}

// resume lets a Job run.
func (r *OperationReconciler) resume(ctx context.Context, v *view, a operation.Resume) error {
	if err := r.patchJob(ctx, v, a.Job, a.UID, `"suspend":false`); err != nil {
		return err
	}
	for i := range v.jobs {
		if v.jobs[i].Name == a.Job {
			r.resumed.note(&v.jobs[i])
		}
	}
	return nil
}

// patchJob changes a field of a Job's spec, if it is still the Job that is meant.
func (r *OperationReconciler) patchJob(ctx context.Context, v *view, name, uid, field string) error {
	who, err := r.deputy(ctx, v)
	if err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"metadata":{"uid":%q},"spec":{%s}}`, uid, field)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: v.op.Namespace, Name: name}}
	return r.cleared(ctx, v, who.client.Patch(ctx, job, client.RawPatch(types.MergePatchType, []byte(patch)), fieldOwner))
}

// uidOf returns the UID of a Job of ours.
func (v *view) uidOf(job string) types.UID {
	for _, j := range v.in.Jobs {
		if j.Name == job && j.Ours {
			return types.UID(j.UID)
		}
	}
	return ""
}

// stop deletes Jobs and their pods.
func (r *OperationReconciler) stop(ctx context.Context, v *view, jobs []string) error {
	for _, name := range jobs {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: v.op.Namespace, Name: name}}
		if err := r.remove(ctx, v, job, v.uidOf(name)); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes an object with what depends on it, and no other of its name.
func (r *OperationReconciler) remove(ctx context.Context, v *view, object client.Object, uid types.UID) error {
	who, err := r.deputy(ctx, v)
	if err != nil {
		return err
	}
	err = who.client.Delete(ctx, object, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	return r.cleared(ctx, v, client.IgnoreNotFound(err))
}

func (r *OperationReconciler) expire(ctx context.Context, v *view, a operation.Expire) error {
	for _, name := range a.Jobs {
		err := r.patchJob(ctx, v, name, string(v.uidOf(name)), fmt.Sprintf(`"ttlSecondsAfterFinished":%d`, a.Seconds))
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

func (r *OperationReconciler) removeCompanions(ctx context.Context, v *view, names []string) error {
	for i := range v.companions {
		o := &v.companions[i]
		if !slices.Contains(names, o.Kind+" "+o.Name) {
			continue
		}
		if err := r.remove(ctx, v, o, o.UID); err != nil {
			return err
		}
	}
	return nil
}
