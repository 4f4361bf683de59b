// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// scaledChart has a Deployment with 2 replicas.
func scaledChart(t *testing.T) []byte {
	t.Helper()
	return pack(t, "scaled", "1.0.0", map[string]string{"templates/scaled.yaml": scaledTemplate})
}

// autoscaler creates a HorizontalPodAutoscaler for a Deployment. Nothing in the control plane
// carries it out.
func (w *world) autoscaler(name string, minimum ...int32) *autoscalingv2.HorizontalPodAutoscaler {
	w.t.Helper()
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name + "-hpa"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			MaxReplicas:    9,
		},
	}
	for _, n := range minimum {
		hpa.Spec.MinReplicas = &n
	}
	w.must(suite.client.Create(w.t.Context(), hpa))
	return hpa
}

// scaleAs sets the replicas of a Deployment through the scale subresource.
func (w *world) scaleAs(manager, name string, n int32) {
	w.t.Helper()
	to := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: n}}
	w.must(suite.client.SubResource("scale").Update(w.t.Context(), w.deployed(name), client.WithSubResourceBody(to), client.FieldOwner(manager)))
}

func (w *world) replicas(name string) int32 {
	w.t.Helper()
	d := &appsv1.Deployment{}
	w.must(suite.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, d))
	return *d.Spec.Replicas
}

func (w *world) untilReplicas(name string, n int32) {
	w.t.Helper()
	untilTrue(w, "the replicas of the chart", func() bool { return w.replicas(name) == n })
}

// TestScaledByHand: replicas that `kubectl scale` sets are corrected, even if an autoscaler targets
// the object. Replicas of another client are corrected once no autoscaler targets it, and so are 0
// replicas, from which the autoscaler would not scale up.
func TestScaledByHand(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", scaledChart(t))
	hr := w.release("app", nil, detecting(helmv2.DriftDetectionEnabled))
	w.untilReady(hr)
	w.scaleAs("kubectl", "app", 7)
	w.untilReplicas("app", 2)
	w.untilEvent(hr, "Warning", helmv2.ReasonDriftDetected, ".spec.replicas: 7 instead of 2", "by kubectl (Update of scale)")
	w.scaleAs("kubectl", "app", 0)
	w.untilReplicas("app", 2)
	w.untilEvent(hr, "Warning", helmv2.ReasonDriftDetected, ".spec.replicas: 0 instead of 2")

	hpa := w.autoscaler("app")
	w.scaleAs("kubectl", "app", 6)
	w.untilReplicas("app", 2)
	w.scaleAs("scaler", "app", 5)
	w.untilEvent(hr, "Normal", helmv2.ReasonDriftCeded, "Deployment/"+w.namespace+"/app is left to HorizontalPodAutoscaler app-hpa", ".spec.replicas, by scaler (Update of scale)")
	w.scaleAs("scaler", "app", 0)
	w.untilReplicas("app", 2)
	w.scaleAs("scaler", "app", 5)
	w.untilSays(hr, helmv2.ConditionDrifted, metav1.ConditionFalse, helmv2.ReasonNoDriftDetected, "app-hpa")

	// As with Helm, an upgrade sets the replicas of the chart. The autoscaler changes them again.
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, map[string]any{"message": "again"}) })
	w.untilReplicas("app", 2)
	w.untilReady(hr)
	w.scaleAs("scaler", "app", 4)
	w.untilSays(hr, helmv2.ConditionDrifted, metav1.ConditionFalse, helmv2.ReasonNoDriftDetected, "app-hpa")

	w.must(suite.client.Delete(t.Context(), hpa))
	// A further change by the same client triggers nothing, and is found by the next reconciliation.
	w.scaleAs("scaler", "app", 3)
	w.ask(hr, "untargeted")
	w.untilReplicas("app", 2)
}

// TestScaledUnseen: a release that may not list autoscalers leaves replicas alone and says so,
// except those of `kubectl scale` and 0.
func TestScaledUnseen(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	w.account("tenant", "secrets")
	w.grant("deployer", rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: "tenant"}, rule("apps", []string{"deployments"}, []string{"*"}))
	w.publish("app", "1.0.0", scaledChart(t))
	hr := w.release("app", nil, as("tenant"), detecting(helmv2.DriftDetectionEnabled))
	w.untilReady(hr)
	w.scaleAs("scaler", "app", 5)
	w.untilEvent(hr, "Warning", helmv2.ReasonDriftCeded, "may not list horizontalpodautoscalers in namespace "+w.namespace)
	w.scaleAs("kubectl", "app", 7)
	w.untilReplicas("app", 2)
	w.scaleAs("scaler", "app", 0)
	w.untilReplicas("app", 2)
}

// TestScaledToZero: 0 replicas are left to an autoscaler that scales to zero, with an event.
func TestScaledToZero(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", scaledChart(t))
	hr := w.release("app", nil, detecting(helmv2.DriftDetectionEnabled))
	w.untilReady(hr)
	hpa := w.autoscaler("app")
	hpa.OwnerReferences = []metav1.OwnerReference{{APIVersion: "keda.sh/v1alpha1", Kind: "ScaledObject", Name: "app", UID: "1", Controller: new(true)}}
	w.must(suite.client.Update(t.Context(), hpa))
	w.scaleAs("keda", "app", 5)
	w.untilEvent(hr, "Normal", helmv2.ReasonDriftCeded, "HorizontalPodAutoscaler app-hpa", ".spec.replicas, by keda (Update of scale)")
	w.scaleAs("keda", "app", 0)
	w.untilEvent(hr, "Normal", helmv2.ReasonDriftCeded, ".spec.replicas. It is 0: no Pod runs")
	if n := w.replicas("app"); n != 0 {
		t.Errorf("%d replicas", n)
	}
}
