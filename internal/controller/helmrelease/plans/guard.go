// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package plans

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

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingadmissionpolicies;validatingadmissionpolicybindings,resourceNames=release-override.pintle.dev,verbs=get

// enforcedAfter is the time within which API servers enforce a new admission policy.
const enforcedAfter = 10 * time.Second

// withGuard returns a plan whose override is void if users may have written it without the verb: the
// admission policy is missing, or younger than the ReleasePlan. Nothing is read without an override.
func (p *Planner) withGuard(ctx context.Context, stored *v1alpha1.ReleasePlan, found *release.Plan) (*release.Plan, error) {
	if found.Override == nil || found.Override.Void != "" {
		return found, nil
	}
	policy, binding := &admissionregistrationv1.ValidatingAdmissionPolicy{}, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
	for _, object := range []client.Object{policy, binding} {
		switch err := p.Live.Get(ctx, client.ObjectKey{Name: v1alpha1.OverridePolicy}, object); {
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
			found.Override.Void = of("ValidatingAdmissionPolicy %s or its binding is not installed")
			return found, nil
		case apierrors.IsForbidden(err):
			found.Override.Void = of("the controller may not read ValidatingAdmissionPolicy %s or its binding")
			return found, nil
		case err != nil:
			return nil, release.BlockedBy(helmv2.ReasonStateError, err, "%s", of("Could not read ValidatingAdmissionPolicy %s or its binding, which an override needs"))
		}
	}
	found.Override.Void = Unguarded(stored, policy, binding)
	return found, nil
}

// Unguarded returns why users may have written the override of a plan without the verb; empty if the
// admission policy was enforced since the plan was created. Only the API server writes that time: the
// times of fields, in metadata.managedFields, are those that users state.
func Unguarded(plan *v1alpha1.ReleasePlan, policy *admissionregistrationv1.ValidatingAdmissionPolicy, binding *admissionregistrationv1.ValidatingAdmissionPolicyBinding) string {
	switch p, b := policy.Spec, binding.Spec; {
	case policy.DeletionTimestamp != nil || binding.DeletionTimestamp != nil:
		return of("ValidatingAdmissionPolicy %s or its binding is being deleted")
	case p.FailurePolicy != nil && *p.FailurePolicy != admissionregistrationv1.Fail:
		return of("ValidatingAdmissionPolicy %s does not deny on failure")
	case len(p.MatchConditions) > 0 || p.ParamKind != nil || len(p.Validations) == 0 || !matchesAll(p.MatchConstraints):
		return of("ValidatingAdmissionPolicy %s is not the one of this version")
	case b.PolicyName != v1alpha1.OverridePolicy || !slices.Contains(b.ValidationActions, admissionregistrationv1.Deny):
		return of("ValidatingAdmissionPolicyBinding %s does not deny")
	case b.MatchResources != nil || b.ParamRef != nil:
		return of("ValidatingAdmissionPolicyBinding %s does not cover all namespaces")
	case plan.CreationTimestamp.Sub(policy.CreationTimestamp.Time) < enforcedAfter || plan.CreationTimestamp.Sub(binding.CreationTimestamp.Time) < enforcedAfter:
		return of("the ReleasePlan is not younger than ValidatingAdmissionPolicy %s or its binding: delete the ReleasePlan, and override a new one")
	}
	return ""
}

// matchesAll reports whether constraints leave out no ReleasePlan.
func matchesAll(m *admissionregistrationv1.MatchResources) bool {
	all := func(s *metav1.LabelSelector) bool { return s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0 }
	return m != nil && len(m.ExcludeResourceRules) == 0 && all(m.NamespaceSelector) && all(m.ObjectSelector)
}

// of returns a text with the name of the admission policy.
func of(text string) string { return fmt.Sprintf(text, v1alpha1.OverridePolicy) }
