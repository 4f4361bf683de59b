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

// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingadmissionpolicies;validatingadmissionpolicybindings,resourceNames=release-override.pintle.dev,verbs=get

// overrideGuard checks who overrides policies.
func overrideGuard() controller.Guard {
	return controller.Guard{
		Name: v1alpha1.OverridePolicy, Kind: v1alpha1.ReleasePlanKind, After: 10 * time.Second,
		Again: "delete the ReleasePlan, and override a new one",
	}
}

// withGuard returns a plan whose override is void if users may have written it without the verb: the
// admission policy is missing, or younger than the ReleasePlan. Nothing is read without an override.
func (p *Planner) withGuard(ctx context.Context, stored *v1alpha1.ReleasePlan, found *release.Plan) (*release.Plan, error) {
	if found.Override == nil || found.Override.Void != "" {
		return found, nil
	}
	var err error
	if found.Override.Void, err = overrideGuard().Gap(ctx, p.Live, stored.CreationTimestamp); err != nil {
		return nil, release.BlockedBy(helmv2.ReasonStateError, err, "Could not read ValidatingAdmissionPolicy %s or its binding, which an override needs", v1alpha1.OverridePolicy)
	}
	return found, nil
}
