// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/attempt"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/dependency"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/plans"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/watch"
	"github.com/pintle-dev/pintle/test/controllertest"
)

var key = types.NamespacedName{Namespace: "apps", Name: "web"}

// stub implements the interfaces of a Reconciler for a release that is not installed.
type stub struct {
	// context is that of the last reconciliation.
	context context.Context
	// mode is the mode of drift detection, and live compares live objects.
	mode helmv2.DriftDetectionMode
	live *livestub
	// rendered is the result of rendering the chart again, and renderings counts that.
	rendered   release.RenderResult
	renderings int
	// unrendered is the error of that, and aside the work that is begun; nil if there is none.
	unrendered error
	aside      *attempt.Aside
	offers     string
	health     release.Health
	running    *release.Running
	cancelled  error
	// version is the desired version of the chart, and values the digest of the desired values.
	version string
	values  string
	// meanwhile happens between the read and the announcement.
	meanwhile func()
	// unresolved is the error of resolving inputs, and unheld that of downloading the chart.
	unresolved, unheld error
	// closed makes Begin refuse.
	closed bool
	begun  attempt.Task
	job    helm.Job
	stored []release.Revision
	// stray and strays are the target and the revisions of an unrecorded install. unsearched is the
	// error of the search, and searches counts it.
	stray      *release.Target
	strays     []release.Revision
	unsearched error
	// unreadable is the error of reading one revision.
	unreadable error
	searches   int
	// target and unchecked are the result of a check of the target, and checked is the job of the
	// last one.
	target    release.TargetCheck
	unchecked error
	checked   *helm.Job
	// preserves makes upgrades keep values; preserved and listed are the releases whose
	// values and objects were read.
	preserves         bool
	preserved, listed release.Target
	// really are the revisions on the API server, and confirmed counts their reads.
	really    []release.Revision
	confirmed int
	// demands are those of policies, and refused is the error of admitting the chart.
	demands policy.Demands
	refused error
	// refusal refuses the chart for changes only; nil if nothing does.
	refusal *policy.Refusal
	// resolved is the HelmRelease whose inputs were resolved last, and suspension its suspension.
	resolved   *helmv2.HelmRelease
	suspension release.Suspension
	// planned are the jobs whose plans were computed.
	planned []helm.Job
	// read and ran are the connections that were used to read and to act.
	read, ran genericclioptions.RESTClientGetter
}

func (s *stub) Resolve(ctx context.Context, hr *helmv2.HelmRelease, suspension release.Suspension) (inputs.Want, error) {
	s.context, s.resolved, s.suspension = ctx, hr, suspension
	if s.meanwhile != nil {
		s.meanwhile()
	}
	var requests release.Requests
	if hr != nil {
		requests = release.RequestsOf(hr.Annotations)
	}
	want := s.want(requests, suspension)
	want.Demands.Refusal = s.refusal
	return want, s.unresolved
}

func (s *stub) want(requests release.Requests, suspension release.Suspension) inputs.Want {
	return inputs.Want{
		Artifact: chart.Artifact{URL: "resolved"},
		Desired: release.Desired{
			UID: "uid-1", Target: release.Target{Name: "web", Namespace: "apps", StorageNamespace: "apps"}, Suspension: suspension,
			Requests: requests,
			Chart:    release.Chart{Version: s.version}, ConfigDigest: s.values, Policy: release.Policy{Interval: time.Minute, Drift: s.mode, DriftTimeout: time.Minute, PreserveValues: s.preserves},
		},
		Values:  map[string]any{},
		Secrets: []string{"hunter22"},
		Layers:  func() []plan.Layer { return nil },
	}
}

func (s *stub) Basics(hr *helmv2.HelmRelease, suspension release.Suspension) inputs.Want {
	want := s.want(release.RequestsOf(hr.Annotations), suspension)
	want.Chart, want.ConfigDigest, want.Artifact, want.Values, want.Secrets = release.Chart{}, "", chart.Artifact{}, nil, nil
	return want
}

func (s *stub) Demands(context.Context, *helmv2.HelmRelease) policy.Demands { return s.demands }

func (s *stub) Admit(context.Context, *helmv2.HelmRelease, client.Object) error { return s.refused }

func (s *stub) FetchChart(_ context.Context, _ *helmv2.HelmRelease, want inputs.Want) (inputs.Want, error) {
	want.Artifact.URL = "held"
	return want, s.unheld
}

func (s *stub) History(_ context.Context, way genericclioptions.RESTClientGetter, _ release.Target, _ helmv2.Snapshots) ([]release.Revision, error) {
	s.read = way
	return s.stored, nil
}

func (s *stub) Stray(context.Context, genericclioptions.RESTClientGetter, string, string) (*release.Target, []release.Revision, error) {
	s.searches++
	return s.stray, s.strays, s.unsearched
}

func (s *stub) CheckTarget(_ context.Context, _ genericclioptions.RESTClientGetter, job helm.Job, _ release.Target) (release.TargetCheck, error) {
	s.checked = &job
	return s.target, s.unchecked
}

func (s *stub) LiveHistory(context.Context, genericclioptions.RESTClientGetter, release.Target, helmv2.Snapshots) ([]release.Revision, error) {
	s.confirmed++
	return s.really, nil
}

func (s *stub) Revision(_ context.Context, _ genericclioptions.RESTClientGetter, _ release.Target, version int, _ helmv2.Snapshots) (*release.Revision, error) {
	for i := range s.really {
		if s.really[i].Version == version {
			return &s.really[i], nil
		}
	}
	return nil, s.unreadable
}

func (s *stub) Secrets(context.Context, *helmv2.HelmRelease) ([]string, error) {
	return []string{"hunter33"}, nil
}

func (s *stub) Health(context.Context, genericclioptions.RESTClientGetter, helm.ReadRequest) (release.Health, error) {
	return s.health, nil
}

func (*stub) LookAtBake(context.Context, genericclioptions.RESTClientGetter, helm.ReadRequest, helm.BakeLook) (release.Bake, error) {
	return release.Bake{}, nil
}

func (s *stub) Inventory(_ context.Context, _ genericclioptions.RESTClientGetter, q helm.ReadRequest) ([]release.Object, error) {
	s.listed = q.Target
	return []release.Object{{Kind: "ConfigMap", Version: "v1", Name: "listed"}}, nil
}

func (s *stub) Objects(context.Context, genericclioptions.RESTClientGetter, helm.ReadRequest) ([]*resource.Info, []release.Object, error) {
	return nil, nil, nil
}

func (s *stub) Rerender(_ context.Context, way genericclioptions.RESTClientGetter, job helm.Job, _ int) (release.RenderResult, error) {
	s.renderings, s.ran, s.job = s.renderings+1, way, job
	return s.rendered, s.unrendered
}

func (s *stub) Reads(context.Context, genericclioptions.RESTClientGetter, helm.Job) (release.RenderResult, error) {
	return s.rendered, nil
}

func (s *stub) Capabilities(genericclioptions.RESTClientGetter) (string, error) { return s.offers, nil }

func (s *stub) PreservedDigest(_ context.Context, _ genericclioptions.RESTClientGetter, in release.Input, _ map[string]any) (string, error) {
	s.preserved = release.ObservedTarget(in)
	return "", nil
}

func (s *stub) Run(_ context.Context, way genericclioptions.RESTClientGetter, job helm.Job) release.Outcome {
	s.job, s.ran = job, way
	return release.Outcome{}
}

func (s *stub) Plan(_ context.Context, _ genericclioptions.RESTClientGetter, job helm.Job, q helm.PlanRequest) (plan.Plan, error) {
	s.planned = append(s.planned, job)
	return plan.Plan{Status: v1alpha1.ReleasePlanStatus{Action: q.Action, Digest: fmt.Sprintf("sha256:%d", len(s.planned))}}, nil
}

func (s *stub) DeletePlan(context.Context, genericclioptions.RESTClientGetter, release.Target) error {
	return nil
}

func (s *stub) Begin(_ context.Context, _ types.NamespacedName, _ attempt.Info, task attempt.Task) bool {
	if s.closed {
		return false
	}
	s.begun = task
	return true
}
func (s *stub) Running(types.NamespacedName) *release.Running              { return s.running }
func (s *stub) Outcome(types.NamespacedName) (o release.Outcome, had bool) { return }
func (s *stub) Forget(types.NamespacedName)                                {}
func (s *stub) Cancel(_ types.NamespacedName, cause error)                 { s.cancelled = cause }

func (s *stub) EndAside(types.NamespacedName) { s.aside = nil }

func (s *stub) Aside(_ context.Context, _ types.NamespacedName, work attempt.Aside) bool {
	if s.aside != nil || s.closed {
		return false
	}
	s.aside = &work
	return true
}

// doAside does the work that is begun.
func (s *stub) doAside(t *testing.T) {
	t.Helper()
	if s.aside == nil {
		t.Fatal("no work is begun")
	}
	work := *s.aside
	err := work.Work(t.Context(), func() func() { return func() {} })
	work.Ended(err)
	s.aside = nil
}

// unwatched watches no dependencies.
type unwatched struct{}

func (unwatched) WatchObjects(types.NamespacedName, watch.Cluster, []watch.Target) {}
func (unwatched) Forget(types.NamespacedName)                                      {}

func testReconciler(t *testing.T, s *stub) *Reconciler {
	t.Helper()
	if s.live == nil {
		s.live = &livestub{}
	}
	m, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	hr := &helmv2.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "uid-1", Finalizers: []string{helmv2.Finalizer}},
		Spec:       helmv2.HelmReleaseSpec{ChartRef: &helmv2.CrossNamespaceSourceReference{Kind: "OCIRepository", Name: "web"}},
	}
	world := controllertest.NewClient().WithObjects(hr).WithStatusSubresource(hr, &v1alpha1.ReleasePlan{}).Build()
	clusters := cluster.NewConnections(&rest.Config{Host: "http://local"}, cluster.Options{Now: time.Now})
	env := &environment{
		client: world, live: world, metrics: m, helm: s, attempts: s, now: time.Now, memory: &controller.Table[memory]{},
		connections: &controller.ConnectionFinder{Live: world, Clusters: clusters},
		events:      make(controllertest.Events, 100), spread: func(d time.Duration) time.Duration { return d },
		stagger: func(d time.Duration) time.Duration { return d },
		backoff: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](time.Second, time.Minute),
	}
	waiting := controller.Part(env.memory, func(m *memory) *dependency.State { return &m.dependency })
	return newReconciler(env, parts{
		resolver: s, policies: s, detector: s.live, objects: s.live, cached: world, enqueue: func(types.NamespacedName) {},
		dependency: dependency.NewSubscriptions(unwatched{}, clusters, waiting, func(types.NamespacedName) {}),
		plans:      &plans.Planner{Client: world, Live: world, Known: knownPlans{t, world}, Now: time.Now},
	})
}

// outages returns how many HelmReleases cannot be reconciled because of an API server.
func outages(r *Reconciler) (n int) {
	r.memory.Each(func(_ types.NamespacedName, m *memory) {
		if m.outage.Active() {
			n++
		}
	})
	return n
}

// TestStaleReadBeginsNothing: another client writes the object between the read and the
// announcement. That is no error, and Helm must not be started.
func TestStaleReadBeginsNothing(t *testing.T) {
	s := &stub{}
	r := testReconciler(t, s)
	s.meanwhile = func() {
		hr := &helmv2.HelmRelease{}
		if err := r.client.Get(t.Context(), key, hr); err != nil {
			t.Fatal(err)
		}
		hr.Labels = map[string]string{"by": "another client"}
		if err := r.client.Update(t.Context(), hr); err != nil {
			t.Fatal(err)
		}
	}
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	if err != nil || result.RequeueAfter != controller.StaleRetry {
		t.Errorf("the reconciliation ends with %v, %v; want to come back in silence", result, err)
	}
	if s.begun != nil {
		t.Error("Helm was started on a stale read")
	}
	hr := &helmv2.HelmRelease{}
	if err := r.client.Get(t.Context(), client.ObjectKey(key), hr); err != nil || len(hr.Status.Conditions) > 0 {
		t.Errorf("something was announced: %v, %v", hr.Status.Conditions, err)
	}
}

// TestGoneBeginsNothing: the object is deleted between the read and the announcement, and
// may have been created again under the same name. Nothing may begin for the one that was
// read.
func TestGoneBeginsNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		again  bool
		want   ctrl.Result
	}{
		"Gone":      {reason: "NotFound ends the reconciliation"},
		"Recreated": {reason: "the new object is read soon", again: true, want: ctrl.Result{RequeueAfter: controller.StaleRetry}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stub{}
			r := testReconciler(t, s)
			s.meanwhile = func() {
				hr := &helmv2.HelmRelease{}
				if err := r.client.Get(t.Context(), key, hr); err != nil {
					t.Fatal(err)
				}
				hr.Finalizers = nil
				if err := errors.Join(r.client.Update(t.Context(), hr), r.client.Delete(t.Context(), hr)); err != nil {
					t.Fatal(err)
				}
				if !tc.again {
					return
				}
				hr = &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: "uid-2"}}
				if err := r.client.Create(t.Context(), hr); err != nil {
					t.Fatal(err)
				}
			}
			result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
			if err != nil || result != tc.want {
				t.Errorf("%s: the reconciliation ends with %v, %v", tc.reason, result, err)
			}
			if s.begun != nil {
				t.Errorf("%s: Helm was started", tc.reason)
			}
		})
	}
}

// TestNothingIsStoredIsConfirmed: a HelmRelease that is being deleted is let go only if the
// API server answers that nothing is stored, whatever was read before.
func TestNothingIsStoredIsConfirmed(t *testing.T) {
	mine := []release.Revision{{Name: "web", Namespace: "apps", Version: 1, Status: helmv2.StatusDeployed, Sealed: true, Owner: "uid-1"}}
	for name, tc := range map[string]struct {
		reason          string
		stored, really  []release.Revision
		confirmed, want int
	}{
		"Behind": {reason: "what was read is behind", really: mine, confirmed: 1, want: 1},
		"Stored": {reason: "it is uninstalled", stored: mine, really: mine, want: 1},
		"Absent": {reason: "nothing is stored", confirmed: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stub{stored: tc.stored, really: tc.really}
			r := testReconciler(t, s)
			hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", UID: "uid-1"}}
			in := release.Input{Desired: release.Desired{Deleted: true, UID: "uid-1"}}
			in.Recorded.StorageNamespace = "apps"
			rec, err := r.observer.observe(t.Context(), reconciliation{read: hr, hr: hr, want: inputs.Want{Desired: in.Desired}, in: in})
			if err != nil {
				t.Fatal(err)
			}
			if in := rec.in; len(in.Observed.Revisions) != tc.want || s.confirmed != tc.confirmed {
				t.Errorf("%s: %d revisions, confirmed %d times", tc.reason, len(in.Observed.Revisions), s.confirmed)
			}
		})
	}
}

// TestNotBegunIsTriedAgain: a release is requeued whose action was announced while the pool could
// not take it.
func TestNotBegunIsTriedAgain(t *testing.T) {
	s := &stub{closed: true}
	r := testReconciler(t, s)
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	if err != nil || result.RequeueAfter == 0 {
		t.Errorf("the reconciliation ends with %v, %v; want to come back", result, err)
	}
}

// TestJobKnowsItsSecrets: a job has the secrets that messages of Helm must not contain.
func TestJobKnowsItsSecrets(t *testing.T) {
	s := &stub{}
	r := testReconciler(t, s)
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil || s.begun == nil {
		t.Fatalf("nothing was begun: %v", err)
	}
	s.begun(t.Context(), nil)
	if diff := cmp.Diff([]string{"hunter22"}, s.job.Secrets); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestTakenOverIsHandedOn: the outcome contains the deployed revision that was found, so that a
// remediation can return to it, if the HelmRelease made it.
func TestTakenOverIsHandedOn(t *testing.T) {
	for _, sealed := range []bool{true, false} {
		s := &stub{stored: []release.Revision{
			{Name: "web", Namespace: "apps", Version: 8, Status: helmv2.StatusFailed},
			{Name: "web", Namespace: "apps", Version: 7, Status: helmv2.StatusDeployed, Sealed: sealed, Owner: "uid-1"},
		}}
		r := testReconciler(t, s)
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil || s.begun == nil {
			t.Fatalf("nothing was begun: %v", err)
		}
		outcome := s.begun(t.Context(), nil)
		if taken := outcome.TakenOver; (taken != nil) != sealed || sealed && taken.Version != 7 {
			t.Errorf("sealed %t: taken over: %+v", sealed, outcome.TakenOver)
		}
	}
}

// TestGoneIsStopped: the action of a HelmRelease that no longer exists is stopped as by a
// shutdown. It may be the HelmRelease of another controller now, which resumes the action.
func TestGoneIsStopped(t *testing.T) {
	s := &stub{}
	r := testReconciler(t, s)
	elsewhere := types.NamespacedName{Namespace: key.Namespace, Name: "elsewhere"}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: elsewhere}); err != nil || !errors.Is(s.cancelled, release.ErrShutdown) {
		t.Errorf("what runs for it was cancelled with %v, error %v", s.cancelled, err)
	}
}

// TestCancellationHasACause: an action that newer inputs interrupt is no failure, so that the
// cancellation names the cause.
func TestCancellationHasACause(t *testing.T) {
	for name, tc := range map[string]struct {
		was, now string
		want     error
	}{
		"Same":  {"1.0.0", "1.0.0", nil},
		"Newer": {"1.0.0", "1.1.0", release.ErrOutdated},
	} {
		t.Run(name, func(t *testing.T) {
			s := &stub{version: tc.was}
			was, err := s.Resolve(t.Context(), nil, release.Suspension{})
			if err != nil {
				t.Fatal(err)
			}
			s.running, s.version = &release.Running{Action: helmv2.ActionUpgrade, Desired: was.Desired}, tc.now
			if _, err := testReconciler(t, s).Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
				t.Fatal(err)
			}
			if !errors.Is(s.cancelled, tc.want) {
				t.Errorf("cancelled because of %v, want %v", s.cancelled, tc.want)
			}
		})
	}
}
