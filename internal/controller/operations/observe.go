// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/controller/lock"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/hookjob"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/operation"
	"github.com/pintle-dev/pintle/internal/release"
)

// observer reads what decisions about Operations depend on.
type observer struct {
	// client reads through the cache, live past it, both as the controller.
	client, live client.Reader
	hooks        hookReader
	values       valueReader
	identities   identities
	locks        *lock.Locks
	timeout      time.Duration
	clusterID    string
	now          func() time.Time
	// locked and resumed are the last writes of locks and of Jobs. A Job that looks suspended
	// in a stale cache would be taken for one that has not run.
	locked, resumed *writes
}

// hookReader reads hooks from Helm's storage.
type hookReader interface {
	Hooks(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, version int, recorded helmv2.Snapshots) (helm.Stored, error)
}

// valueReader reads which values of a HelmRelease are secret.
type valueReader interface {
	Secrets(ctx context.Context, hr *helmv2.HelmRelease) ([]string, error)
}

// identities returns the identity of a HelmRelease, or the controller's own for nil.
type identities interface {
	of(ctx context.Context, hr *helmv2.HelmRelease) (*identity, error)
}

// view is what one reconciliation has observed.
type view struct {
	op *opsv1alpha1.Operation
	in operation.Input
	// hr is the target; nil if it is not known. held are the HelmReleases whose annotation
	// names the Operation as the holder.
	hr   *helmv2.HelmRelease
	held []*helmv2.HelmRelease
	// as is the identity that reads and acts; nil until it is needed.
	as *identity

	jobs []batchv1.Job
	pods []corev1.Pod
	plan hookjob.Plan
	// clones are the objects that a plan needs and that do not exist.
	clones []*unstructured.Unstructured
	// secrets are values that must not be in messages.
	secrets    []string
	companions []metav1.PartialObjectMetadata
}

// observe reads what the decision can depend on. Each step decides whether the next is
// necessary.
func (o *observer) observe(ctx context.Context, op *opsv1alpha1.Operation) (*view, error) {
	v := &view{op: op, in: operation.Input{
		Object: operation.Object{
			UID: string(op.UID), Namespace: op.Namespace, Name: op.Name, Generation: op.Generation, Created: op.CreationTimestamp.Time,
			Deleted: !op.DeletionTimestamp.IsZero(), Finalizer: controllerutil.ContainsFinalizer(op, opsv1alpha1.Finalizer),
		},
		Spec: op.Spec, Recorded: op.Status, Timeout: o.timeout, Now: o.now(),
	}}
	if err := o.workloads(ctx, v); err != nil {
		return nil, err
	}
	if err := o.target(ctx, v); err != nil {
		return nil, err
	}
	if op.Status.Phase.Final() {
		return v, o.leftovers(ctx, v)
	}
	if err := o.recorded(ctx, v); err != nil {
		return nil, err
	}
	if err := o.prepare(ctx, v); err != nil {
		return nil, err
	}
	o.readLogs(ctx, v)
	return v, nil
}

// madeFor selects the objects that are made for an Operation.
func madeFor(op *opsv1alpha1.Operation) []client.ListOption {
	return []client.ListOption{client.InNamespace(op.Namespace), client.MatchingLabels{opsv1alpha1.LabelOperation: string(op.UID)}}
}

// workloads reads Jobs and Pods from the cache.
func (o *observer) workloads(ctx context.Context, v *view) error {
	var jobs batchv1.JobList
	if err := o.client.List(ctx, &jobs, madeFor(v.op)...); err != nil {
		return err
	}
	var pods corev1.PodList
	if err := o.client.List(ctx, &pods, madeFor(v.op)...); err != nil {
		return err
	}
	v.pods, v.jobs = pods.Items, jobs.Items
	for i := range v.jobs {
		if o.resumed.isStale(&v.jobs[i]) {
			return errStale
		}
		v.job(v.jobs[i])
	}
	v.in.LivePods = operation.LivePods(v.pods)
	if len(v.in.LivePods) > 0 || !withoutJob(v) {
		return nil
	}
	// The result that nothing runs is final, and no Job confirms it: read past the cache.
	if err := o.live.List(ctx, &pods, madeFor(v.op)...); err != nil {
		return err
	}
	v.in.LivePods = operation.LivePods(pods.Items)
	return nil
}

// withoutJob reports whether a Job was created and does not exist any more.
func withoutJob(v *view) bool {
	return running(v.op) != nil && !slices.ContainsFunc(v.in.Jobs, func(j operation.Job) bool { return j.Ours })
}

func (v *view) job(job batchv1.Job) {
	v.in.Jobs = append(v.in.Jobs, operation.JobOf(string(v.op.UID), job, v.pods))
}

// recorded reads the running Job past the cache if the cache does not contain it. The cache may
// be stale, or the label of the Job was removed.
func (o *observer) recorded(ctx context.Context, v *view) error {
	run := running(v.op)
	if run == nil || slices.ContainsFunc(v.in.Jobs, func(j operation.Job) bool { return j.UID == run.UID }) {
		return nil
	}
	return o.lookFor(ctx, v, run.Name)
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

// lookFor reads a Job that is not in the cache.
func (o *observer) lookFor(ctx context.Context, v *view, name string) error {
	if slices.ContainsFunc(v.in.Jobs, func(j operation.Job) bool { return j.Name == name }) {
		return nil
	}
	as, err := o.identity(ctx, v)
	if err != nil {
		return err
	}
	var job batchv1.Job
	if err := as.client.Get(ctx, client.ObjectKey{Namespace: v.op.Namespace, Name: name}, &job); err != nil {
		return client.IgnoreNotFound(err)
	}
	v.job(job)
	return nil
}

// identity returns the identity that acts: that of the target, or of a HelmRelease that is held
// if the target is gone, or the controller's own if there is none. The controller does no more
// than the garbage collector would: it stops and deletes what the Operation owns.
func (o *observer) identity(ctx context.Context, v *view) (*identity, error) {
	if v.as != nil {
		return v.as, nil
	}
	hr := v.hr
	if hr == nil && len(v.held) > 0 {
		hr = v.held[0]
	}
	var err error
	v.as, err = o.identities.of(ctx, hr)
	return v.as, err
}

// prepare plans the next hook. A failure is an obstacle, not an error: status names it, and the
// Operation waits until its timeout. Only a stale cache is an error.
func (o *observer) prepare(ctx context.Context, v *view) error {
	if !operation.NeedsPlan(v.in) {
		if run := running(v.op); v.hr != nil && run != nil && run.StartedAt == nil {
			o.pending(ctx, v)
		}
		return nil
	}
	if v.in.Target.Refused != nil {
		return nil
	}
	err := o.makePlan(ctx, v)
	if err == nil && operation.NeedsDryRun(v.in) {
		err = o.dryRun(ctx, v)
	}
	if errors.Is(err, errStale) {
		return err
	}
	if err != nil {
		v.in.Obstacle = obstacle(err)
	}
	return nil
}

// obstacle returns the obstacle for an error.
func obstacle(err error) *operation.Problem {
	if apierrors.IsForbidden(err) {
		return &operation.Problem{Reason: opsv1alpha1.ReasonAccessDenied, Message: err.Error()}
	}
	return &operation.Problem{Reason: opsv1alpha1.ReasonStorageError, Message: err.Error()}
}

// pending reads whether Helm runs outside of this controller, for the last time before the Job
// runs. An unreadable record counts as pending.
func (o *observer) pending(ctx context.Context, v *view) {
	stored, err := o.stored(ctx, v, -1)
	v.in.Target.Pending = stored.Pending
	if err != nil {
		v.in.Target.Pending = "the record of the release cannot be read: " + err.Error()
	}
}

// stored reads the record of the release with the impersonated identity.
func (o *observer) stored(ctx context.Context, v *view, revision int) (helm.Stored, error) {
	as, err := o.identity(ctx, v)
	if err != nil {
		return helm.Stored{}, err
	}
	want := release.Target{Name: inputs.ReleaseName(v.hr), Namespace: v.hr.GetReleaseNamespace(), StorageNamespace: v.hr.GetStorageNamespace()}
	return o.hooks.Hooks(ctx, as.getter, release.StoredTarget(release.Desired{Target: want}, v.hr.Status), revision, v.hr.Status.History)
}

func (o *observer) makePlan(ctx context.Context, v *view) error {
	stored, err := o.stored(ctx, v, operation.Revision(v.in))
	if err != nil {
		return err
	}
	v.in.Target.Pending, v.secrets = stored.Pending, stored.Secrets
	if ok, err := o.verify(ctx, v, &stored); !ok || err != nil {
		return err
	}
	in := hookjob.Input{
		Operation: hookjob.Operation{Namespace: v.op.Namespace, Name: v.op.Name, UID: string(v.op.UID)},
		Release:   stored.Release, Timeout: o.timeout, ClusterID: o.clusterID,
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
	return o.check(ctx, v, plan)
}

// check reads which objects of a plan exist.
func (o *observer) check(ctx context.Context, v *view, plan hookjob.Plan) error {
	for _, s := range plan.Steps {
		if err := o.lookFor(ctx, v, s.Job.GetName()); err != nil {
			return err
		}
	}
	present, err := o.present(ctx, v, plan.Needs)
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

// present returns the needs that exist and are not being deleted.
func (o *observer) present(ctx context.Context, v *view, needs []hookjob.Need) ([]hookjob.Reference, error) {
	var all []hookjob.Reference
	for _, n := range needs {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(schema.FromAPIVersionAndKind(n.APIVersion, n.Kind))
		err := v.as.client.Get(ctx, client.ObjectKey{Namespace: v.op.Namespace, Name: n.Name}, object)
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

// dryRun sends the objects that are created next as a dry run.
func (o *observer) dryRun(ctx context.Context, v *view) error {
	step := 0
	if v.op.Status.Outputs != nil {
		step = len(v.op.Status.Outputs.Jobs)
	}
	for _, object := range append(slices.Clone(v.clones), v.plan.Steps[step].Job) {
		err := v.as.client.Create(ctx, object.DeepCopy(), client.DryRunAll, controller.FieldOwner)
		switch {
		case err == nil, apierrors.IsAlreadyExists(err):
		case !answered(err):
			return err
		default:
			why := o.clear(ctx, v, err)
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

// answered reports whether an error is an answer of the API server or of an admission webhook.
// Webhooks need not give a reason.
func answered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

// leftovers lists the objects that were created beside Jobs. The controller itself lists their
// metadata: the impersonated identity need not have the right to list.
func (o *observer) leftovers(ctx context.Context, v *view) error {
	for _, kind := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("ServiceAccount"), rbacv1.SchemeGroupVersion.WithKind("Role"),
		rbacv1.SchemeGroupVersion.WithKind("RoleBinding"), corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		corev1.SchemeGroupVersion.WithKind("Secret"),
	} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		if err := o.live.List(ctx, list, madeFor(v.op)...); err != nil {
			return err
		}
		for _, o := range list.Items {
			// A label alone does not prove that the Operation made the object.
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
