// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net/http"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	appsv1 "k8s.io/api/apps/v1"
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
	return &stage{world: newWorld(t), conn: conn, runner: helm.NewRunner(chart.NewStore(chart.Options{Workers: workers(), Client: http.DefaultClient, MaxBytes: maxArtifact}), workers(), nil, sealKey(), time.Now)}
}

func (s *stage) perform(action release.HelmAction, files map[string]string) release.Outcome {
	s.t.Helper()
	archive := pack(s.t, "note", "1.0.0", files)
	sum := digest.FromBytes(archive)
	s.mu.Lock()
	s.artifacts["/"+sum.Encoded()] = archive
	s.mu.Unlock()
	return s.runner.Run(s.t.Context(), s.conn, helm.Job{
		Action: action,
		Desired: release.Desired{
			UID: "stage", Target: s.target(), Chart: release.Chart{Name: "note", Version: "1.0.0"},
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

func (s *stage) succeed(action release.HelmAction, files map[string]string) {
	s.t.Helper()
	if out := s.perform(action, files); out.Err != nil {
		s.t.Fatalf("%s: %v", release.Name(action), out.Err)
	}
}

const stageDeploy = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers: [{name: a, image: none}]\n"

// TestRecheckOnARealServer: a release that failed because its objects became ready late is
// rechecked, with either wait strategy.
func TestRecheckOnARealServer(t *testing.T) {
	t.Parallel()
	for _, strategy := range []helmv2.WaitStrategyName{helmv2.WaitPoller, helmv2.WaitLegacy} {
		t.Run(string(strategy), func(t *testing.T) {
			s := newStage(t)
			s.spec.WaitStrategy = &helmv2.WaitStrategy{Name: strategy}
			files := map[string]string{"templates/deployment.yaml": stageDeploy}
			if out := s.perform(release.Install{Timeout: 100 * time.Millisecond}, files); out.Err == nil || s.newest().Status != helmv2.StatusFailed {
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
