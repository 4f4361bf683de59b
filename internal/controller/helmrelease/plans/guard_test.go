// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// guard returns the admission policy and its binding, created at a time.
func guard(at time.Time) (*admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
	named := metav1.ObjectMeta{Name: v1alpha1.OverridePolicy, CreationTimestamp: metav1.Time{Time: at}}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named, Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
		FailurePolicy:    new(admissionregistrationv1.Fail),
		MatchConstraints: &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{}},
		Validations:      []admissionregistrationv1.Validation{{Expression: "true"}},
	}}
	return policy, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: named, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: v1alpha1.OverridePolicy, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
	}}
}

// TestOverride: an override has an effect only with its admission policy, until a revision was made of the
// plan. Only an override that would have an effect causes reads.
func TestOverride(t *testing.T) {
	w := newWorld(t)
	first := w.must()
	w.expect("an override", first.Override == nil && !w.Overridden(w.hr), true)
	void := func() string {
		t.Helper()
		found := w.must()
		if found.Override == nil {
			return "used"
		}
		return found.Override.Void
	}
	write := func(digest, reason string) {
		w.edit(func(p *v1alpha1.ReleasePlan) {
			p.Spec.Override = &v1alpha1.PlanOverride{Digest: digest, By: "jane", Reason: reason}
		})
	}
	write(first.Digest, "incident")
	w.expect("the override is known", w.Overridden(w.hr), true)
	w.expect("void without a policy", strings.HasSuffix(void(), "is not installed"), true)
	// The fake API server sets no time of creation.
	policy, binding := guard(time.Time{}.Add(-time.Hour))
	for _, object := range []interface {
		SetCreationTimestamp(metav1.Time)
	}{policy, binding} {
		object.SetCreationTimestamp(metav1.Time{Time: w.stored().CreationTimestamp.Add(-time.Hour)})
	}
	if err := w.Client.Create(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	w.expect("void without a binding", strings.HasSuffix(void(), "is not installed"), true)
	if err := w.Client.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	w.expect("void", void(), "")
	write("sha256:other", "incident")
	w.expect("void", void(), "it is for another plan")
	write(first.Digest, "incident")

	failed := []release.Revision{{Version: 2, Status: helmv2.StatusFailed, Plan: first.Digest}}
	before := w.in.Observed.Revisions
	w.in.Observed.Revisions = append(failed, before...)
	w.follow(release.Decision{State: release.StateFailed, Action: release.Uninstall{Remediation: true}})
	w.in.Observed.Revisions = before
	w.expect("the digest of the plan", w.must().Digest, first.Digest)
	w.expect("the override after a failure", void(), "used")
	w.expect("the override is known", w.Overridden(w.hr), false)
	w.edit(func(p *v1alpha1.ReleasePlan) { p.Spec.Approved = first.Digest })
	w.expect("the override after an approval", void(), "used")
	w.in.Desired.ConfigDigest = "sha256:other"
	w.must()
	w.expect("the override of a newer plan", void(), "used")
	w.in.Desired.ConfigDigest = ""
	write(w.must().Digest, "again")
	w.expect("another override", void(), "")
}

// TestReplacement: names of objects to replace have an effect only with their own admission policy. Until
// then the objects count as refused.
func TestReplacement(t *testing.T) {
	w := newWorld(t)
	first := w.must()
	w.edit(func(p *v1alpha1.ReleasePlan) {
		p.Spec = v1alpha1.ReleasePlanSpec{Approved: first.Digest, ApprovedBy: "jane", Replace: &v1alpha1.PlanReplace{Digest: first.Digest, Objects: []v1alpha1.PlanObject{{Kind: "Job", Name: "migrate"}}}}
	})
	w.expect("the names are known", w.Replaces(w.hr), true)
	plan := w.stored().DeepCopy()
	plan.Status.Action, plan.Status.Summary.Refused = v1alpha1.PlanUpgrade, 1
	plan.Status.Changes = []v1alpha1.PlanChange{{Kind: "Job", Name: "migrate", Change: v1alpha1.ChangeRefused, Reason: "immutable", Replacement: &v1alpha1.PlanReplacement{UID: "1"}}}
	refused := func() string {
		t.Helper()
		found, err := w.withGuard(t.Context(), plan, planOf(Query{HR: w.hr, In: w.in}, plan, ""))
		if err != nil {
			t.Fatal(err)
		}
		return found.Refused
	}
	policy, binding := guard(time.Time{})
	for _, object := range []client.Object{policy, binding} {
		object.SetCreationTimestamp(metav1.Time{Time: plan.CreationTimestamp.Add(-time.Hour)})
		if err := w.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	w.expect("refused with the policy for overrides", strings.HasPrefix(refused(), "Job/migrate: immutable; the replacement of objects has no effect"), true)
	policy, binding = guard(time.Time{})
	binding.Spec.PolicyName = v1alpha1.ReplacePolicy
	for _, object := range []client.Object{policy, binding} {
		object.SetName(v1alpha1.ReplacePolicy)
		object.SetCreationTimestamp(metav1.Time{Time: plan.CreationTimestamp.Add(-time.Hour)})
		if err := w.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	w.expect("refused", refused(), "")
}
