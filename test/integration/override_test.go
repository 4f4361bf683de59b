// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestOverride: an override has no effect without its admission policy, and none if the policy is younger
// than the plan. Otherwise users with the verb override, and in their own name, let the action of one plan
// pass a freeze, once. It is the only test that installs this policy.
func TestOverride(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("app", map[string]any{"message": "one"})
	w.untilReady(hr)
	w.policy("sale", v1alpha1.ReleasePolicySpec{Freeze: "sale"})
	w.says(hr, "two")
	w.untilHeldBy(hr, helmv2.ReasonFrozen)
	planned := func(token string) *v1alpha1.ReleasePlan {
		t.Helper()
		return w.planNow(hr, token, func(p *v1alpha1.ReleasePlan) bool { return p.Status.Digest != "" })
	}
	override := func(as client.Client, plan *v1alpha1.ReleasePlan, by string) error {
		before := plan.DeepCopy()
		changed := plan.DeepCopy()
		changed.Spec.Override = &v1alpha1.PlanOverride{Digest: plan.Status.Digest, By: by, Reason: "incident 4711"}
		return as.Patch(t.Context(), changed, client.MergeFrom(before))
	}

	w.must(override(suite.client, planned("one"), "nobody"))
	w.untilHeldBy(hr, helmv2.ReasonFrozen, "override by nobody has no effect", "is not installed")

	_, policy, _, _ := w.admissionPolicies()
	t.Cleanup(func() {
		for _, object := range policy {
			w.must(client.IgnoreNotFound(suite.client.Delete(context.WithoutCancel(t.Context()), object)))
		}
	})
	w.installAdmission(policy, v1alpha1.ReleasePlanSpec{Override: &v1alpha1.PlanOverride{Digest: "sha256:0", By: "another", Reason: "none"}}, "spec.override.by must be")
	plan := planned("two")
	w.must(override(suite.client, plan, "admin"))
	w.untilHeldBy(hr, helmv2.ReasonFrozen, "override by admin has no effect", "override a new one")
	if message := w.configMap("app").Data["message"]; message != "one" {
		t.Fatalf("the message is %q", message)
	}

	// As old as the controller requires, in whole seconds.
	untilTrue(w, "the policy to be old enough", func() bool { return time.Since(policy[1].GetCreationTimestamp().Time) > 11*time.Second })
	w.must(suite.client.Delete(t.Context(), plan))
	plan = planned("three")
	write := rule(v1alpha1.Group, []string{"releaseplans"}, []string{"get", "create", "update", "patch"})
	verb := rule(v1alpha1.Group, []string{"releaseplans"}, []string{v1alpha1.VerbOverride})
	verb.ResourceNames = []string{"app"}
	approve := rule(v1alpha1.Group, []string{"releaseplans"}, []string{v1alpha1.VerbApprove})
	developer, lead := w.person("developer", write, approve), w.person("lead", write, verb)
	name := func(person string) string { return person + "-" + w.namespace }
	const noVerb = "the verb override on releaseplans is required"
	w.refuses(override(developer, plan, name("developer")), noVerb)
	w.refuses(override(developer, plan, name("lead")), noVerb)
	w.refuses(override(lead, plan, name("developer")), "spec.override.by must be lead-")
	other := &v1alpha1.ReleasePlan{}
	other.Namespace, other.Name = w.namespace, "other"
	other.Spec.Override = &v1alpha1.PlanOverride{Digest: "sha256:0", By: name("lead"), Reason: "none"}
	w.refuses(lead.Create(t.Context(), other), noVerb)
	w.must(override(lead, plan, name("lead")))
	w.untilMessage("app", "two")
	w.untilReady(hr)
	w.untilEvent(hr, "Normal", helmv2.EventReasonPolicyOverridden, "Frozen is overridden by "+name("lead"), "incident 4711")
	found := false
	for _, record := range w.stored("app") {
		found = found || record.Annotations[v1alpha1.AnnotationOverriddenBy] == name("lead") && record.Annotations[v1alpha1.AnnotationOverrideReason] == "incident 4711"
	}
	if !found {
		t.Error("no record has the override")
	}
	plan = w.untilPlanned(hr, "one that was applied", func(p *v1alpha1.ReleasePlan) bool { return p.Status.AppliedAt != nil })
	if used := plan.Status.Overridden; used == nil || used.By != name("lead") {
		t.Errorf("the used override is %+v", used)
	}
	removed := plan.DeepCopy()
	removed.Spec.Override = nil
	w.refuses(developer.Patch(t.Context(), removed, client.MergeFrom(plan)), noVerb)

	w.says(hr, "three")
	w.untilHeldBy(hr, helmv2.ReasonFrozen)
}
