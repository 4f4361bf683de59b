// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"context"
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/hookjob"
	"github.com/pintle-dev/pintle/internal/operation"
	"github.com/pintle-dev/pintle/internal/policy"
)

// observe reads the state that the decision can depend on. Each step decides whether the next is
// necessary. Nothing is read if the Operation is over.
func (o *observer) observe(ctx context.Context, op *opsv1alpha1.Operation, over bool) (reconciliation, error) {
	rec := reconciliation{op: op, in: operation.Input{
		Object: operation.Object{
			UID: string(op.UID), Namespace: op.Namespace, Name: op.Name, Generation: op.Generation, Created: op.CreationTimestamp.Time,
			Deleted: !op.DeletionTimestamp.IsZero(), Finalizer: controllerutil.ContainsFinalizer(op, opsv1alpha1.Finalizer),
		},
		Spec: op.Spec, Recorded: op.Status, Timeout: o.timeout, CleanupTimeout: o.cleanupTimeout, Now: o.now(),
	}}
	if over {
		return rec, nil
	}
	if rec.in.Object.Deleted {
		rec.in.Object.DeletedAt = op.DeletionTimestamp.Time
	}
	rec, err := o.target(ctx, rec)
	if err != nil {
		return rec, err
	}
	rec.identity = o.identity(rec)
	if op.Status.Placement == nil {
		rec, err = o.workloads(ctx, rec)
	} else {
		rec, err = o.elsewhere(ctx, rec)
	}
	if err != nil || rec.in.Elsewhere.Unread != nil {
		return rec, err
	}
	switch {
	case op.Status.Phase.Final() && op.Status.Placement != nil:
		return o.placedObjects(ctx, rec)
	case op.Status.Phase.Final():
		return o.leftovers(ctx, rec)
	}
	if rec, err = o.readRunningJob(ctx, rec); err != nil {
		return rec, err
	}
	if rec, err = o.prepare(ctx, rec); err != nil {
		return rec, err
	}
	return o.withLogs(ctx, rec), nil
}

// madeFor selects the objects that are made for an Operation.
func madeFor(op *opsv1alpha1.Operation) []client.ListOption {
	return []client.ListOption{client.InNamespace(op.Namespace), client.MatchingLabels{opsv1alpha1.LabelOperation: string(op.UID)}}
}

// workloads reads Jobs and Pods from the cache, and Pods past the cache if it lacks the Pod of a
// final result.
func (o *observer) workloads(ctx context.Context, rec reconciliation) (reconciliation, error) {
	var jobs batchv1.JobList
	if err := o.client.List(ctx, &jobs, madeFor(rec.op)...); err != nil {
		return rec, err
	}
	var pods corev1.PodList
	if err := o.client.List(ctx, &pods, madeFor(rec.op)...); err != nil {
		return rec, err
	}
	rec.pods, rec.jobs = pods.Items, jobs.Items
	if endedWithoutPod(rec) {
		// The result is final, and the watch event of the Pod may arrive after the event of its
		// Job: read past the cache.
		if err := o.live.List(ctx, &pods, madeFor(rec.op)...); err != nil {
			return rec, err
		}
		rec.pods = pods.Items
	}
	for i := range rec.jobs {
		if o.resumed.isStale(&rec.jobs[i]) {
			return rec, errStale
		}
		rec = rec.withJob(rec.jobs[i])
	}
	rec.in.LivePods = operation.LivePods(rec.pods)
	if len(rec.in.LivePods) > 0 || !withoutJob(rec) {
		return rec, nil
	}
	// The result that nothing runs is final, and no Job confirms it: read past the cache.
	if err := o.live.List(ctx, &pods, madeFor(rec.op)...); err != nil {
		return rec, err
	}
	rec.in.LivePods = operation.LivePods(pods.Items)
	return rec, nil
}

// readRunningJob reads the running Job past the cache if the cache does not contain it. The cache
// may be stale, or the label of the Job was removed.
func (o *observer) readRunningJob(ctx context.Context, rec reconciliation) (reconciliation, error) {
	run := running(rec.op)
	if run == nil || slices.ContainsFunc(rec.in.Jobs, func(j operation.Job) bool { return j.UID == run.UID }) {
		return rec, nil
	}
	return o.lookFor(ctx, rec, run.Name)
}

// lookFor reads a Job that is not in the cache.
func (o *observer) lookFor(ctx context.Context, rec reconciliation, name string) (reconciliation, error) {
	if slices.ContainsFunc(rec.in.Jobs, func(j operation.Job) bool { return j.Name == name }) {
		return rec, nil
	}
	as, err := rec.identity(ctx)
	if err != nil {
		return rec, err
	}
	var job batchv1.Job
	if err := as.client.Get(ctx, client.ObjectKey{Namespace: rec.namespace(), Name: name}, &job); err != nil {
		return rec, client.IgnoreNotFound(err)
	}
	return rec.withJob(job), nil
}

// prepare plans the next hook. A failure is an obstacle, not an error: status names it, and the
// Operation waits until its timeout. Only a stale cache is an error.
func (o *observer) prepare(ctx context.Context, rec reconciliation) (reconciliation, error) {
	if !operation.NeedsPlan(rec.in) {
		if run := running(rec.op); rec.hr != nil && run != nil && run.StartedAt == nil {
			rec.in.Target.Pending = o.pending(ctx, rec)
		}
		return rec, nil
	}
	rec, err := o.makePlan(ctx, rec)
	if err == nil && operation.NeedsDryRun(rec.in) {
		rec.in.Plan.DryRun, err = o.dryRun(ctx, rec)
	}
	if errors.Is(err, errStale) {
		return rec, err
	}
	if err != nil {
		rec.in.Obstacle = obstacle(err)
	}
	return rec, nil
}

// obstacle returns the obstacle for an error.
func obstacle(err error) *operation.Problem {
	var unreachable *cluster.Unreachable
	switch {
	case apierrors.IsForbidden(err):
		return &operation.Problem{Reason: opsv1alpha1.ReasonAccessDenied, Message: err.Error()}
	case errors.As(err, &unreachable):
		return &operation.Problem{Reason: opsv1alpha1.ReasonClusterUnreachable, Message: err.Error()}
	}
	return &operation.Problem{Reason: opsv1alpha1.ReasonStorageError, Message: err.Error()}
}

// pending returns whether Helm runs outside of this controller, for the last time before the Job
// runs. An unreadable record counts as pending.
func (o *observer) pending(ctx context.Context, rec reconciliation) string {
	stored, err := o.readRecord(ctx, rec, -1)
	if err != nil {
		return "the record of the release cannot be read: " + err.Error()
	}
	return stored.Pending
}

// makePlan returns rec with the plan of the next hook, or with the problem that prevents one.
func (o *observer) makePlan(ctx context.Context, rec reconciliation) (reconciliation, error) {
	stored, err := o.readRecord(ctx, rec, operation.Revision(rec.in))
	if err != nil {
		return rec, err
	}
	rec.in.Target.Pending, rec.secrets = stored.Pending, stored.Secrets
	if rec.op.Spec.Parameters.IsNext() {
		return o.makeNextPlan(ctx, rec, stored)
	}
	v, err := o.verify(ctx, rec, stored)
	if !v.ok || err != nil {
		rec.in.Obstacle, rec.in.Plan.Refused = v.obstacle, v.refused
		return rec, err
	}
	return o.plan(ctx, rec, v.release)
}

// plan returns rec with the plan of the next hook of a release.
func (o *observer) plan(ctx context.Context, rec reconciliation, from *hookjob.Release) (reconciliation, error) {
	in := hookjob.Input{
		Operation: hookjob.Operation{Namespace: rec.op.Namespace, Name: rec.op.Name, UID: string(rec.op.UID)},
		Release:   from, Timeout: o.timeout, ClusterID: o.clusterID, OtherCluster: rec.hr.Spec.KubeConfig != nil,
	}
	if p := rec.op.Spec.Parameters; p != nil {
		in.Parameters = *p
	}
	plan, err := hookjob.Make(in)
	var refusal *hookjob.Rejection
	if errors.As(err, &refusal) {
		rec.in.Plan.Refused, rec.in.Plan.Hooks = &operation.Problem{Reason: refusal.Reason, Message: refusal.Message}, refusal.Hooks
		return rec, nil
	}
	if err != nil {
		return rec, err
	}
	if rec.in.Plan.Refused, rec.in.Obstacle = o.refused(ctx, rec, plan); rec.in.Plan.Refused != nil || rec.in.Obstacle != nil {
		return rec, nil
	}
	return o.check(ctx, rec, plan)
}

// refused returns why policies do not allow the hooks of a plan, or why the policies are not known.
func (o *observer) refused(ctx context.Context, rec reconciliation, plan hookjob.Plan) (refused, obstacle *operation.Problem) {
	demands := o.policies(ctx, rec.hr)
	var hooks []policy.Hook
	for _, s := range plan.Steps {
		hooks = append(hooks, policy.Hook{Name: s.Hook, Events: s.Events})
	}
	if why := demands.RefuseHooks(hooks); why != "" {
		return &operation.Problem{Reason: opsv1alpha1.ReasonPolicyRefused, Message: why}, nil
	}
	if demands.Unavailable != "" {
		return nil, &operation.Problem{Reason: opsv1alpha1.ReasonPolicyUnavailable, Message: "the policies of the release are not known: " + demands.Unavailable}
	}
	return nil, nil
}

// check returns rec with a plan and with which of its objects exist.
func (o *observer) check(ctx context.Context, rec reconciliation, plan hookjob.Plan) (reconciliation, error) {
	rec.plan = plan
	for _, s := range plan.Steps {
		var err error
		if rec, err = o.lookFor(ctx, rec, s.Job.GetName()); err != nil {
			return rec, err
		}
	}
	present, err := o.present(ctx, rec, plan.Needs)
	if err != nil {
		return rec, err
	}
	rec.in.Plan = operation.Plan{Made: true, Release: plan.Release, Approver: o.policies(ctx, rec.hr).OperationApprover()}
	for _, s := range plan.Steps {
		rec.in.Plan.Steps = append(rec.in.Plan.Steps, operation.Step{Hook: s.Hook, Job: s.Job.GetName(), Digest: s.Digest})
	}
	clones, missing := plan.Missing(present)
	rec.clones = clones
	rec.in.Plan.Placement = placementOf(rec.op.Namespace, plan.Release.Namespace, rec.hr, clones)
	for _, m := range missing {
		rec.in.Plan.Missing = append(rec.in.Plan.Missing, m.String())
	}
	return rec, nil
}

// present returns the needs that exist and are not being deleted.
func (o *observer) present(ctx context.Context, rec reconciliation, needs []hookjob.Need) ([]hookjob.Reference, error) {
	as, err := rec.identity(ctx)
	if err != nil {
		return nil, err
	}
	var all []hookjob.Reference
	for _, n := range needs {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(schema.FromAPIVersionAndKind(n.APIVersion, n.Kind))
		err := as.client.Get(ctx, client.ObjectKey{Namespace: rec.namespace(), Name: n.Name}, object)
		switch {
		case apierrors.IsNotFound(err), apimeta.IsNoMatchError(err):
		case err != nil:
			return nil, err
		case object.DeletionTimestamp.IsZero():
			all = append(all, n.Reference)
		}
	}
	return all, nil
}

// dryRun sends the objects that are created next as a dry run, and returns why one is rejected.
func (o *observer) dryRun(ctx context.Context, rec reconciliation) (*operation.Problem, error) {
	as, err := rec.identity(ctx)
	if err != nil {
		return nil, err
	}
	step := 0
	if rec.op.Status.Outputs != nil {
		step = len(rec.op.Status.Outputs.Jobs)
	}
	for _, object := range append(slices.Clone(rec.clones), rec.plan.Steps[step].Job) {
		err := as.client.Create(ctx, object.DeepCopy(), client.DryRunAll, controller.FieldOwner)
		switch {
		case err == nil, apierrors.IsAlreadyExists(err):
		case !answered(err):
			return nil, err
		default:
			why := o.clear(ctx, rec, err)
			if object.GetKind() == "Secret" {
				why = string(apierrors.ReasonForError(err))
			}
			return &operation.Problem{
				Reason:  opsv1alpha1.ReasonJobRefused,
				Message: fmt.Sprintf("%s %s would not be taken: %s", object.GetKind(), object.GetName(), why),
			}, nil
		}
	}
	return nil, nil //nolint:nilnil // no problem
}

// answered reports whether an error is an answer of the API server or of an admission webhook.
// Webhooks need not give a reason.
func answered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

// leftovers returns rec with the objects that were created beside Jobs. The controller itself lists
// their metadata: the impersonated identity need not have the right to list.
func (o *observer) leftovers(ctx context.Context, rec reconciliation) (reconciliation, error) {
	for _, kind := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("ServiceAccount"), rbacv1.SchemeGroupVersion.WithKind("Role"),
		rbacv1.SchemeGroupVersion.WithKind("RoleBinding"), corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		corev1.SchemeGroupVersion.WithKind("Secret"),
	} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		if err := o.live.List(ctx, list, madeFor(rec.op)...); err != nil {
			return rec, err
		}
		for _, o := range list.Items {
			// A label alone does not prove that the Operation made the object.
			if owner := metav1.GetControllerOfNoCopy(&o); owner == nil || owner.UID != rec.op.UID || !o.DeletionTimestamp.IsZero() {
				continue
			}
			o.SetGroupVersionKind(kind)
			rec.companions = append(rec.companions, o)
			rec.in.Companions = append(rec.in.Companions, kind.Kind+" "+o.Name)
		}
	}
	return rec, nil
}
