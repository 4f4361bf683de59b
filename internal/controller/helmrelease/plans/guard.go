// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"context"
	"time"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/release"
)

// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingadmissionpolicies;validatingadmissionpolicybindings,resourceNames=release-override.pintle.dev;release-replace.pintle.dev,verbs=get

// guardOf returns the guard of a field of ReleasePlans, which users set again in a new plan.
func guardOf(policy, again string) controller.Guard {
	return controller.Guard{Name: policy, Kind: v1alpha1.ReleasePlanKind, After: 10 * time.Second, Again: "delete the ReleasePlan, and " + again + " a new one"}
}

// withGuard returns a plan whose override and replacements are void if users may have written them
// without the verb: the admission policy is missing, or younger than the ReleasePlan. Nothing is read
// without them.
func (p *Planner) withGuard(ctx context.Context, stored *v1alpha1.ReleasePlan, found *release.Plan) (*release.Plan, error) {
	check := func(void *string, policy, again, what string) error {
		if *void != "" {
			return nil
		}
		var err error
		if *void, err = guardOf(policy, again).Gap(ctx, p.Live, stored.CreationTimestamp); err != nil {
			return release.BlockedBy(helmv2.ReasonStateError, err, "Could not read ValidatingAdmissionPolicy %s or its binding, which %s needs", policy, what)
		}
		return nil
	}
	if o := found.Override; o != nil {
		if err := check(&o.Void, v1alpha1.OverridePolicy, "override", "an override"); err != nil {
			return nil, err
		}
	}
	if r := found.Replace; r != nil {
		if err := check(&r.Void, v1alpha1.ReplacePolicy, "approve", "the replacement of objects"); err != nil {
			return nil, err
		}
		found.Refused = release.RefusedOf(&stored.Status, r)
	}
	return found, nil
}
