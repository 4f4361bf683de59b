// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

// Follow brings the plan of a HelmRelease up to date with a decision: it records that the plan was
// applied, and deletes a plan that is no longer needed. discard deletes its rendered text. Nothing
// is sent if there is no plan, or nothing has changed.
func (p *Planner) Follow(ctx context.Context, hr *helmv2.HelmRelease, in release.Input, d release.Decision, discard func(context.Context) error) error {
	_, final := d.Action.(release.Finalize)
	plan, err := p.known(hr)
	if err != nil || plan == nil {
		// Another object of the same name does not matter, unless a plan is needed.
		if final && isForeground(hr) {
			return p.drop(ctx, nil, discard)
		}
		return nil
	}
	if plan.Status.AppliedAt != nil {
		return nil
	}
	if made := madeOf(plan.Status.Digest, in.Observed.Revisions); made != nil {
		after := status.PlanCarriedOut(plan, made, metav1.NewTime(p.Now()))
		if after.AppliedAt != nil {
			if err := discard(ctx); err != nil {
				return fmt.Errorf("delete the rendered text of the plan: %w", err)
			}
		}
		_, err := p.write(ctx, plan, after)
		return err
	}
	if !final && !unneeded(plan, in, d) {
		return nil
	}
	return p.drop(ctx, plan, discard)
}

// drop deletes the rendered text of a plan, and the plan; nil is one that is not stored.
func (p *Planner) drop(ctx context.Context, plan *v1alpha1.ReleasePlan, discard func(context.Context) error) error {
	if err := discard(ctx); err != nil {
		return fmt.Errorf("delete the rendered text of the plan: %w", err)
	}
	if plan == nil {
		return nil
	}
	return client.IgnoreNotFound(p.Client.Delete(ctx, plan, client.Preconditions{ResourceVersion: &plan.ResourceVersion}))
}

// unneeded reports whether the change that a plan is about is no longer wanted, and no user
// requests the plan.
func unneeded(plan *v1alpha1.ReleasePlan, in release.Input, d release.Decision) bool {
	token := in.Desired.Requests.Plan
	if token != "" && token == plan.Status.LastHandledPlanAt {
		return false
	}
	if _, settled := d.Action.(release.Settle); !settled {
		return false
	}
	switch d.State {
	case release.StateInSync, release.StateDrifted, release.StateRolledBack:
		return true
	case release.StateUnknown, release.StateAbsent, release.StateUnmanaged, release.StateLocked, release.StateFailed,
		release.StateOutOfSync, release.StateUntested, release.StateBaking:
	}
	return false
}

// madeOf returns the revision that was made of a plan, and has ended; nil if there is none.
func madeOf(digest string, revisions []release.Revision) *release.Revision {
	i := slices.IndexFunc(revisions, func(r release.Revision) bool {
		return digest != "" && r.Plan == digest && !r.Pending()
	})
	if i < 0 {
		return nil
	}
	return &revisions[i]
}
