// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// planNow requests a plan of the HelmRelease, and waits for it until it satisfies ok. The token must be new.
func (w *world) planNow(hr *helmv2.HelmRelease, token string, ok func(*v1alpha1.ReleasePlan) bool) *v1alpha1.ReleasePlan {
	w.t.Helper()
	w.annotate(hr, v1alpha1.AnnotationPlan, token)
	return w.untilPlanned(hr, "requested by "+token, func(p *v1alpha1.ReleasePlan) bool {
		return p.Status.LastHandledPlanAt == token && ok(p)
	})
}

// untilPlanned waits for a plan of the HelmRelease that satisfies ok.
func (w *world) untilPlanned(hr *helmv2.HelmRelease, what string, ok func(*v1alpha1.ReleasePlan) bool) *v1alpha1.ReleasePlan {
	w.t.Helper()
	plan := &v1alpha1.ReleasePlan{}
	untilTrue(w, "a plan: "+what, func() bool {
		err := suite.client.Get(w.t.Context(), client.ObjectKeyFromObject(hr), plan)
		w.must(client.IgnoreNotFound(err))
		return err == nil && ok(plan)
	}, &v1alpha1.ReleasePlan{ObjectMeta: metav1.ObjectMeta{Namespace: hr.Namespace, Name: hr.Name}})
	return plan
}

// untilAwaits waits until the present generation awaits the approval of a plan, and returns the plan.
func (w *world) untilAwaits(hr *helmv2.HelmRelease) *v1alpha1.ReleasePlan {
	w.t.Helper()
	w.until(hr, "AwaitingApproval", func(hr *helmv2.HelmRelease) bool {
		c := condition(hr, helmv2.ConditionReady)
		return c.Status == metav1.ConditionUnknown && c.Reason == helmv2.ReasonAwaitingApproval && hr.Status.ObservedGeneration == hr.Generation
	})
	return w.untilPlanned(hr, "the one in the condition", func(p *v1alpha1.ReleasePlan) bool {
		return p.Status.Digest != "" && strings.Contains(condition(hr, helmv2.ConditionReady).Message, p.Status.Digest)
	})
}

// approver is the user of the suite.
func (w *world) approver() string {
	w.t.Helper()
	return "admin"
}

// approve approves a plan.
func (w *world) approve(plan *v1alpha1.ReleasePlan) {
	w.t.Helper()
	before := plan.DeepCopy()
	plan.Spec = v1alpha1.ReleasePlanSpec{Approved: plan.Status.Digest, ApprovedBy: w.approver()}
	w.must(suite.client.Patch(w.t.Context(), plan, client.MergeFrom(before)))
}

func planCondition(plan *v1alpha1.ReleasePlan, kind string) string {
	c := apimeta.FindStatusCondition(plan.Status.Conditions, kind)
	if c == nil {
		return ""
	}
	return string(c.Status) + "/" + c.Reason
}

// changeOf returns the change of an object in a plan.
func changeOf(plan *v1alpha1.ReleasePlan, kind, name string) v1alpha1.PlanChange {
	for _, c := range plan.Status.Changes {
		if c.Kind == kind && c.Name == name {
			return c
		}
	}
	return v1alpha1.PlanChange{}
}

// claiming returns a chart with a ConfigMap and, if claim is true, a PersistentVolumeClaim.
func claiming(t *testing.T, name, version string, claim bool) []byte {
	t.Helper()
	files := map[string]string{
		"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  message: {{ .Values.message | quote }}\n",
		"values.yaml":       "message: default\n",
	}
	if claim {
		files["templates/pvc.yaml"] = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: cache\nspec:\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}\n"
	}
	return pack(t, name, version, files)
}

// protected installs a release with a PersistentVolumeClaim and protects that.
func (w *world) protected() *helmv2.HelmRelease {
	w.t.Helper()
	w.publish("app", "1.0.0", claiming(w.t, "app", "1.0.0", true))
	hr := w.release("app", map[string]any{"message": "one"}, func(hr *helmv2.HelmRelease) {
		// No volume is bound here.
		hr.Spec.Install, hr.Spec.Upgrade = &helmv2.Install{DisableWait: true}, &helmv2.Upgrade{DisableWait: true}
		hr.Spec.Uninstall = &helmv2.Uninstall{DisableWait: true}
	})
	w.untilReady(hr)
	w.policy("production", v1alpha1.ReleasePolicySpec{Protect: []v1alpha1.Protection{{
		Kinds:      []string{"PersistentVolumeClaim"},
		Operations: []v1alpha1.ProtectedOperation{v1alpha1.ProtectDelete, v1alpha1.ProtectReplace, v1alpha1.ProtectReinstall},
	}}})
	return hr
}

// expectUntouched checks that the release is as it was installed.
func (w *world) expectUntouched(versions map[string]string) {
	w.t.Helper()
	for name, version := range w.versions() {
		if versions[name] != version {
			w.t.Errorf("%s was written: version %s, before %s", name, version, versions[name])
		}
	}
	if len(w.versions()) != len(versions) {
		w.t.Errorf("the objects are %v, before %v", w.versions(), versions)
	}
}

// versions returns the resourceVersions of the objects and the records of the release.
func (w *world) versions() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	cm, pvc := w.configMap("app"), &corev1.PersistentVolumeClaim{}
	w.must(suite.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "cache"}, pvc))
	all["ConfigMap"], all["PersistentVolumeClaim"] = cm.ResourceVersion, pvc.ResourceVersion
	for _, record := range w.stored("app") {
		all[record.Name] = record.ResourceVersion
	}
	return all
}

// TestProtectedChart: an upgrade that drops a PersistentVolumeClaim waits until its plan is approved.
// Before, nothing of the release is written. Then exactly the plan is carried out.
func TestProtectedChart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hr := w.protected()
	before := w.versions()
	w.publish("app", "1.1.0", claiming(t, "app", "1.1.0", false))
	plan := w.untilAwaits(hr)
	if d := plan.Status.Dangers; len(d) != 1 || d[0].Class != v1alpha1.DataLoss || d[0].Kind != "PersistentVolumeClaim" || d[0].Namespace != hr.Namespace {
		t.Errorf("dangers %+v", d)
	}
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonAwaitingApproval, "PersistentVolumeClaim/cache", "ReleasePolicy/production")
	w.untilEvent(hr, corev1.EventTypeNormal, helmv2.ReasonAwaitingApproval, plan.Status.Digest)
	if c := changeOf(plan, "PersistentVolumeClaim", "cache"); c.Change != v1alpha1.ChangeDelete || !c.Destructive || plan.Status.Summary.Delete != 1 {
		t.Errorf("the plan is %+v", plan.Status)
	}
	if from, to := plan.Status.From, plan.Status.To; from == nil || to == nil || !strings.HasPrefix(from.Chart, "app@1.0.0+") || from.Revision != 1 || !strings.HasPrefix(to.Chart, "app@1.1.0") {
		t.Errorf("the plan leads from %+v to %+v", from, to)
	}
	if got := planCondition(plan, v1alpha1.ConditionApproved); got != "False/AwaitingApproval" {
		t.Errorf("Approved is %s", got)
	}
	w.quiet(hr)
	w.expectUntouched(before)

	plan.Status.Digest, before = "sha256:0", w.versions()
	other := plan.DeepCopy()
	w.approve(other)
	w.quiet(hr)
	w.expectUntouched(before)

	plan = w.untilAwaits(hr)
	w.approve(plan)
	w.until(hr, "the upgrade", func(hr *helmv2.HelmRelease) bool { return newest(hr) == 2 })
	w.untilReady(hr)
	plan = w.untilPlanned(hr, "applied", func(p *v1alpha1.ReleasePlan) bool {
		return planCondition(p, v1alpha1.ConditionApplied) == "True/Applied"
	})
	if plan.Status.AppliedAt == nil || planCondition(plan, v1alpha1.ConditionApproved) != "True/Approved" {
		t.Errorf("the plan is %+v", plan.Status)
	}
	w.untilEvent(hr, corev1.EventTypeNormal, helmv2.ReasonUpgradeSucceeded, "approved by "+w.approver())
	record, _ := w.recordOf("app", 2)
	if by := record.Annotations[v1alpha1.AnnotationApprovedBy]; by != w.approver() {
		t.Errorf("the record is approved by %q", by)
	}
	w.expectNoText()
}

// expectNoText checks that no rendered text of a plan is stored any more.
func (w *world) expectNoText() {
	w.t.Helper()
	var texts corev1.SecretList
	w.must(suite.client.List(w.t.Context(), &texts, client.InNamespace(w.namespace), client.HasLabels{v1alpha1.LabelPlan}))
	if len(texts.Items) > 0 {
		w.t.Errorf("the rendered text is still stored: %s", texts.Items[0].Name)
	}
}

// TestProtectedUninstall: the deletion of the HelmRelease waits until the plan of the uninstall is
// approved: by its spec or, during a foreground deletion, by an annotation.
func TestProtectedUninstall(t *testing.T) {
	t.Parallel()
	for name, foreground := range map[string]bool{"Background": false, "Foreground": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			hr := w.protected()
			before := w.versions()
			propagation := client.PropagationPolicy(metav1.DeletePropagationBackground)
			if foreground {
				propagation = client.PropagationPolicy(metav1.DeletePropagationForeground)
			}
			w.must(suite.client.Delete(t.Context(), hr, propagation))
			w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonAwaitingApproval, "PersistentVolumeClaim/cache", "Plan sha256:")
			w.quiet(hr)
			w.expectUntouched(before)
			pvc := &corev1.PersistentVolumeClaim{}
			w.must(suite.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "cache"}, pvc))
			if foreground {
				// Without a garbage collector, the HelmRelease keeps its finalizer.
				_, digest, _ := strings.Cut(condition(hr, helmv2.ConditionReady).Message, "Plan sha256:")
				w.annotate(hr, v1alpha1.AnnotationApprove, "sha256:"+strings.Fields(digest)[0])
				w.unprotect(pvc)
				w.until(hr, "the uninstall", func(hr *helmv2.HelmRelease) bool { return !slices.Contains(hr.Finalizers, helmv2.Finalizer) })
				w.expectNoText()
				return
			}
			w.approve(w.untilAwaits(hr))
			w.unprotect(pvc)
			w.untilGone(hr)
			if err := suite.client.Get(t.Context(), client.ObjectKeyFromObject(hr), &v1alpha1.ReleasePlan{}); !apierrors.IsNotFound(err) {
				t.Errorf("the plan is still there: %v", err)
			}
			w.expectNoText()
		})
	}
}

// TestPlanOfSuspended: a plan of a suspended release is computed on request, and changes nothing.
func TestPlanOfSuspended(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	secret := w.secret("values", map[string][]byte{"values.yaml": []byte("unset: canary-of-a-plan")}, nil)
	hr := w.release("app", map[string]any{"message": "one"}, func(hr *helmv2.HelmRelease) {
		hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: "Secret", Name: secret.Name}}
	})
	w.untilReady(hr)
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true })
	w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret))
	secret.Data["values.yaml"] = []byte("unset: another-canary-of-a-plan")
	w.must(suite.client.Update(t.Context(), secret))
	w.says(hr, "two")
	w.annotate(hr, v1alpha1.AnnotationPlan, "first")
	plan := w.untilPlanned(hr, "the requested one", func(p *v1alpha1.ReleasePlan) bool {
		return p.Status.LastHandledPlanAt == "first" && planCondition(p, v1alpha1.ConditionReady) == "True/Computed"
	})
	if c := changeOf(plan, "ConfigMap", "app"); c.Change != v1alpha1.ChangeUpdate || len(c.Fields) != 2 {
		t.Errorf("the change is %+v", c)
	}
	if d := plan.Status.Dangers; d == nil || len(d) > 0 {
		t.Errorf("the API server has stored the dangers of a harmless plan as %#v", d)
	}
	layers := map[string]string{}
	for _, v := range plan.Status.Values {
		layers[v.Key] = v.Layer
	}
	if layers["message"] != "inline" || layers["unset"] != "Secret/values" || len(layers) != 2 {
		t.Errorf("the values that change are %v", layers)
	}
	if text := fmt.Sprintf("%+v", plan); strings.Contains(text, "canary") {
		t.Errorf("the plan contains a value of a Secret: %s", text)
	}
	w.quiet(hr)
	w.expectRevisions(hr, 1)
}

// TestPlansEqualChanges: upgrades whose charts render otherwise each time, with commits in between.
// What is stored afterwards is what was approved, and nothing else is made.
func TestPlansEqualChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", pack(t, "app", "1.0.0", map[string]string{
		"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  message: {{ .Values.message | quote }}\n" +
			"  random: {{ randAlphaNum 20 }}\n  now: {{ now | quote }}\n  seen: {{ (lookup \"v1\" \"ConfigMap\" .Release.Namespace .Release.Name).metadata | default dict | toJson | sha256sum }}\n",
	}))
	hr := w.release("app", map[string]any{"message": "first"})
	w.untilReady(hr)
	w.policy("production", v1alpha1.ReleasePolicySpec{Approval: v1alpha1.ApprovalAlways})
	made, changes := 1, harness.Repetitions(20)
	if testing.Short() {
		changes = 2
	}
	for i := range changes {
		w.says(hr, fmt.Sprintf("change %d", i))
		if i%3 == 0 {
			// The approval of a plan does not hold for the next commit.
			stale := w.untilAwaits(hr)
			w.says(hr, fmt.Sprintf("change %d again", i))
			w.approve(stale)
		}
		plan := w.untilAwaits(hr)
		if got := len(hr.Status.History); got == 0 || newest(hr) != made {
			t.Fatalf("revision %d was made without approval", newest(hr))
		}
		w.approve(plan)
		made++
		w.until(hr, fmt.Sprintf("revision %d", made), func(hr *helmv2.HelmRelease) bool { return newest(hr) == made })
		w.untilPlanned(hr, "applied", func(p *v1alpha1.ReleasePlan) bool {
			return p.Status.Digest == plan.Status.Digest && planCondition(p, v1alpha1.ConditionApplied) == "True/Applied"
		})
		fields := map[string]string{}
		for _, f := range changeOf(plan, "ConfigMap", "app").Fields {
			fields[strings.TrimPrefix(f.Path, ".data.")] = strings.Trim(f.To, `"`)
		}
		data := w.configMap("app").Data
		for _, key := range []string{"random", "now", "message"} {
			if fields[key] == "" || fields[key] != data[key] {
				t.Fatalf("change %d: %s is %q, approved was %q", i, key, data[key], fields[key])
			}
		}
	}
}
