// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
)

// Guard is an admission policy that checks who sets fields which users may otherwise set for others. The
// policy and its binding have the same name.
type Guard struct {
	Name string
	// Kind is the kind of the objects that it checks.
	Kind string
	// After is how much older than a checked object the policy must be: API servers enforce a new one with
	// a delay. With 0, it must be older.
	After time.Duration
	// Again is what users do about an object that is too old, as the end of a sentence.
	Again string
}

// SkipGuard checks who lets an upgrade leave out a hook. Tenants cannot create cluster-scoped objects.
func SkipGuard() Guard {
	return Guard{Name: "hook-skip.pintle.dev", Kind: opsv1alpha1.OperationKind, Again: "create another one"}
}

// Gap returns why users may have set the fields of an object that was created at a time without a check;
// empty if the policy was enforced since then. Only the API server writes that time: the times of fields,
// in metadata.managedFields, are those that users state. Both objects are read by live.
func (g Guard) Gap(ctx context.Context, live client.Reader, created metav1.Time) (string, error) {
	policy, binding := &admissionregistrationv1.ValidatingAdmissionPolicy{}, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
	for _, object := range []client.Object{policy, binding} {
		switch err := live.Get(ctx, client.ObjectKey{Name: g.Name}, object); {
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
			return g.text("ValidatingAdmissionPolicy %s or its binding is not installed"), nil
		case apierrors.IsForbidden(err):
			return g.text("the controller may not read ValidatingAdmissionPolicy %s or its binding"), nil
		case err != nil:
			return "", err
		}
	}
	return g.gap(created, policy, binding), nil
}

func (g Guard) gap(created metav1.Time, policy *admissionregistrationv1.ValidatingAdmissionPolicy, binding *admissionregistrationv1.ValidatingAdmissionPolicyBinding) string {
	isOlder := func(than metav1.Time) bool {
		age := created.Sub(than.Time)
		return age > 0 && age >= g.After
	}
	switch p, b := policy.Spec, binding.Spec; {
	case policy.DeletionTimestamp != nil || binding.DeletionTimestamp != nil:
		return g.text("ValidatingAdmissionPolicy %s or its binding is being deleted")
	case p.FailurePolicy != nil && *p.FailurePolicy != admissionregistrationv1.Fail:
		return g.text("ValidatingAdmissionPolicy %s does not deny on failure")
	case len(p.MatchConditions) > 0 || p.ParamKind != nil || len(p.Validations) == 0 || !matchesAll(p.MatchConstraints):
		return g.text("ValidatingAdmissionPolicy %s is not the one of this version")
	case b.PolicyName != g.Name || !slices.Contains(b.ValidationActions, admissionregistrationv1.Deny):
		return g.text("ValidatingAdmissionPolicyBinding %s does not deny")
	case b.MatchResources != nil || b.ParamRef != nil:
		return g.text("ValidatingAdmissionPolicyBinding %s does not cover all namespaces")
	case !isOlder(policy.CreationTimestamp) || !isOlder(binding.CreationTimestamp):
		return fmt.Sprintf("the %s is not younger than ValidatingAdmissionPolicy %s or its binding: %s", g.Kind, g.Name, g.Again)
	}
	return ""
}

// matchesAll reports whether constraints leave out no object.
func matchesAll(m *admissionregistrationv1.MatchResources) bool {
	all := func(s *metav1.LabelSelector) bool { return s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0 }
	return m != nil && len(m.ExcludeResourceRules) == 0 && all(m.NamespaceSelector) && all(m.ObjectSelector)
}

// text returns a text with the name of the policy.
func (g Guard) text(format string) string { return fmt.Sprintf(format, g.Name) }
