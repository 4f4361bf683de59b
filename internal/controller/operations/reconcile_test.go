// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/diagnosis/evidence"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/hookjob"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/watch"
	"github.com/pintle-dev/pintle/test/controllertest"
)

const hookText = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate, annotations: {helm.sh/hook: pre-upgrade}}\n" +
	"spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: a, envFrom: [{secretRef: {name: live, optional: true}}]}]}}}\n"

// bench is an Operation, its release, and the stubs of its reconciler.
type bench struct {
	t *testing.T
	r *Reconciler
	c client.Client
	// did are the writes in their order.
	did []string
	// refuse, if set, returns the answer to a write.
	refuse func(did string) error
	stored helm.Stored
	// planned is the digest of the plan in the Secret.
	planned string
	unread  error
	values  []string
	log     string
	// read, if set, answers for every container instead of log.
	read     func(options *corev1.PodLogOptions) (string, error)
	enqueued []types.NamespacedName
	demands  policy.Demands
	// noAccount is true if the ServiceAccount of the release does not exist.
	noAccount bool
	watched   []watch.Target
	// unreachable, if set, is the error of every identity.
	unreachable error
	now         time.Time
	// asController is true if anything was read or done as the controller.
	asController bool
	// denyList, if set, is the answer to lists of Jobs in the namespace far.
	denyList error
}

func (b *bench) Hooks(context.Context, genericclioptions.RESTClientGetter, release.Target, int, helmv2.Snapshots) (helm.Stored, error) {
	return b.stored, b.unread
}

// NextHooks returns the hooks of the plan p1.
func (b *bench) NextHooks(_ context.Context, _ genericclioptions.RESTClientGetter, _ release.Target, digest string) (helm.Stored, error) {
	if digest != b.planned {
		return helm.Stored{}, release.ErrPlanVoid
	}
	next := *b.stored.Release
	next.Revision, next.Next = 0, true
	return helm.Stored{Release: &next}, nil
}

func (b *bench) Secrets(context.Context, *helmv2.HelmRelease) ([]string, error) { return b.values, nil }

func (b *bench) of(_ context.Context, hr *helmv2.HelmRelease) (*identity, error) {
	if hr == nil {
		b.did = append(b.did, "as the controller")
		b.asController = true
	}
	if b.unreachable != nil {
		return nil, b.unreachable
	}
	return &identity{client: b.c, logs: func(_ context.Context, _, _ string, options *corev1.PodLogOptions) (io.ReadCloser, error) {
		if b.read != nil {
			text, err := b.read(options)
			return io.NopCloser(strings.NewReader(text)), err
		}
		return io.NopCloser(strings.NewReader(b.log)), nil
	}}, nil
}

func (b *bench) missing(context.Context, *helmv2.HelmRelease) (bool, error) { return b.noAccount, nil }

// WatchObjects and Forget record which Jobs elsewhere are watched.
func (b *bench) WatchObjects(_ types.NamespacedName, _ watch.Cluster, objects []watch.Target) {
	b.watched = objects
}

func (b *bench) Forget(types.NamespacedName) { b.watched = nil }

func (b *bench) write(what string, object client.Object) error {
	did := what + " " + strings.TrimPrefix(strings.TrimPrefix(object.GetObjectKind().GroupVersionKind().Kind, "*"), ".") + object.GetName()
	b.did = append(b.did, did)
	if b.refuse != nil {
		return b.refuse(did)
	}
	return nil
}

func newBench(t *testing.T, objects ...client.Object) *bench {
	t.Helper()
	made := release.Revision{Name: "web", Namespace: "apps", Version: 1, Status: helmv2.StatusDeployed, Digest: "sha256:1"}
	b := &bench{t: t, now: benchNow(), stored: helm.Stored{Revision: made, Labelled: made, Release: &hookjob.Release{
		Name: "web", Namespace: "apps", Revision: 1,
		Hooks: []hookjob.Hook{{Name: "migrate", Kind: "Job", Events: []string{"pre-upgrade"}, Manifest: hookText}},
	}}}
	b.c = controllertest.NewClient().WithStatusSubresource(&opsv1alpha1.Operation{}).
		WithObjects(append(objects,
			&helmv2.HelmRelease{
				ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", UID: "hr-1"},
				Status: helmv2.HelmReleaseStatus{History: helmv2.Snapshots{{
					APIVersion: release.SnapshotScheme, Name: "web", Namespace: "apps", Version: 1, Digest: "sha256:1",
				}}},
			},
			&opsv1alpha1.Operation{
				ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "op", UID: "op-1", CreationTimestamp: metav1.NewTime(benchNow())},
				Spec: opsv1alpha1.OperationSpec{
					TargetRef: opsv1alpha1.TargetReference{APIVersion: helmv2.GroupVersion.String(), Kind: helmv2.HelmReleaseKind, Name: "web"},
					Type:      opsv1alpha1.TypeMigration, Engine: opsv1alpha1.EngineHelmHookJob, Parameters: &opsv1alpha1.Parameters{HookName: "migrate"},
				},
			})...).
		WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				all := (&client.ListOptions{}).ApplyOptions(options)
				if _, jobs := list.(*batchv1.JobList); jobs && all.Namespace == far && b.denyList != nil {
					return b.denyList
				}
				return c.List(ctx, list, options...)
			},
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
				if all := (&client.CreateOptions{}).ApplyOptions(options); len(all.DryRun) > 0 {
					return b.write("try", o)
				}
				if err := b.write("create", o); err != nil {
					return err
				}
				if job := o.GetName(); o.GetUID() == "" {
					o.SetUID(types.UID("uid-of-" + job))
				}
				return c.Create(ctx, o, options...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, options ...client.PatchOption) error {
				if err := b.write("patch", o); err != nil {
					return err
				}
				return c.Patch(ctx, o, p, options...)
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
				all := (&client.DeleteOptions{}).ApplyOptions(options)
				if all.PropagationPolicy == nil || *all.PropagationPolicy != metav1.DeletePropagationBackground || all.Preconditions == nil || all.Preconditions.UID == nil {
					t.Errorf("%s is deleted with %+v", o.GetName(), all)
				}
				if err := b.write("delete", o); err != nil {
					return err
				}
				return c.Delete(ctx, o, options...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, _ string, o client.Object, p client.Patch, options ...client.SubResourcePatchOption) error {
				if err := b.write("status", o); err != nil {
					return err
				}
				return c.Status().Patch(ctx, o, p, options...)
			},
		}).Build()
	m, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	locks := controller.NewLocks(b.c, b.c)
	locks.UseCache()
	b.r = newReconciler(
		parts{client: b.c, live: b.c, identities: b, hooks: b, values: b, releases: b, watches: b},
		controller.Options{Metrics: m, OperationTimeout: time.Hour, OperationCleanupTimeout: time.Hour, Now: func() time.Time { return b.now }},
		controller.Shared{Events: make(controllertest.Events, 100), Locks: locks},
	)
	return b
}

// Enqueue and Demands implement Releases.
func (b *bench) Enqueue(key types.NamespacedName) { b.enqueued = append(b.enqueued, key) }

func (b *bench) Demands(context.Context, *helmv2.HelmRelease) policy.Demands { return b.demands }

// next returns the Operation that Helm has to wait for.
func (b *bench) next() *release.Operation {
	var have release.Observed
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}}
	if err := b.r.locks.Observe(b.t.Context(), hr, benchNow(), &have); err != nil {
		b.t.Fatal(err)
	}
	return have.WaitingOperation
}

func benchNow() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }

// catchUp forgets all writes: the cache of this client is never stale.
func (b *bench) catchUp() {
	for _, w := range []*writes{b.r.written, b.r.observer.resumed, b.r.observer.locked} {
		w.replaced = nil
	}
}

// reconcile returns the writes of one reconciliation.
func (b *bench) reconcile() []string {
	b.t.Helper()
	b.did = nil
	b.catchUp()
	if _, err := b.r.Reconcile(b.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "apps", Name: "op"}}); err != nil {
		b.t.Fatal(err)
	}
	return b.did
}

func (b *bench) operation() *opsv1alpha1.Operation {
	b.t.Helper()
	op := &opsv1alpha1.Operation{}
	if err := b.c.Get(b.t.Context(), client.ObjectKey{Namespace: "apps", Name: "op"}, op); err != nil {
		b.t.Fatal(err)
	}
	return op
}

// untilJob reconciles until the Job may run.
func (b *bench) untilJob() *batchv1.Job {
	b.t.Helper()
	for range 12 {
		b.reconcile()
		var jobs batchv1.JobList
		if err := b.c.List(b.t.Context(), &jobs); err != nil {
			b.t.Fatal(err)
		}
		if len(jobs.Items) == 1 && !*jobs.Items[0].Spec.Suspend {
			return &jobs.Items[0]
		}
	}
	b.t.Fatalf("no Job runs: %+v", b.operation().Status)
	return nil
}

// TestOperationSteps: the writes of each reconciliation in their order. The status precedes the
// action.
func TestOperationSteps(t *testing.T) {
	b := newBench(t)
	var all [][]string
	for range 5 {
		all = append(all, slices.Clone(b.reconcile()))
	}
	job := b.operation().Status.Outputs.JobName
	for i, want := range [][]string{
		{"try Job" + job, "status op", "patch op"}, // the finalizer
		{"try Job" + job, "patch web"},             // the lock
		{"try Job" + job, "create Job" + job},      // the Job
		{"status op"},                              // its UID
		{"patch " + job},                           // and off it goes
	} {
		if !slices.Equal(all[i], want) {
			t.Errorf("reconciliation %d: %q, want %q", i, all[i], want)
		}
	}
}

// TestOperationVerifies: a hook is taken only from a record that agrees with status.history.
func TestOperationVerifies(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		stored func(*helm.Stored)
		hr     func(*helmv2.HelmRelease)
		hook   string
		phase  opsv1alpha1.OperationPhase
		says   string
	}{
		"Agrees":  {reason: "it is as it was recorded"},
		"Altered": {reason: "another client wrote into the Secret", stored: func(s *helm.Stored) { s.Revision.Digest = "sha256:other" }, phase: opsv1alpha1.PhaseFailed, says: "does not agree"},
		"Unrecorded": {
			reason: "the upgrade that made it may be recorded in a moment", stored: func(s *helm.Stored) { s.Revision.Version, s.Labelled.Version = 2, 2 },
			phase: opsv1alpha1.PhasePending, says: "not in status.history of HelmRelease apps/web yet",
		},
		"Forgotten": {
			reason: "it is too old", hr: func(hr *helmv2.HelmRelease) { hr.Status.History[0].Version = 2 },
			phase: opsv1alpha1.PhaseFailed, says: "any more",
		},
		"Unknown": {
			reason: "no such digest can be computed", hr: func(hr *helmv2.HelmRelease) { hr.Status.History[0].APIVersion = "v1" },
			phase: opsv1alpha1.PhaseFailed, says: "not one that can be verified",
		},
		"Theirs": {reason: "helm-controller recorded it", hr: theirs, stored: func(s *helm.Stored) { s.Revision.HelmControllerDigest = "sha256:1" }},
		"TheirTest": {
			reason: "helm-controller's digest does not cover tests", hr: theirs, stored: func(s *helm.Stored) { s.Revision.HelmControllerDigest = "sha256:1" },
			hook: "smoke", phase: opsv1alpha1.PhaseFailed, says: "does not cover tests",
		},
		"OwnTest": {reason: "ours does", hook: "smoke"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.stored.Release.Hooks = append(b.stored.Release.Hooks, hookjob.Hook{
				Name: "smoke", Kind: "Job", Events: []string{"test"}, Manifest: strings.ReplaceAll(hookText, "migrate", "smoke"),
			})
			if tc.stored != nil {
				tc.stored(&b.stored)
			}
			if tc.hr != nil {
				hr := &helmv2.HelmRelease{}
				if err := b.c.Get(t.Context(), types.NamespacedName{Namespace: "apps", Name: "web"}, hr); err != nil {
					t.Fatal(err)
				}
				tc.hr(hr)
				if err := b.c.Update(t.Context(), hr); err != nil {
					t.Fatal(err)
				}
			}
			op := &opsv1alpha1.Operation{}
			key := types.NamespacedName{Namespace: "apps", Name: "op"}
			if err := b.c.Get(t.Context(), key, op); err != nil {
				t.Fatal(err)
			}
			op.Spec.Parameters.HookName = cmp.Or(tc.hook, "migrate")
			if err := b.c.Update(t.Context(), op); err != nil {
				t.Fatal(err)
			}
			for range 5 {
				b.reconcile()
			}
			if err := b.c.Get(t.Context(), key, op); err != nil {
				t.Fatal(err)
			}
			var jobs batchv1.JobList
			if err := b.c.List(t.Context(), &jobs); err != nil {
				t.Fatal(err)
			}
			if tc.phase == "" {
				if len(jobs.Items) != 1 {
					t.Errorf("%s: %d Jobs were made, status %+v", tc.reason, len(jobs.Items), op.Status)
				}
				return
			}
			kind := map[opsv1alpha1.OperationPhase]string{opsv1alpha1.PhaseFailed: opsv1alpha1.ConditionFailed, opsv1alpha1.PhasePending: opsv1alpha1.ConditionBlocked}[tc.phase]
			c := apimeta.FindStatusCondition(op.Status.Conditions, kind)
			if op.Status.Phase != tc.phase || c == nil || c.Reason != opsv1alpha1.ReasonRecordNotVerified || !strings.Contains(c.Message, tc.says) || len(jobs.Items) != 0 {
				t.Errorf("%s: phase %s, %+v, %d Jobs; want %s because of %q", tc.reason, op.Status.Phase, c, len(jobs.Items), tc.phase, tc.says)
			}
		})
	}
}

func theirs(hr *helmv2.HelmRelease) { hr.Status.History[0].APIVersion = helmv2.SnapshotAPIVersionV2 }

// TestOperationPolicies: policies refuse hooks, hold them until they are approved, and hold them while
// they are not known.
func TestOperationPolicies(t *testing.T) {
	rule := func(spec v1alpha1.OperationPolicy) policy.Demands {
		return policy.Demands{Operations: []policy.OperationRule{{Policy: "ReleasePolicy/ops", OperationPolicy: spec}}}
	}
	for name, tc := range map[string]struct {
		demands  policy.Demands
		approved bool
		phase    opsv1alpha1.OperationPhase
		reason   string
	}{
		"Allowed":     {demands: rule(v1alpha1.OperationPolicy{Allow: []string{"pre-upgrade"}, Names: []string{"mig*"}}), reason: opsv1alpha1.ReasonAccepted},
		"Refused":     {demands: rule(v1alpha1.OperationPolicy{Allow: []string{"test"}}), phase: opsv1alpha1.PhaseFailed, reason: opsv1alpha1.ReasonPolicyRefused},
		"NotKnown":    {demands: policy.Demands{Unavailable: "the policies are not listed yet"}, phase: opsv1alpha1.PhasePending, reason: opsv1alpha1.ReasonPolicyUnavailable},
		"NotApproved": {demands: rule(v1alpha1.OperationPolicy{Approval: v1alpha1.OperationApprovalAlways}), phase: opsv1alpha1.PhasePending, reason: opsv1alpha1.ReasonAwaitingApproval},
		"Approved":    {demands: rule(v1alpha1.OperationPolicy{Approval: v1alpha1.OperationApprovalAlways}), approved: true, reason: opsv1alpha1.ReasonAccepted},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.demands = tc.demands
			b.reconcile()
			if tc.approved {
				op := b.operation()
				op.Spec.Approved = op.Status.AwaitingApproval
				if err := b.c.Update(t.Context(), op); err != nil || op.Spec.Approved == "" {
					t.Fatalf("approve %q: %v", op.Spec.Approved, err)
				}
			}
			if tc.reason == opsv1alpha1.ReasonAccepted {
				b.untilJob()
				return
			}
			b.reconcile()
			op := b.operation()
			if op.Status.Phase != tc.phase || !slices.ContainsFunc(op.Status.Conditions, func(c metav1.Condition) bool { return c.Reason == tc.reason }) {
				t.Errorf("phase %s, want %s with %s: %+v", op.Status.Phase, tc.phase, tc.reason, op.Status.Conditions)
			}
		})
	}
}

// TestOperationVerifiesWhatIsNew: no Operation fails because the cache is behind.
func TestOperationVerifiesWhatIsNew(t *testing.T) {
	b := newBench(t)
	b.stored.Revision.Digest = "sha256:new"
	cached, ok := b.c.(client.WithWatch)
	if !ok {
		t.Fatal("the client cannot be wrapped")
	}
	b.r.observer.live = interceptor.NewClient(cached, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			err := c.Get(ctx, key, o, options...)
			if _, ok := o.(*helmv2.HelmRelease); ok {
				o.SetResourceVersion(o.GetResourceVersion() + "1")
			}
			return err
		},
	})
	b.reconcile()
	op := &opsv1alpha1.Operation{}
	if err := b.c.Get(t.Context(), types.NamespacedName{Namespace: "apps", Name: "op"}, op); err != nil || op.Status.Phase != "" {
		t.Errorf("it says %+v, %v", op.Status, err)
	}
}

// TestOperationConflict: a decision from a stale read is not carried out.
func TestOperationConflict(t *testing.T) {
	b := newBench(t)
	b.refuse = func(did string) error {
		if strings.HasPrefix(did, "status") {
			return apierrors.NewConflict(schema.GroupResource{}, "op", errors.New("old"))
		}
		return nil
	}
	if did := b.reconcile(); did[len(did)-1] != "status op" {
		t.Errorf("it goes on: %q", did)
	}
	b.refuse = nil
	b.reconcile()
	b.refuse = func(did string) error {
		if did != "patch web" {
			return nil
		}
		// An action is announced in between.
		hr := &helmv2.HelmRelease{}
		if err := b.c.Get(t.Context(), client.ObjectKey{Namespace: "apps", Name: "web"}, hr); err != nil {
			return err
		}
		hr.Labels = map[string]string{"changed": "yes"}
		return b.c.Update(t.Context(), hr)
	}
	b.reconcile()
	hr := &helmv2.HelmRelease{}
	if err := b.c.Get(t.Context(), client.ObjectKey{Namespace: "apps", Name: "web"}, hr); err != nil || hr.Annotations[opsv1alpha1.AnnotationHolder] != "" {
		t.Errorf("it was taken although it had changed: %v, %v", hr.Annotations, err)
	}
	if next := b.next(); next == nil || next.Name != "op" {
		t.Errorf("who was outrun does not have the next turn: %+v", next)
	}
	b.refuse = nil
	b.reconcile()
	if next := b.next(); next != nil || len(b.enqueued) == 0 {
		t.Errorf("who has the release waits for it still: %+v, and %v is enqueued", next, b.enqueued)
	}
}

// TestOperationLogs: without secrets, wherever they come from, and not at all if
// they cannot be known.
func TestOperationLogs(t *testing.T) {
	live := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "live"}, Data: map[string][]byte{"a": []byte("livelive")}}
	for name, tc := range map[string]struct {
		unread error
		want   string
	}{
		"told":   {want: "one *** two *** three *** four"},
		"unread": {unread: errors.New("gone"), want: "(not kept: what is secret in it is not known: gone)"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, live.DeepCopy())
			b.log, b.values, b.stored.Secrets = "one livelive two givengiven three storedstored four\n", []string{"givengiven"}, []string{"storedstored"}
			job := b.untilJob()
			b.pod(job, corev1.PodFailed, exited(3))
			b.fail(job, time.Time{})
			b.unread = tc.unread
			b.reconcile()
			op := b.operation()
			if o := op.Status.Outputs; op.Status.Phase != opsv1alpha1.PhaseFailed || len(o.LogTail) != 1 || o.LogTail[0].Text != tc.want || *o.ExitCode != 3 {
				t.Errorf("status is %+v, outputs %+v", op.Status, o)
			}
		})
	}
}

// pod makes the pod of a Job, with container main and others.
func (b *bench) pod(job *batchv1.Job, phase corev1.PodPhase, main corev1.ContainerStatus, others ...corev1.ContainerStatus) {
	b.t.Helper()
	yes := true
	main.Name = "main"
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "pod", Labels: job.Spec.Template.Labels, OwnerReferences: []metav1.OwnerReference{{Name: job.Name, UID: job.UID, Kind: "Job", Controller: &yes}}},
		Spec:       job.Spec.Template.Spec,
		Status:     corev1.PodStatus{Phase: phase, ContainerStatuses: append([]corev1.ContainerStatus{main}, others...)},
	}
	if err := b.c.Create(b.t.Context(), pod); err != nil {
		b.t.Fatal(err)
	}
}

// hidePods makes the cache lack all Pods.
func (b *bench) hidePods() {
	b.t.Helper()
	cached, ok := b.c.(client.WithWatch)
	if !ok {
		b.t.Fatal("the client does not watch")
	}
	b.r.observer.client = interceptor.NewClient(cached, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, pods := list.(*corev1.PodList); pods {
				return nil
			}
			return c.List(ctx, list, options...)
		},
	})
}

// TestOperationPodLate: a Job fails before the cache has its Pod. The result has the exit code and
// the log.
func TestOperationPodLate(t *testing.T) {
	b := newBench(t)
	b.log = "no space left\n"
	job := b.untilJob()
	b.pod(job, corev1.PodFailed, exited(3))
	b.fail(job, time.Time{})
	b.hidePods()
	b.reconcile()
	if o := b.operation().Status.Outputs; len(o.LogTail) != 1 || o.LogTail[0].Text != "no space left" || o.ExitCode == nil || *o.ExitCode != 3 {
		t.Errorf("%+v", o)
	}
}

func exited(code int32) corev1.ContainerStatus {
	return corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}}
}

func (b *bench) fail(job *batchv1.Job, at time.Time) {
	b.t.Helper()
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)}}
	if err := b.c.Status().Update(b.t.Context(), job); err != nil {
		b.t.Fatal(err)
	}
}

// TestOperationLogsFail: a log is waited for only if a later read may succeed.
func TestOperationLogsFail(t *testing.T) {
	for name, tc := range map[string]struct {
		err   error
		waits bool
	}{
		"the node is away":         {apierrors.NewInternalError(errors.New("connection refused")), true},
		"the connection breaks":    {io.ErrUnexpectedEOF, true},
		"the pod is gone":          {apierrors.NewNotFound(schema.GroupResource{}, "pod"), false},
		"it has not begun":         {apierrors.NewBadRequest("is waiting to start"), false},
		"forbidden":                {apierrors.NewForbidden(schema.GroupResource{}, "pod", nil), false},
		"unauthorized":             {apierrors.NewUnauthorized("no"), false},
		"it has no log":            {evidence.ErrNoLog, false},
		"there is too much to do":  {apierrors.NewTooManyRequestsError("later"), true},
		"what is secret is hidden": {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.read = func(*corev1.PodLogOptions) (string, error) { return "", tc.err }
			job := b.untilJob()
			b.pod(job, corev1.PodFailed, exited(3))
			b.fail(job, benchNow().Add(-4*time.Second))
			if tc.err == nil {
				b.unread = errors.New("etcd is away")
			}
			b.reconcile()
			if phase := b.operation().Status.Phase; (phase == opsv1alpha1.PhaseRunning) != tc.waits {
				t.Fatalf("phase is %s", phase)
			}
			if !tc.waits {
				return
			}
			b.unread, b.read = nil, func(*corev1.PodLogOptions) (string, error) { return "at last\n", nil }
			b.reconcile()
			if s := b.operation().Status; s.Phase != opsv1alpha1.PhaseFailed || len(s.Outputs.LogTail) != 1 || s.Outputs.LogTail[0].Text != "at last" {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestOperationLogsOfLives: a container that is started again in place has said
// something before.
func TestOperationLogsOfLives(t *testing.T) {
	waiting, runs := exited(0), exited(0)
	waiting.LastTerminationState = exited(3).State
	runs.LastTerminationState = waiting.LastTerminationState
	waiting.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	runs.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	for name, tc := range map[string]struct {
		status     corev1.ContainerStatus
		said, want string
	}{
		"it waits":                      {waiting, "now", "before"},
		"it runs":                       {runs, "now", "now"},
		"it runs silently":              {runs, "", "before"},
		"it has no log yet":             {runs, `failed to try resolving symlinks in path "/var/log/pods/a/main/2.log": lstat /var/log/pods/a/main/2.log: no such file or directory`, "before"},
		"it quotes one that has no log": {runs, "unable to retrieve container logs for containerd://1\nis what it says", "unable to retrieve container logs for containerd://1\nis what it says"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.read = func(options *corev1.PodLogOptions) (string, error) {
				if options.Previous {
					return "before", nil
				}
				return tc.said, nil
			}
			b.pod(b.untilJob(), corev1.PodRunning, tc.status)
			b.reconcile()
			if got := b.operation().Status.Outputs.LogTail; len(got) != 1 || got[0].Text != tc.want {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestOperationLogsOfFailure: the log of the container that failed comes first, and its end is in the
// message without secrets.
func TestOperationLogsOfFailure(t *testing.T) {
	b := newBench(t)
	b.stored.Secrets = []string{"storedstored"}
	b.read = func(options *corev1.PodLogOptions) (string, error) {
		return "this is " + options.Container + " with storedstored\n", nil
	}
	job := b.untilJob()
	failed := exited(3)
	failed.Name = "second"
	b.pod(job, corev1.PodFailed, exited(0), failed)
	b.fail(job, time.Time{})
	b.reconcile()
	s := b.operation().Status
	if o := s.Outputs; len(o.LogTail) != 2 || o.LogTail[0].Container != "second" || o.LogTail[1].Container != "main" {
		t.Errorf("the logs are %+v", o.LogTail)
	}
	failure := apimeta.FindStatusCondition(s.Conditions, opsv1alpha1.ConditionFailed)
	if failure == nil || !strings.HasSuffix(failure.Message, "Last log lines of container second of Pod pod:\n\nthis is second with ***") {
		t.Errorf("the condition is %+v", failure)
	}
}

// TestOperationLastWords: a pod whose Job is gone has the last word, and as long as
// it lives nothing is over, whether the cache knows it or not.
func TestOperationLastWords(t *testing.T) {
	b := newBench(t)
	b.log = "stopping\n"
	job := b.untilJob()
	b.reconcile()
	op := b.operation()
	op.Spec.Cancel = true
	if err := b.c.Update(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	b.reconcile()
	b.pod(job, corev1.PodRunning, exited(143))
	b.hidePods()
	b.reconcile()
	if phase := b.operation().Status.Phase; phase != opsv1alpha1.PhaseRunning {
		t.Fatalf("phase is %s, and a pod lives that the cache does not know", phase)
	}
	b.r.observer.client = b.c
	b.reconcile()
	if o := b.operation().Status.Outputs; len(o.LogTail) != 1 || o.LogTail[0].Text != "stopping" || o.ExitCode == nil || *o.ExitCode != 143 {
		t.Errorf("%+v", o)
	}
}

// TestOperationStale: a Job that was let run is not taken for one that was not.
func TestOperationStale(t *testing.T) {
	b := newBench(t)
	b.untilJob()
	var jobs batchv1.JobList
	if err := b.c.List(t.Context(), &jobs); err != nil {
		t.Fatal(err)
	}
	op := b.operation()
	op.Spec.Cancel = true
	if err := b.c.Update(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	if b.r.observer.resumed.replaced[client.ObjectKeyFromObject(&jobs.Items[0])].version == "" {
		t.Error("that it was let run is forgotten")
	}
	// The cache still has the former version.
	b.r.observer.resumed.record(&jobs.Items[0])
	b.did = nil
	result, err := b.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(op)})
	if err != nil || result.RequeueAfter != controller.StaleRetry || len(b.did) > 0 {
		t.Errorf("%+v, %v, %q", result, err, b.did)
	}
}

// TestOperationOver: an Operation that has ended causes no requests.
func TestOperationOver(t *testing.T) {
	b := newBench(t)
	op := b.operation()
	op.Status.Phase = opsv1alpha1.PhaseSucceeded
	if err := b.c.Status().Update(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	b.r.observer.live = nil
	if did := b.reconcile(); len(did) > 0 {
		t.Errorf("it does %q", did)
	}
}

// TestOperationExpires: an Operation that is over is deleted when its TTL is, without reads, and in the
// version whose TTL it is.
func TestOperationExpires(t *testing.T) {
	b := newBench(t)
	op := b.operation()
	op.Spec.TTLSecondsAfterFinished = new(int32(60))
	if err := b.c.Update(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	op.Status.Phase, op.Status.CompletionTime = opsv1alpha1.PhaseSucceeded, new(metav1.NewTime(benchNow().Add(-59*time.Second)))
	if err := b.c.Status().Update(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	b.r.observer.client, b.r.observer.live = nil, nil
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(op)}
	if result, err := b.r.Reconcile(t.Context(), request); err != nil || result.RequeueAfter != time.Second || len(b.did) > 0 {
		t.Fatalf("before its time: %+v, %v, %q", result, err, b.did)
	}
	op.Status.CompletionTime = new(metav1.NewTime(benchNow().Add(-60 * time.Second)))
	if err := b.c.Status().Update(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	b.refuse = func(string) error {
		later := b.operation()
		later.Spec.TTLSecondsAfterFinished = nil
		return b.c.Update(t.Context(), later)
	}
	if did := b.reconcile(); !slices.Equal(did, []string{"delete op"}) || b.operation().Spec.TTLSecondsAfterFinished != nil {
		t.Errorf("its TTL was removed meanwhile: %q", did)
	}
	later := b.operation()
	later.Spec.TTLSecondsAfterFinished = new(int32(0))
	if err := b.c.Update(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	b.refuse = nil
	if did := b.reconcile(); !slices.Equal(did, []string{"delete op"}) {
		t.Errorf("after its time: %q", did)
	}
	if err := b.c.Get(t.Context(), request.NamespacedName, op); !apierrors.IsNotFound(err) {
		t.Errorf("it is there: %v", err)
	}
}

// TestOperationRefused: the error of the API server or of an admission webhook about a Job is
// reported without secrets.
func TestOperationRefused(t *testing.T) {
	t.Parallel()
	said := "denied the request: not like this: {\"a\":\"s3cr3t-value\",\"b\":\"from-values\"}"
	for name, err := range map[string]error{
		"no reason": &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusBadRequest, Message: said}},
		"a reason":  apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "x", errors.New(said)),
	} {
		b := newBench(t)
		b.stored.Secrets, b.values = []string{"s3cr3t-value"}, []string{"from-values"}
		b.refuse = func(did string) error {
			if strings.HasPrefix(did, "try ") {
				return err
			}
			return nil
		}
		b.reconcile()
		c := apimeta.FindStatusCondition(b.operation().Status.Conditions, opsv1alpha1.ConditionBlocked)
		if c == nil || c.Reason != opsv1alpha1.ReasonJobRefused || !strings.Contains(c.Message, "not like this") ||
			strings.Contains(c.Message, "s3cr3t-value") || strings.Contains(c.Message, "from-values") {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestOperationDenied: nor does an error that goes to the log tell it.
func TestOperationDenied(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"create ", "patch "} {
		b := newBench(t)
		b.stored.Secrets, b.values = []string{"s3cr3t-value"}, []string{"from-values"}
		b.refuse = func(did string) error {
			if strings.HasPrefix(did, what) && did != "patch op" && did != "patch web" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "x", errors.New("not like this: s3cr3t-value, from-values"))
			}
			return nil
		}
		var err error
		for range 12 {
			b.catchUp()
			if _, err = b.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "apps", Name: "op"}}); err != nil {
				break
			}
		}
		if err == nil || !strings.Contains(err.Error(), "not like this: ***, ***") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
