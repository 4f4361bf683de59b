// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bubble

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// policy creates a ReleasePolicy.
func (w *world) policy(name string, spec v1alpha1.ReleasePolicySpec) *v1alpha1.ReleasePolicy {
	w.Helper()
	p := &v1alpha1.ReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
	w.create(p)
	return p
}

// untilHeld lets time pass until a policy holds an action of a release, which counts no failure.
func (w *world) untilHeld(hr *helmv2.HelmRelease, reason string, texts ...string) {
	w.Helper()
	w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionUnknown, reason, texts...)
	if hr.Status.Failures != 0 || hr.Status.UpgradeFailures != 0 || condition(hr, helmv2.ConditionStalled).Type != "" {
		w.Errorf("waiting counts as failed: %+v", hr.Status)
	}
}

// TestFreeze: a freeze holds upgrades and uninstalls for hours without a write, and its end lets them
// go at once.
func TestFreeze(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		hr := w.release("app", "one")
		w.untilReady(hr)
		before := hr.ResourceVersion
		freeze := w.policy("incident", v1alpha1.ReleasePolicySpec{Freeze: "incident 4711"})
		w.quiet(time.Hour)
		if w.read(hr); hr.ResourceVersion != before {
			t.Errorf("a freeze changes a release in sync: %+v", hr.Status.Conditions)
		}
		w.says(hr, "two")
		w.untilHeld(hr, helmv2.ReasonFrozen, "ReleasePolicy/incident", "incident 4711", "'upgrade' action waits")
		time.Sleep(time.Minute)
		w.quiet(7 * time.Hour)
		w.remove(freeze)
		if took := w.untilMessage("app", "two"); took > time.Second {
			t.Errorf("it is upgraded %s after the freeze", took)
		}
		w.untilReady(hr)
		freeze = w.policy("incident", v1alpha1.ReleasePolicySpec{Freeze: "incident 4712"})
		w.settle()
		w.remove(hr)
		w.untilHeld(hr, helmv2.ReasonFrozen, "incident 4712", "'uninstall' action waits")
		time.Sleep(time.Minute)
		w.quiet(7 * time.Hour)
		w.remove(freeze)
		w.untilGone(hr)
		if got := w.message("app"); got != "" {
			t.Errorf("it still says %q", got)
		}
	})
}

// TestWindow: an upgrade waits for a window, with its plan and the time, and starts when the window
// opens. An upgrade that runs when it closes finishes, and drift is corrected meanwhile.
func TestWindow(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		hr := w.release("app", "one")
		w.untilReady(hr)
		opens := time.Now().UTC().Truncate(24 * time.Hour).Add(2 * time.Hour)
		w.policy("nights", v1alpha1.ReleasePolicySpec{Windows: []v1alpha1.Window{
			{Effect: v1alpha1.WindowAllow, Schedule: "0 2 * * *", Duration: metav1.Duration{Duration: time.Hour}},
		}})
		w.settle()
		w.says(hr, "two")
		w.untilHeld(hr, helmv2.ReasonAwaitingWindow, "ReleasePolicy/nights opens its window at "+opens.Format(time.RFC3339), "'upgrade' action waits")
		plan := &v1alpha1.ReleasePlan{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: hr.Name}}
		if w.read(plan); plan.Status.Digest == "" {
			t.Error("no plan says what waits")
		}
		w.untilMessage("app", "two")
		if late := time.Since(opens); late < 0 || late > time.Second {
			t.Errorf("it is upgraded %s after the window opens", late)
		}
		w.untilReady(hr)
		time.Sleep(time.Until(opens.Add(time.Hour)))
		w.untilGone(plan)
		w.says(hr, "three")
		w.untilHeld(hr, helmv2.ReasonAwaitingWindow, "opens its window at "+opens.Add(24*time.Hour).Format(time.RFC3339))

		// A plan that is rejected meanwhile is not applied in the window.
		plan = &v1alpha1.ReleasePlan{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: hr.Name}}
		w.read(plan)
		edit(w, plan, func(p *v1alpha1.ReleasePlan) { p.Spec.Rejected, p.Spec.RejectedBy = p.Status.Digest, "lead" })
		w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonRejected, "rejected by lead")
		time.Sleep(time.Until(opens.Add(25 * time.Hour)))
		if got := w.message("app"); got != "two" {
			t.Errorf("a rejected plan is applied: it says %q", got)
		}
	})
}

// TestPolicySelects: labels and the namespace select. A change of a policy's selector applies at once.
// A policy that cannot be evaluated holds the releases that it may select.
func TestPolicySelects(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		labels := map[string]string{"tier": "one"}
		cluster := &v1alpha1.ClusterReleasePolicy{ObjectMeta: metav1.ObjectMeta{Name: "maintenance"}}
		cluster.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		cluster.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "web"}}
		cluster.Spec.Freeze = "maintenance"
		w.create(cluster)
		w.policy("others", v1alpha1.ReleasePolicySpec{Freeze: "never", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "two"}}})
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		edit(w, ns, func(ns *corev1.Namespace) { ns.Labels = map[string]string{"team": "web"} })
		hr := w.release("app", "one", func(hr *helmv2.HelmRelease) { hr.Labels = labels })
		w.untilHeld(hr, helmv2.ReasonFrozen, "ClusterReleasePolicy/maintenance", "'install' action waits")
		time.Sleep(time.Minute)
		w.quiet(5 * time.Hour)
		edit(w, cluster, func(p *v1alpha1.ClusterReleasePolicy) { p.Spec.NamespaceSelector.MatchLabels["team"] = "other" })
		if took := w.untilMessage("app", "one"); took > time.Second {
			t.Errorf("it is installed after %s", took)
		}
		w.untilReady(hr)
		invalid := w.policy("invalid", v1alpha1.ReleasePolicySpec{Selector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Near"}},
		}})
		w.settle()
		w.says(hr, "two")
		w.untilHeld(hr, helmv2.ReasonPolicyUnavailable, "ReleasePolicy/invalid: spec.selector is invalid", "Near")
		w.remove(invalid)
		if took := w.untilMessage("app", "two"); took > time.Second {
			t.Errorf("it is upgraded after %s", took)
		}
	})
}

// TestPlaintextSecrets: values that look like credentials are refused outside of Secrets, and the release
// stays. Status has the key and not the value.
func TestPlaintextSecrets(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		w.policy("plaintext", v1alpha1.ReleasePolicySpec{Values: &v1alpha1.ValuesPolicy{
			Sources: []string{"HelmRelease", "Secret/app-*"}, PlaintextSecrets: v1alpha1.PlaintextSecretsDeny, Allow: []string{"*.token"},
		}})
		hr := w.release("app", "one")
		w.untilReady(hr)
		edit(w, hr, func(hr *helmv2.HelmRelease) {
			hr.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(`{"message":"two","auth":{"password":"hunter2"}}`)}
		})
		w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonPolicyRefused, "ReleasePolicy/plaintext refuses spec.values", "auth.password looks like")
		w.untilCondition(hr, helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonPolicyRefused)
		if raw := fmt.Sprint(hr.Status); strings.Contains(raw, "hunter2") || hr.Status.Failures != 0 || len(hr.Status.History) != 1 {
			t.Errorf("%s", raw)
		}
		time.Sleep(time.Minute)
		w.quiet(5 * time.Hour)
		edit(w, hr, func(hr *helmv2.HelmRelease) {
			hr.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(`{"message":"two","auth":{"token":"hunter2"}}`)}
		})
		w.untilMessage("app", "two")
		w.untilReady(hr)
		edit(w, hr, valuesFrom(helmv2.KindConfigMap))
		w.untilCondition(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonPolicyRefused, "refuses spec.valuesFrom[0]", "not from message of ConfigMap/")
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "app-values"}, Data: map[string][]byte{"message": []byte("three"), "password": []byte("hunter2")}}
		w.create(secret)
		edit(w, hr, func(hr *helmv2.HelmRelease) {
			hr.Spec.ValuesFrom = []helmv2.ValuesReference{
				{Kind: helmv2.KindSecret, Name: "app-values", ValuesKey: "message", TargetPath: "message"},
				{Kind: helmv2.KindSecret, Name: "app-values", ValuesKey: "password", TargetPath: "auth.password"},
			}
		})
		w.untilMessage("app", "three")
		w.untilReady(hr)
	})
}

// TestHeldReleasesSurviveRestarts: releases that a policy holds are not upgraded by restarts of the
// controller.
func TestHeldReleasesSurviveRestarts(t *testing.T) {
	inBubble(t, func(w *world) {
		const releases, restarts = 10, 5
		stop := w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		var all []*helmv2.HelmRelease
		for i := range releases {
			all = append(all, w.release(fmt.Sprint("app-", i), "one", func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = "app" }))
		}
		w.untilReady(all...)
		w.policy("incident", v1alpha1.ReleasePolicySpec{Freeze: "incident 4711"})
		w.settle()
		for _, hr := range all {
			w.says(hr, "two")
		}
		for _, hr := range all {
			w.untilHeld(hr, helmv2.ReasonFrozen)
		}
		for i := range restarts {
			stop()
			stop = w.start()
			for _, hr := range all {
				w.ask(hr, fmt.Sprint("restart ", i))
			}
			w.quiet(2 * time.Hour)
		}
		for _, hr := range all {
			if w.read(hr); newest(hr) != 1 || w.message(hr.Name) != "one" {
				t.Errorf("%s has revision %d and says %q", hr.Name, newest(hr), w.message(hr.Name))
			}
		}
	})
}

// policiesAnswer makes the API server answer requests for policies with a status code. The watches end.
func (w *world) policiesAnswer(code int) {
	w.answers(func(req *http.Request) *http.Response {
		if strings.HasSuffix(req.URL.Path, "policies") {
			return respond(req, code, "refused by the test")
		}
		return nil
	})
	w.api.HangUp(false)
}

// TestPoliciesForbidden: a controller that may not list policies any more begins nothing, and
// continues when it may. Drift is corrected meanwhile.
func TestPoliciesForbidden(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		hr := w.release("app", "one", correctsDrift)
		w.untilReady(hr)
		w.policiesAnswer(http.StatusForbidden)
		time.Sleep(time.Minute)
		w.says(hr, "two")
		w.untilHeld(hr, helmv2.ReasonPolicyUnavailable, "the policies of the release cannot be read", "pintle.dev cannot be listed and watched: refused by the test")
		w.edits("app", "edited")
		w.untilMessage("app", "one")
		time.Sleep(time.Hour)
		if w.read(hr); newest(hr) != 1 {
			t.Errorf("revision %d", newest(hr))
		}
		w.up()
		if took := w.untilMessage("app", "two"); took > time.Minute {
			t.Errorf("it is upgraded after %s", took)
		}
		w.untilReady(hr)
	})
}

// TestPoliciesForbiddenAtStart: a controller that has never listed policies begins nothing.
func TestPoliciesForbiddenAtStart(t *testing.T) {
	inBubble(t, func(w *world) {
		w.policiesAnswer(http.StatusForbidden)
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		hr := w.release("app", "one")
		w.untilHeld(hr, helmv2.ReasonPolicyUnavailable, "refused by the test")
		time.Sleep(time.Hour)
		if w.read(hr); newest(hr) != 0 {
			t.Errorf("revision %d", newest(hr))
		}
		w.up()
		w.untilReady(hr)
	})
}

// TestPoliciesInstalledLater: a controller runs without the CRDs of policies. It applies policies soon
// after they are installed, without a restart, and runs on after they are deleted.
func TestPoliciesInstalledLater(t *testing.T) {
	inBubble(t, func(w *world) {
		w.policy("incident", v1alpha1.ReleasePolicySpec{Freeze: "incident 4711"})
		kinds := offered()[v1alpha1.GroupVersion.String()]
		w.api.Withdraw(v1alpha1.GroupVersion.String())
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		hr := w.release("app", "one")
		w.untilReady(hr)
		w.api.Offer(v1alpha1.GroupVersion.String(), kinds...)
		w.api.Put("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/releasepolicies.pintle.dev", map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "releasepolicies.pintle.dev"},
		})
		time.Sleep(10 * time.Second)
		w.says(hr, "two")
		w.untilHeld(hr, helmv2.ReasonFrozen)
		w.api.Withdraw(v1alpha1.GroupVersion.String())
		w.untilMessage("app", "two")
		w.untilReady(hr)
	})
}

// TestPolicyCostsNoRequest: a policy that selects all and demands nothing adds no request to an
// upgrade.
func TestPolicyCostsNoRequest(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		hr := w.release("app", "zero")
		w.untilReady(hr)
		upgrade := func(message string) []string {
			return w.requests(func() {
				w.says(hr, message)
				w.untilMessage("app", message)
				w.untilReady(hr)
				time.Sleep(time.Minute)
			}, isPlain)
		}
		time.Sleep(time.Minute)
		upgrade("one")
		without := upgrade("two")
		w.policy("all", v1alpha1.ReleasePolicySpec{Approval: v1alpha1.ApprovalNever})
		time.Sleep(time.Minute)
		if with := upgrade("three"); len(with) != len(without) || len(without) == 0 {
			t.Errorf("with a policy:\n%s\nwithout:\n%s", strings.Join(with, "\n"), strings.Join(without, "\n"))
		}
	})
}

// TestApproval: an upgrade waits for hours for the approval of its plan, follows it at once, and the
// plan is deleted an hour after it was applied.
func TestApproval(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		hr := w.release("app", "one")
		w.untilReady(hr)
		w.policy("production", v1alpha1.ReleasePolicySpec{Approval: v1alpha1.ApprovalAlways})
		w.settle()
		w.says(hr, "two")
		w.untilHeld(hr, helmv2.ReasonAwaitingApproval, "sha256:")
		time.Sleep(time.Minute)
		w.quiet(7 * time.Hour)
		plan := &v1alpha1.ReleasePlan{}
		w.must(w.client.Get(t.Context(), client.ObjectKeyFromObject(hr), plan))
		edit(w, plan, func(p *v1alpha1.ReleasePlan) {
			p.Spec = v1alpha1.ReleasePlanSpec{Approved: p.Status.Digest, ApprovedBy: "editor"}
		})
		if took := w.untilMessage("app", "two"); took > 5*time.Second {
			t.Errorf("it is upgraded after %s", took)
		}
		w.untilReady(hr)
		time.Sleep(time.Second)
		if w.read(plan); !apimeta.IsStatusConditionTrue(plan.Status.Conditions, v1alpha1.ConditionApplied) {
			t.Errorf("the plan is %+v", plan.Status.Conditions)
		}
		applied := time.Now()
		w.untilGone(plan)
		if kept := time.Since(applied); kept < 59*time.Minute || kept > 66*time.Minute {
			t.Errorf("the plan is kept for %s", kept)
		}
	})
}

// correctsDrift makes a release correct drift.
func correctsDrift(hr *helmv2.HelmRelease) {
	hr.Spec.DriftDetection = &helmv2.DriftDetection{Mode: helmv2.DriftDetectionEnabled}
}

// edits changes the message in the ConfigMap of a release.
func (w *world) edits(name, message string) {
	w.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	w.read(cm)
	cm.Data["message"] = message
	w.must(w.client.Update(w.Context(), cm, client.FieldOwner("fighter")))
}
