// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bubble

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const bakeTime = 5 * time.Minute

// bakes makes all releases bake. A ConfigMap with the message "bad" is trouble.
func (w *world) bakes() *v1alpha1.ReleasePolicy {
	w.Helper()
	return w.policy("fleet", v1alpha1.ReleasePolicySpec{Rollout: &v1alpha1.Rollout{
		BakeTime:  metav1.Duration{Duration: bakeTime},
		BakeExprs: []v1alpha1.BakeExpr{{APIVersion: "v1", Kind: "ConfigMap", Failed: "data.message == 'bad'"}},
	}})
}

// rollsBack makes a release roll back after a failed upgrade.
func rollsBack(hr *helmv2.HelmRelease) {
	hr.Spec.Upgrade = &helmv2.Upgrade{Remediation: &helmv2.UpgradeRemediation{RemediateLastFailure: new(true)}}
}

// untilBaking lets time pass until a release bakes.
func (w *world) untilBaking(hr *helmv2.HelmRelease) {
	w.Helper()
	w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonBaking, "ReleasePolicy/fleet demands", "Trouble until ")
	if !apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.ConditionBaking) || !apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.ConditionReconciling) {
		w.Errorf("%+v", hr.Status.Conditions)
	}
}

// baked returns a release after its bake. A failed upgrade of it is rolled back.
func (w *world) baked() *helmv2.HelmRelease {
	w.Helper()
	w.publish("app", "1.0.0", w.note("1.0.0"))
	w.bakes()
	w.settle()
	hr := w.release("app", "one", rollsBack)
	w.untilReady(hr)
	return hr
}

// TestBake: a release is watched after an install and an upgrade, also across a restart, and is Ready at
// the end. Then nothing is read. Without the policy, it is Ready at once.
func TestBake(t *testing.T) {
	inBubble(t, func(w *world) {
		stop := w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		policy := w.bakes()
		w.settle()
		began := time.Now()
		hr := w.release("app", "one")
		w.untilBaking(hr)
		version := hr.ResourceVersion
		time.Sleep(3 * time.Minute)
		if w.read(hr); hr.ResourceVersion != version {
			t.Errorf("status is written meanwhile: %+v", hr.Status.Conditions)
		}
		stop()
		time.Sleep(time.Minute)
		w.start()
		w.untilReady(hr)
		if took := time.Since(began); took < bakeTime || took > bakeTime+5*time.Second {
			t.Errorf("it is ready after %s", took)
		}
		if len(w.events(helmv2.EventReasonBakeSucceeded)) != 1 || condition(hr, helmv2.ConditionBaking).Type != "" {
			t.Errorf("events %q, conditions %+v", w.events(helmv2.EventReasonBakeSucceeded), hr.Status.Conditions)
		}
		time.Sleep(time.Second)
		w.quiet(50 * time.Minute)

		w.says(hr, "two")
		w.untilBaking(hr)
		w.says(hr, "three")
		w.untilMessage("app", "three")
		w.untilBaking(hr)
		w.remove(policy)
		w.untilReady(hr)
	})
}

// TestBakeFails: trouble in a bake is a failure of the upgrade, which is rolled back. After it, nothing is.
func TestBakeFails(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		hr := w.baked()
		w.edits("app", "bad")
		w.quiet(30 * time.Minute)
		w.edits("app", "one")
		w.says(hr, "two")
		w.untilBaking(hr)
		time.Sleep(2 * time.Minute)
		w.edits("app", "bad")
		w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonRollbackSucceeded, "in trouble now", "ReleasePolicy/fleet", "bakeExprs[0]")
		if w.message("app") != "one" || newest(hr) != 3 || hr.Status.UpgradeFailures != 1 || condition(hr, helmv2.ConditionBaking).Type != "" {
			t.Errorf("it says %q: %+v", w.message("app"), hr.Status)
		}
		time.Sleep(time.Minute)
		w.quiet(30 * time.Minute)
		w.says(hr, "three")
		w.untilBaking(hr)
		w.untilReady(hr)
	})
}

// TestBakeFailsAtDeath: a process dies when it has marked a revision as failed. The next one rolls back.
func TestBakeFailsAtDeath(t *testing.T) {
	inBubble(t, func(w *world) {
		stop := w.start()
		hr := w.baked()
		w.says(hr, "two")
		w.untilBaking(hr)
		isDead := w.dies(func(req *http.Request) bool {
			return req.Method == http.MethodPut && strings.HasSuffix(req.URL.Path, "sh.helm.release.v1.app.v2")
		})
		w.edits("app", "bad")
		w.until("the death", isDead)
		stop()
		w.up()
		w.start()
		w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonRollbackSucceeded)
		if w.message("app") != "one" || newest(hr) != 3 || hr.Status.UpgradeFailures != 1 {
			t.Errorf("it says %q: %+v", w.message("app"), hr.Status)
		}
	})
}

// TestBakeReadiness: an object that is unready for a moment is no trouble. One that stays so is, and so is
// a container that fails again and again, although it is ready in between.
func TestBakeReadiness(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.chart("1.0.0", map[string]string{
			"templates/all.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app, annotations: {message: {{ .Values.message }}}}\n" +
				"spec: {paused: true, selector: {matchLabels: {app: app}}}\n",
		}))
		w.bakes()
		w.settle()
		hr := w.release("app", "one", rollsBack)
		w.untilReady(hr)
		upgrade := func(message string) {
			w.says(hr, message)
			w.untilBaking(hr)
			time.Sleep(time.Minute)
		}
		// A paused Deployment counts as ready.
		ready := func(is bool) {
			deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app"}}
			w.read(deployment)
			deployment.Spec.Paused = is
			w.must(w.client.Update(w.Context(), deployment, client.FieldOwner("fighter")))
		}
		upgrade("two")
		ready(false)
		time.Sleep(40 * time.Second)
		ready(true)
		w.untilReady(hr)

		upgrade("three")
		ready(false)
		w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonRollbackSucceeded, "in trouble now", "Deployment")
		time.Sleep(time.Minute)

		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app-1-a", Labels: map[string]string{"app": "app"}}}
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "app-1", UID: "1", Controller: new(true)}}
		w.create(pod)
		upgrade("four")
		fails := func(times int32) {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: "app", Ready: true, RestartCount: times, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, FinishedAt: metav1.Now()}},
			}}
			w.must(w.client.Status().Update(w.Context(), pod))
		}
		fails(1)
		time.Sleep(time.Minute)
		w.untilBaking(hr)
		fails(2)
		w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonRollbackSucceeded, "container app", "exited with code 3")
		if at := condition(hr, helmv2.ConditionFailing); at.Reason != helmv2.FailureCrashLoop {
			t.Errorf("the cause is %+v", at)
		}
	})
}

// TestBakeExprInvalid: an expression that cannot be compiled is named, with its policy, and the bake goes on
// when it is corrected.
func TestBakeExprInvalid(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		policy := w.bakes()
		edit(w, policy, func(p *v1alpha1.ReleasePolicy) { p.Spec.Rollout.BakeExprs[0].Failed = "data.message ==" })
		w.settle()
		hr := w.release("app", "one")
		w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonPolicyUnavailable, "ReleasePolicy/fleet: spec.rollout.bakeExprs[0].failed")
		edit(w, policy, func(p *v1alpha1.ReleasePolicy) { p.Spec.Rollout.BakeExprs = nil })
		w.untilBaking(hr)
		w.untilReady(hr)
	})
}

// TestBakeOutage: an API server that does not answer is no trouble of the release.
func TestBakeOutage(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		hr := w.baked()
		w.says(hr, "two")
		w.untilBaking(hr)
		w.answers(func(req *http.Request) *http.Response {
			if strings.Contains(req.URL.Path, "/configmaps") {
				return respond(req, http.StatusServiceUnavailable, "down")
			}
			return nil
		})
		time.Sleep(4 * time.Minute)
		w.up()
		w.untilReady(hr)
		if newest(hr) != 2 || hr.Status.UpgradeFailures != 0 || len(w.events(helmv2.EventReasonBakeSucceeded)) != 2 {
			t.Errorf("%+v, events %s", hr.Status, fmt.Sprint(w.events(helmv2.EventReasonBakeSucceeded)))
		}
	})
}
