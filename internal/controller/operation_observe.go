// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/hookjob"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/operation"
	"github.com/pintle-dev/pintle/internal/release"
)

// view is what one visit saw.
type view struct {
	op *opsv1alpha1.Operation
	in operation.Input
	// hr is the target; nil if it is not known. held are the HelmReleases that name the
	// Operation as their holder.
	hr   *helmv2.HelmRelease
	held []*helmv2.HelmRelease
	// who acts; nil until it is needed.
	who *deputy

	jobs []batchv1.Job
	pods []corev1.Pod
	plan hookjob.Plan
	// clones are what a plan needs and is not there.
	clones []*unstructured.Unstructured
	// secrets are values that must not be told.
	secrets    []string
	companions []metav1.PartialObjectMetadata
}

// observe finds out what a decision can depend on, in the order in which one thing
// tells whether the next matters.
func (r *OperationReconciler) observe(ctx context.Context, op *opsv1alpha1.Operation) (*view, error) {
	v := &view{op: op, in: operation.Input{
		Object: operation.Object{
			UID: string(op.UID), Namespace: op.Namespace, Name: op.Name, Generation: op.Generation, Created: op.CreationTimestamp.Time,
			Deleted: !op.DeletionTimestamp.IsZero(), Finalizer: controllerutil.ContainsFinalizer(op, opsv1alpha1.Finalizer),
		},
		Spec: op.Spec, Recorded: op.Status, Timeout: r.timeout, Now: r.now(),
	}}
	if err := r.workloads(ctx, v); err != nil {
		return nil, err
	}
	if err := r.target(ctx, v); err != nil {
		return nil, err
	}
	if op.Status.Phase.Final() {
		return v, r.leftovers(ctx, v)
	}
	if err := r.recorded(ctx, v); err != nil {
		return nil, err
	}
	if err := r.prepare(ctx, v); err != nil {
		return nil, err
	}
	r.listen(ctx, v)
	return v, nil
}

// mine selects what is made for an Operation.
func mine(op *opsv1alpha1.Operation) []client.ListOption {
	return []client.ListOption{client.InNamespace(op.Namespace), client.MatchingLabels{opsv1alpha1.LabelOperation: string(op.UID)}}
}

// workloads reads Jobs and pods, which the cache has.
func (r *OperationReconciler) workloads(ctx context.Context, v *view) error {
	var jobs batchv1.JobList
	if err := r.client.List(ctx, &jobs, mine(v.op)...); err != nil {
		return err
	}
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, mine(v.op)...); err != nil {
		return err
	}
	v.pods, v.jobs = pods.Items, jobs.Items
	for i := range v.jobs {
		if r.resumed.outdated(&v.jobs[i]) {
			return errStale
		}
		v.job(v.jobs[i])
	}
	v.in.LivePods = operation.LivePods(v.pods)
	if len(v.in.LivePods) > 0 || !r.abandoned(v) {
		return nil
	}
	// That nothing runs is about to be said for good, with no Job to tell it.
	if err := r.live.List(ctx, &pods, mine(v.op)...); err != nil {
		return err
	}
	v.in.LivePods = operation.LivePods(pods.Items)
	return nil
}

// abandoned reports whether a Job was made, and there is none of ours any more.
func (r *OperationReconciler) abandoned(v *view) bool {
	return running(v.op) != nil && !slices.ContainsFunc(v.in.Jobs, func(j operation.Job) bool { return j.Ours })
}

func (v *view) job(job batchv1.Job) {
	v.in.Jobs = append(v.in.Jobs, operation.JobOf(string(v.op.UID), job, v.pods))
}

// recorded looks for the Job that runs where the cache does not have it, which may
// be behind, or somebody may have taken the label off.
func (r *OperationReconciler) recorded(ctx context.Context, v *view) error {
	run := running(v.op)
	if run == nil || slices.ContainsFunc(v.in.Jobs, func(j operation.Job) bool { return j.UID == run.UID }) {
		return nil
	}
	return r.lookFor(ctx, v, run.Name)
}

// running returns the Job whose end is not recorded; nil if there is none.
func running(op *opsv1alpha1.Operation) *opsv1alpha1.JobResult {
	if op.Status.Outputs == nil || len(op.Status.Outputs.Jobs) == 0 {
		return nil
	}
	last := &op.Status.Outputs.Jobs[len(op.Status.Outputs.Jobs)-1]
	if last.Phase.Final() {
		return nil
	}
	return last
}

// lookFor reads a Job that the cache does not have.
func (r *OperationReconciler) lookFor(ctx context.Context, v *view, name string) error {
	if slices.ContainsFunc(v.in.Jobs, func(j operation.Job) bool { return j.Name == name }) {
		return nil
	}
	who, err := r.deputy(ctx, v)
	if err != nil {
		return err
	}
	var job batchv1.Job
	if err := who.client.Get(ctx, client.ObjectKey{Namespace: v.op.Namespace, Name: name}, &job); err != nil {
		return client.IgnoreNotFound(err)
	}
	v.job(job)
	return nil
}

// deputy returns who acts: the identity of the target, or of what is held if the
// target is gone, or, if there is nobody left, the controller. That one does no
// more than the garbage collector would: it stops, and deletes what the Operation
// owns.
func (r *OperationReconciler) deputy(ctx context.Context, v *view) (*deputy, error) {
	if v.who != nil {
		return v.who, nil
	}
	hr := v.hr
	if hr == nil && len(v.held) > 0 {
		hr = v.held[0]
	}
	var err error
	v.who, err = r.delegates.as(ctx, hr)
	return v.who, err
}

// prepare finds out what it takes to run the next hook. What keeps it from that is
// an obstacle, not an error: the Operation says so, and waits for as long as it may. Only a
// cache that is outdated is an error.
func (r *OperationReconciler) prepare(ctx context.Context, v *view) error {
	if !operation.NeedsPlan(v.in) {
		if run := running(v.op); v.hr != nil && run != nil && run.StartedAt == nil {
			r.pending(ctx, v)
		}
		return nil
	}
	if v.in.Target.Refused != nil {
		return nil
	}
	err := r.makePlan(ctx, v)
	if err == nil && operation.NeedsDryRun(v.in) {
		err = r.dryRun(ctx, v)
	}
	if errors.Is(err, errStale) {
		return err
	}
	if err != nil {
		v.in.Obstacle = obstacle(err)
	}
	return nil
}

// obstacle says what an error keeps from being known.
func obstacle(err error) *operation.Problem {
	if apierrors.IsForbidden(err) {
		return &operation.Problem{Reason: opsv1alpha1.ReasonAccessDenied, Message: err.Error()}
	}
	return &operation.Problem{Reason: opsv1alpha1.ReasonStorageError, Message: err.Error()}
}

// pending asks whether somebody runs Helm by hand, for the last time before the
// Job runs. If nobody knows, somebody may.
func (r *OperationReconciler) pending(ctx context.Context, v *view) {
	stored, err := r.stored(ctx, v, -1)
	v.in.Target.Pending = stored.Pending
	if err != nil {
		v.in.Target.Pending = "the record of the release cannot be read: " + err.Error()
	}
}

// stored reads the record of the release as the one who may.
func (r *OperationReconciler) stored(ctx context.Context, v *view, revision int) (helm.Stored, error) {
	who, err := r.deputy(ctx, v)
	if err != nil {
		return helm.Stored{}, err
	}
	want := release.Target{Name: inputs.ReleaseName(v.hr), Namespace: v.hr.GetReleaseNamespace(), StorageNamespace: v.hr.GetStorageNamespace()}
	return r.hooks.Hooks(ctx, who.getter, release.StoredTarget(release.Desired{Target: want}, v.hr.Status), revision, v.hr.Status.History)
}

func (r *OperationReconciler) makePlan(ctx context.Context, v *view) error {
	stored, err := r.stored(ctx, v, operation.Revision(v.in))
	if err != nil {
		return err
	}
	v.in.Target.Pending, v.secrets = stored.Pending, stored.Secrets
	if ok, err := r.verify(ctx, v, &stored); !ok || err != nil {
		return err
	}
	in := hookjob.Input{
		Operation: hookjob.Operation{Namespace: v.op.Namespace, Name: v.op.Name, UID: string(v.op.UID)},
		Release:   stored.Release, Timeout: r.timeout, ClusterID: r.clusterID,
	}
	if p := v.op.Spec.Parameters; p != nil {
		in.Parameters = *p
	}
	plan, err := hookjob.Make(in)
	var refusal *hookjob.Rejection
	if errors.As(err, &refusal) {
		v.in.Plan.Refused, v.in.Plan.Hooks = &operation.Problem{Reason: refusal.Reason, Message: refusal.Message}, refusal.Hooks
		return nil
	}
	if err != nil {
		return err
	}
	return r.check(ctx, v, plan)
}

// check finds out what of a plan is there already.
func (r *OperationReconciler) check(ctx context.Context, v *view, plan hookjob.Plan) error {
	for _, s := range plan.Steps {
		if err := r.lookFor(ctx, v, s.Job.GetName()); err != nil {
			return err
		}
	}
	present, err := r.present(ctx, v, plan.Needs)
	if err != nil {
		return err
	}
	v.plan = plan
	v.in.Plan = operation.Plan{Made: true, Release: plan.Release}
	for _, s := range plan.Steps {
		v.in.Plan.Steps = append(v.in.Plan.Steps, operation.Step{Hook: s.Hook, Job: s.Job.GetName(), Digest: s.Digest})
	}
	clones, missing := plan.Missing(present)
	v.clones = clones
	for _, m := range missing {
		v.in.Plan.Missing = append(v.in.Plan.Missing, m.String())
	}
	return nil
}

// present returns what of some needs is there. What is being deleted is not.
func (r *OperationReconciler) present(ctx context.Context, v *view, needs []hookjob.Need) ([]hookjob.Reference, error) {
	var all []hookjob.Reference
	for _, n := range needs {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(schema.FromAPIVersionAndKind(n.APIVersion, n.Kind))
		err := v.who.client.Get(ctx, client.ObjectKey{Namespace: v.op.Namespace, Name: n.Name}, object)
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

// dryRun asks the API server whether it would take what is to be created next.
func (r *OperationReconciler) dryRun(ctx context.Context, v *view) error {
	step := 0
	if v.op.Status.Outputs != nil {
		step = len(v.op.Status.Outputs.Jobs)
	}
	for _, object := range append(slices.Clone(v.clones), v.plan.Steps[step].Job) {
		err := v.who.client.Create(ctx, object.DeepCopy(), client.DryRunAll, fieldOwner)
		switch {
		case err == nil, apierrors.IsAlreadyExists(err):
		case !answered(err):
			return err
		default:
			why := r.clear(ctx, v, err)
			if object.GetKind() == "Secret" {
				why = string(apierrors.ReasonForError(err))
			}
			v.in.Plan.DryRun = &operation.Problem{Reason: opsv1alpha1.ReasonJobRefused,
				Message: fmt.Sprintf("%s %s would not be taken: %s", object.GetKind(), object.GetName(), why)}
			return nil
		}
	}
	return nil
}

// answered reports whether an error is what the API server says, or who admits objects
// for it, who need not give a reason.
func answered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

// leftovers finds what was created beside Jobs. It is metadata that the controller
// lists: a release's identity need not be able to list anything.
func (r *OperationReconciler) leftovers(ctx context.Context, v *view) error {
	for _, kind := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("ServiceAccount"), rbacv1.SchemeGroupVersion.WithKind("Role"),
		rbacv1.SchemeGroupVersion.WithKind("RoleBinding"), corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		corev1.SchemeGroupVersion.WithKind("Secret"),
	} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		if err := r.live.List(ctx, list, mine(v.op)...); err != nil {
			return err
		}
		for _, o := range list.Items {
			// Anybody can put a label on something.
			if owner := metav1.GetControllerOfNoCopy(&o); owner == nil || owner.UID != v.op.UID || !o.DeletionTimestamp.IsZero() {
				continue
			}
			o.SetGroupVersionKind(kind)
			v.companions = append(v.companions, o)
			v.in.Companions = append(v.in.Companions, kind.Kind+" "+o.Name)
		}
	}
	return nil
}
