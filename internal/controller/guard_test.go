// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const enforcedAfter = 10 * time.Second

// guard returns the admission policy and its binding, created at a time.
func guard(at time.Time) (*admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
	named := metav1.ObjectMeta{Name: "guard", CreationTimestamp: metav1.Time{Time: at}}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named, Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
		FailurePolicy:    new(admissionregistrationv1.Fail),
		MatchConstraints: &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{}},
		Validations:      []admissionregistrationv1.Validation{{Expression: "true"}},
	}}
	return policy, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: named, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: "guard", ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
	}}
}

// TestGuard: each way in which users may have set fields without a check is a gap.
func TestGuard(t *testing.T) {
	t.Parallel()
	type (
		policy  = admissionregistrationv1.ValidatingAdmissionPolicy
		binding = admissionregistrationv1.ValidatingAdmissionPolicyBinding
	)
	created := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	some := &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	later := func(d time.Duration) metav1.Time { return metav1.Time{Time: created.Add(d)} }
	for name, tc := range map[string]struct {
		edit func(*policy, *binding)
		want string
	}{
		"Guarded":      {func(*policy, *binding) {}, ""},
		"DefaultFails": {func(p *policy, _ *binding) { p.Spec.FailurePolicy = nil }, ""},
		"Ignores":      {func(p *policy, _ *binding) { p.Spec.FailurePolicy = new(admissionregistrationv1.Ignore) }, "does not deny on failure"},
		"Conditions": {func(p *policy, _ *binding) {
			p.Spec.MatchConditions = make([]admissionregistrationv1.MatchCondition, 1)
		}, "is not the one"},
		"Parameters":     {func(p *policy, _ *binding) { p.Spec.ParamKind = &admissionregistrationv1.ParamKind{} }, "is not the one"},
		"NoValidations":  {func(p *policy, _ *binding) { p.Spec.Validations = nil }, "is not the one"},
		"SomeNamespaces": {func(p *policy, _ *binding) { p.Spec.MatchConstraints.NamespaceSelector = some }, "is not the one"},
		"SomeObjects":    {func(p *policy, _ *binding) { p.Spec.MatchConstraints.ObjectSelector = some }, "is not the one"},
		"Audits": {func(_ *policy, b *binding) {
			b.Spec.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Audit}
		}, "does not deny"},
		"OtherPolicy":     {func(_ *policy, b *binding) { b.Spec.PolicyName = "other" }, "does not deny"},
		"BoundToSome":     {func(_ *policy, b *binding) { b.Spec.MatchResources = &admissionregistrationv1.MatchResources{} }, "all namespaces"},
		"Deleted":         {func(_ *policy, b *binding) { b.DeletionTimestamp = &metav1.Time{Time: created} }, "being deleted"},
		"YoungerPolicy":   {func(p *policy, _ *binding) { p.CreationTimestamp = later(time.Hour) }, "not younger"},
		"YoungerBinding":  {func(_ *policy, b *binding) { b.CreationTimestamp = later(time.Hour) }, "not younger"},
		"NotEnforcedSoon": {func(p *policy, _ *binding) { p.CreationTimestamp = later(-enforcedAfter + time.Second) }, "not younger"},
		"EnforcedLongAgo": {func(p *policy, _ *binding) { p.CreationTimestamp = later(-time.Hour) }, ""},
	} {
		p, b := guard(created.Add(-enforcedAfter))
		tc.edit(p, b)
		got := Guard{Name: "guard", Kind: "ReleasePlan", After: enforcedAfter}.gap(metav1.Time{Time: created}, p, b)
		if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestGuardWithoutDelay: without a delay, a policy of the same second is no guard.
func TestGuardWithoutDelay(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for age, want := range map[time.Duration]bool{0: false, time.Second: true} {
		p, b := guard(created.Add(-age))
		if got := (Guard{Name: "guard"}).gap(metav1.Time{Time: created}, p, b); (got == "") != want {
			t.Errorf("%s: %q", age, got)
		}
	}
}
