// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/release"
)

// stage runs single actions on release app of a world, without the controller.
type stage struct {
	*world
	conn   *cluster.Connection
	runner *helm.Runner
	spec   helmv2.HelmReleaseSpec
}

func newStage(t *testing.T) *stage {
	t.Helper()
	conn, err := cluster.Connect(suite.config)
	if err != nil {
		t.Fatal(err)
	}
	return &stage{world: newWorld(t), conn: conn, runner: helm.NewRunner(chart.NewStore(chart.Options{Workers: workers(), Client: http.DefaultClient, MaxBytes: maxArtifact}), workers(), nil, time.Now)}
}

func (s *stage) perform(ctx context.Context, action release.Action, files map[string]string, filters ...release.TestFilter) release.Outcome {
	s.t.Helper()
	archive := pack(s.t, "note", "1.0.0", files)
	sum := digest.FromBytes(archive)
	s.mu.Lock()
	s.artifacts["/"+sum.Encoded()] = archive
	s.mu.Unlock()
	return s.runner.Run(ctx, s.conn, helm.Job{
		Action: action,
		Desired: release.Desired{
			UID: "stage", Target: s.target(), Chart: release.Chart{Name: "note", Version: "1.0.0"},
			Policy: release.Policy{TestFilters: filters},
		},
		Spec: s.spec, Origin: helm.Origin{Namespace: s.namespace, Name: "app"},
		Artifact: chart.Artifact{URL: s.server.URL + "/" + sum.Encoded(), Digest: sum.String()},
	})
}

func (s *stage) target() release.Target {
	return release.Target{Name: "app", Namespace: s.namespace, StorageNamespace: s.namespace}
}

func (s *stage) newest() release.Revision {
	s.t.Helper()
	all, err := s.runner.History(s.t.Context(), s.conn, s.target(), nil)
	s.must(err)
	if len(all) == 0 {
		s.t.Fatal("nothing is stored")
	}
	return all[0]
}

func (s *stage) succeed(action release.Action, files map[string]string, filters ...release.TestFilter) {
	s.t.Helper()
	if out := s.perform(s.t.Context(), action, files, filters...); out.Err != nil {
		s.t.Fatalf("%s: %v", release.Name(action), out.Err)
	}
}

// later edits an object as soon as it exists, in place of another controller.
func later[T client.Object](s *stage, name string, object T, edit func(T)) (wait func()) {
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	go func() {
		for {
			err := suite.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, object)
			if err == nil {
				edit(object)
				err = suite.client.Status().Update(ctx, object)
			}
			if err == nil || ctx.Err() != nil {
				done <- err
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return func() {
		s.t.Helper()
		defer cancel()
		s.must(<-done)
	}
}

const (
	stageConfigMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\ndata:\n  message: "
	stagePod       = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: NAME\n  annotations: {helm.sh/hook: test}\nspec:\n  restartPolicy: Never\n  containers: [{name: a, image: none}]\n"
	stageJob       = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  annotations: {helm.sh/hook: pre-rollback}\nspec:\n  template:\n    spec:\n      restartPolicy: Never\n      containers: [{name: a, image: none}]\n"
	stageDeploy    = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers: [{name: a, image: none}]\n"
)

func succeeded(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }

// TestTestsOnARealServer: two tests, one of which is left out, and the record is
// whole before, during and after.
func TestTestsOnARealServer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	files := map[string]string{
		"templates/cm.yaml": stageConfigMap + "one\n",
		"templates/a.yaml":  strings.Replace(stagePod, "NAME", "first", 1),
		"templates/b.yaml":  strings.Replace(stagePod, "NAME", "second", 1),
	}
	s.succeed(release.Install{Timeout: patience}, files)
	before := s.newest()
	wait := later(s, "first", &corev1.Pod{}, func(p *corev1.Pod) {
		during := s.newest()
		if len(during.Tests) != 2 || during.Tests["first"].Phase != helmv2.TestPhaseRunning || during.Digest != before.Digest {
			t.Errorf("during the test: %+v", during)
		}
		succeeded(p)
	})
	s.succeed(release.Test{Timeout: patience}, files, release.TestFilter{Name: "second", Exclude: true})
	wait()
	after := s.newest()
	if len(after.Tests) != 2 || after.Tests["first"].Phase != helmv2.TestPhaseSucceeded || after.Tests["second"] != (release.TestRun{}) || after.Digest != before.Digest {
		t.Errorf("after the test: %+v", after)
	}
	wait = later(s, "second", &corev1.Pod{}, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	out := s.perform(t.Context(), release.Test{Timeout: patience}, files, release.TestFilter{Name: "second"})
	wait()
	if out.Err == nil || !strings.HasPrefix(out.Err.Error(), "test second failed: ") || s.newest().Tests["second"].Phase != "Failed" {
		t.Errorf("error %v, %+v", out.Err, s.newest())
	}
}

// TestRollbackOnARealServer: a rollback whose hook fails does not stay pending, so that the next
// one can succeed.
func TestRollbackOnARealServer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	files := map[string]string{"templates/cm.yaml": stageConfigMap + "one\n", "templates/hook.yaml": stageJob}
	s.succeed(release.Install{Timeout: patience}, files)
	changed := maps.Clone(files)
	changed["templates/cm.yaml"] = stageConfigMap + "two\n"
	s.succeed(release.Upgrade{Timeout: patience}, changed)

	end := func(kind batchv1.JobConditionType) func(*batchv1.Job) {
		return func(j *batchv1.Job) {
			now := metav1.Now()
			j.Status.StartTime = &now
			because := batchv1.JobSuccessCriteriaMet
			if kind == batchv1.JobFailed {
				because = batchv1.JobFailureTarget
			} else {
				j.Status.CompletionTime, j.Status.Succeeded = &now, 1
			}
			for _, c := range []batchv1.JobConditionType{because, kind} {
				j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: now})
			}
		}
	}
	back := release.Rollback{Timeout: patience, Version: 1}
	wait := later(s, "migrate", &batchv1.Job{}, end(batchv1.JobFailed))
	out := s.perform(t.Context(), back, files)
	wait()
	if out.Err == nil || len(out.Revisions) != 1 || out.Revisions[0].Version != 3 || out.Revisions[0].Status != helmv2.StatusFailed {
		t.Fatalf("error %v, revisions %+v", out.Err, out.Revisions)
	}
	if got := s.newest(); got.Digest != out.Revisions[0].Digest {
		t.Errorf("the reported revision differs from the stored one: %+v", got)
	}
	var left batchv1.Job
	s.must(suite.client.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "migrate"}, &left))
	s.must(suite.client.Delete(t.Context(), &left, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	wait = later(s, "migrate", &batchv1.Job{}, end(batchv1.JobComplete))
	s.succeed(back, files)
	wait()
	if got := s.newest(); got.Version != 4 || got.Status != helmv2.StatusDeployed || s.configMap("app").Data["message"] != "one" {
		t.Errorf("newest %+v, objects %v", got, s.configMap("app").Data)
	}
}

// TestRecheckOnARealServer: a release that failed because its objects became ready late is
// rechecked, with either wait strategy.
func TestRecheckOnARealServer(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	for _, strategy := range []helmv2.WaitStrategyName{helmv2.WaitPoller, helmv2.WaitLegacy} {
		t.Run(string(strategy), func(t *testing.T) {
			s := newStage(t)
			s.spec.WaitStrategy = &helmv2.WaitStrategy{Name: strategy}
			files := map[string]string{"templates/deployment.yaml": stageDeploy}
			if out := s.perform(t.Context(), release.Install{Timeout: 100 * time.Millisecond}, files); out.Err == nil || s.newest().Status != helmv2.StatusFailed {
				t.Fatalf("error %v", out.Err)
			}
			stored := helm.ReadRequest{Target: s.target(), Version: 1, Spec: s.spec}
			if h, err := s.runner.Health(t.Context(), s.conn, stored); err != nil || h.Ready || len(h.Waiting) != 1 {
				t.Errorf("health %+v, %v", h, err)
			}
			var d appsv1.Deployment
			s.must(suite.client.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "app"}, &d))
			// The legacy wait strategy reads ReplicaSets.
			controlled := true
			s.must(suite.client.Create(t.Context(), &appsv1.ReplicaSet{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: s.namespace, Name: "app", Labels: map[string]string{"a": "b"},
					OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "app", UID: d.UID, Controller: &controlled}},
				},
				Spec: appsv1.ReplicaSetSpec{Selector: d.Spec.Selector, Template: d.Spec.Template},
			}))
			var set appsv1.ReplicaSet
			s.must(suite.client.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "app"}, &set))
			set.Status = appsv1.ReplicaSetStatus{ObservedGeneration: set.Generation, Replicas: 1, ReadyReplicas: 1}
			s.must(suite.client.Status().Update(t.Context(), &set))
			d.Status = appsv1.DeploymentStatus{
				ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
				Conditions: []appsv1.DeploymentCondition{
					{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue},
					{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
				},
			}
			s.must(suite.client.Status().Update(t.Context(), &d))
			if h, err := s.runner.Health(t.Context(), s.conn, stored); err != nil || !h.Ready {
				t.Errorf("health %+v, %v", h, err)
			}
			s.succeed(release.Recheck{Timeout: patience, Version: 1}, files)
			if got := s.newest(); got.Version != 1 || got.Status != helmv2.StatusDeployed || got.Description != "Install complete" {
				t.Errorf("newest %+v", got)
			}
		})
	}
}

// TestHealthByExpression: a health check expression decides readiness, and an invalid one is
// reported.
func TestHealthByExpression(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("health", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("health", map[string]any{"message": "wait"}, func(hr *helmv2.HelmRelease) {
		hr.Spec.HealthCheckExprs = []helmv2.CustomHealthCheck{{APIVersion: "v1", Kind: "ConfigMap", Current: "data.message =="}}
	})
	w.untilSays(hr, "Ready", metav1.ConditionFalse, helmv2.ReasonInvalidCELExpression,
		"Reconciliation failed terminally due to configuration error: spec.healthCheckExprs[0].current: ")
	if c := condition(hr, helmv2.ConditionStalled); c.Status != metav1.ConditionTrue || c.Reason != helmv2.ReasonInvalidCELExpression {
		t.Errorf("stalled %+v", c)
	}
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.HealthCheckExprs[0].Current = "data.message == 'go'" })
	w.until(hr, "the objects", func(*helmv2.HelmRelease) bool { return len(w.stored("health")) == 1 })
	w.until(hr, "the wait", func(hr *helmv2.HelmRelease) bool {
		return condition(hr, "Ready").Status == metav1.ConditionUnknown && condition(hr, helmv2.ConditionReconciling).Status == metav1.ConditionTrue
	})
	cm := &corev1.ConfigMap{}
	w.until(hr, "the ConfigMap", func(*helmv2.HelmRelease) bool {
		return suite.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "health"}, cm) == nil
	})
	cm.Data["message"] = "go"
	w.must(suite.client.Update(t.Context(), cm))
	w.untilReady(hr)
}
