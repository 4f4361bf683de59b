// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/operation"
)

// actor performs the actions of Operations.
type actor struct {
	client   client.Client
	observer *observer
	// written, locked and resumed are the writes of Operations, locks and Jobs.
	written, locked, resumed *writes
}

// perform performs an action that is decided and recorded. Every action is idempotent. op is the
// Operation as it was written; nil if it no longer exists.
func (a *actor) perform(ctx context.Context, rec reconciliation, op *opsv1alpha1.Operation, action operation.Action) error {
	if op == nil {
		return nil
	}
	switch do := action.(type) {
	case operation.SetFinalizer:
		return a.finalizer(ctx, op, controllerutil.AddFinalizer)
	case operation.RemoveFinalizer:
		return a.end(ctx, op)
	case operation.Delete:
		return a.deleteOperation(ctx, op)
	case operation.Abandon:
		// Events may not be created in a namespace that is being deleted.
		ctrl.LoggerFrom(ctx).Info("objects of the Operation may be left", "placement", op.Status.Placement)
		return a.end(ctx, op)
	case operation.AcquireLock:
		return a.acquire(ctx, rec)
	case operation.RequestPlan:
		return a.requestPlan(ctx, rec, do.Token)
	case operation.ReleaseLock:
		return a.release(ctx, rec)
	case operation.Create:
		return a.create(ctx, rec, do.Step)
	case operation.Resume:
		return a.resume(ctx, rec, do)
	case operation.Stop:
		return a.stop(ctx, rec, do.Jobs)
	case operation.Expire:
		return a.expire(ctx, rec, do)
	case operation.RemoveCompanions:
		return a.removeCompanions(ctx, rec, do.Names)
	case operation.Adopt, operation.Record, operation.Finish, operation.Wait, operation.Settle:
	}
	return nil
}

// end removes the finalizer.
func (a *actor) end(ctx context.Context, op *opsv1alpha1.Operation) error {
	if err := a.finalizer(ctx, op, controllerutil.RemoveFinalizer); client.IgnoreNotFound(err) != nil {
		return err
	}
	a.observer.forget(client.ObjectKeyFromObject(op), op.UID)
	return nil
}

func (a *actor) finalizer(ctx context.Context, op *opsv1alpha1.Operation, change func(client.Object, string) bool) error {
	before := op.DeepCopy()
	if !change(op, opsv1alpha1.Finalizer) {
		return nil
	}
	if err := a.client.Patch(ctx, op, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), controller.FieldOwner); err != nil {
		return err
	}
	a.written.record(before)
	return nil
}

// deleteOperation deletes the Operation, unless its spec has changed since it was read.
func (a *actor) deleteOperation(ctx context.Context, op *opsv1alpha1.Operation) error {
	guard := client.Preconditions{UID: &op.UID, ResourceVersion: &op.ResourceVersion}
	return client.IgnoreNotFound(a.client.Delete(ctx, op, guard, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

// acquire writes the UID of the Operation into the annotation of the target, in the version that
// the decision was made on. If Helm's action was announced on the same version, one of both writes
// fails.
func (a *actor) acquire(ctx context.Context, rec reconciliation) error {
	return a.annotate(ctx, rec.hr, func(annotations map[string]string) {
		annotations[opsv1alpha1.AnnotationHolder] = string(rec.op.UID)
	})
}

// release removes the UID of the Operation from all HelmReleases.
func (a *actor) release(ctx context.Context, rec reconciliation) error {
	for _, hr := range rec.held {
		if a.locked.isStale(hr) {
			continue
		}
		err := a.annotate(ctx, hr, func(annotations map[string]string) { delete(annotations, opsv1alpha1.AnnotationHolder) })
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// annotate is the only writer of annotations of a HelmRelease.
func (a *actor) annotate(ctx context.Context, before *helmv2.HelmRelease, change func(annotations map[string]string)) error {
	after := before.DeepCopy()
	if after.Annotations == nil {
		after.Annotations = map[string]string{}
	}
	change(after.Annotations)
	if err := a.client.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), controller.FieldOwner); err != nil {
		return err
	}
	a.locked.record(before)
	return nil
}

// create creates the objects that do not exist, and then the Job. An earlier reconciliation may
// have created some of them.
func (a *actor) create(ctx context.Context, rec reconciliation, step int) error {
	as, err := rec.identity(ctx)
	if err != nil {
		return err
	}
	for _, object := range append(slices.Clone(rec.clones), rec.plan.Steps[step].Job) {
		if err := as.client.Create(ctx, object.DeepCopy(), controller.FieldOwner); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create %s %s: %s", object.GetKind(), object.GetName(), a.observer.clear(ctx, rec, err))
		}
	}
	return nil
}

// resume ends the suspension of a Job.
func (a *actor) resume(ctx context.Context, rec reconciliation, do operation.Resume) error {
	if err := a.patchJob(ctx, rec, do.Job, do.UID, `"suspend":false`); err != nil {
		return err
	}
	for i := range rec.jobs {
		if rec.jobs[i].Name == do.Job {
			a.resumed.record(&rec.jobs[i])
		}
	}
	return nil
}

// patchJob changes a field of a Job's spec. The UID guards against another Job of the name.
func (a *actor) patchJob(ctx context.Context, rec reconciliation, name, uid, field string) error {
	as, err := rec.identity(ctx)
	if err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"metadata":{"uid":%q},"spec":{%s}}`, uid, field)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: rec.namespace(), Name: name}}
	return a.observer.clearError(ctx, rec, as.client.Patch(ctx, job, client.RawPatch(types.MergePatchType, []byte(patch)), controller.FieldOwner))
}

// uidOf returns the UID of a Job that the Operation has made.
func (rec reconciliation) uidOf(job string) types.UID {
	for _, j := range rec.in.Jobs {
		if j.Name == job && j.Ours {
			return types.UID(j.UID)
		}
	}
	return ""
}

// stop deletes Jobs and their pods.
func (a *actor) stop(ctx context.Context, rec reconciliation, jobs []string) error {
	for _, name := range jobs {
		job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: rec.namespace(), Name: name}}
		if err := a.remove(ctx, rec, job, rec.uidOf(name)); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes an object and its dependents. The UID guards against another one of the name.
func (a *actor) remove(ctx context.Context, rec reconciliation, object client.Object, uid types.UID) error {
	as, err := rec.identity(ctx)
	if err != nil {
		return err
	}
	err = as.client.Delete(ctx, object, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	err = a.observer.clearError(ctx, rec, client.IgnoreNotFound(err))
	if rec.op.Status.Placement != nil {
		a.observer.undeleted.set(rec.op.UID, err)
	}
	return err
}

func (a *actor) expire(ctx context.Context, rec reconciliation, do operation.Expire) error {
	for _, name := range do.Jobs {
		err := a.patchJob(ctx, rec, name, string(rec.uidOf(name)), fmt.Sprintf(`"ttlSecondsAfterFinished":%d`, do.Seconds))
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

func (a *actor) removeCompanions(ctx context.Context, rec reconciliation, names []string) error {
	for i := range rec.companions {
		o := &rec.companions[i]
		if !slices.Contains(names, o.Kind+" "+o.Name) {
			continue
		}
		if err := a.remove(ctx, rec, o, o.UID); err != nil {
			return err
		}
	}
	return nil
}
