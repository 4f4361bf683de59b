// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

// +kubebuilder:rbac:groups=pintle.dev,resources=releaseplans,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=pintle.dev,resources=releaseplans/status,verbs=patch

// Planner keeps the ReleasePlans. It may be used concurrently, by one reconciliation of a
// HelmRelease at a time.
type Planner struct {
	// Client writes plans. Live reads them from the API server.
	Client client.Client
	Live   client.Reader
	// Known are the plans that are watched.
	Known Known
	Now   func() time.Time
}

// Known are the plans that are watched. It is safe for concurrent use.
type Known interface {
	// Served reports whether the API server serves plans. Unknown returns why they are not known;
	// empty if they are, and if they are not served.
	Served() bool
	Unknown() string
	// Object and Objects return plans, which must not be changed.
	Object(key types.NamespacedName) (*v1alpha1.ReleasePlan, bool)
	Objects() []*v1alpha1.ReleasePlan
}

// unknown returns why no plan can be read or written; nil if they can.
func (p *Planner) unknown() error {
	switch why := p.Known.Unknown(); {
	case why != "":
		return errors.New(why)
	case !p.Known.Served():
		return errors.New("the CRD of ReleasePlan is not installed")
	}
	return nil
}

// Query is the question for the plan of an action.
type Query struct {
	HR     *helmv2.HelmRelease
	In     release.Input
	Action release.HelmAction
	// Token is the value of the annotation that requests the plan. The plan is computed anew then.
	// It is empty if the plan is not requested.
	Token string
	// Void is the digest of a plan whose action would no longer do what the plan states; empty if
	// there is none.
	Void string
}

// Find returns the ReleasePlan, nil if there is none, and the plan of the action; nil if it is not
// computed, out of date, or older than the request. Nothing is read from the API server if the plan is
// up to date.
func (p *Planner) Find(ctx context.Context, q Query) (stored *v1alpha1.ReleasePlan, found *release.Plan, err error) {
	if err := p.unknown(); err != nil {
		return nil, nil, release.BlockedBy(helmv2.ReasonPolicyUnavailable, err, "ReleasePlans cannot be read")
	}
	if isForeground(q.HR) {
		// The garbage collector deletes the plan before the HelmRelease. It is computed each time.
		return nil, nil, nil
	}
	on := basisOf(q.HR, q.In, q.Action)
	usable := func(plan *v1alpha1.ReleasePlan) bool {
		if q.Token != "" && plan != nil && plan.Status.LastHandledPlanAt != q.Token {
			return false
		}
		if plan != nil && plan.Status.Summary.Refused > 0 {
			// What the API server refuses may have been mended there.
			return false
		}
		return on.isCurrent(plan) && plan.Status.Digest != q.Void && plan.Status.AppliedAt == nil
	}
	stored, err = p.known(q.HR)
	if err == nil && !usable(stored) {
		// The watch may be behind the last write.
		stored, err = p.read(ctx, q.HR)
	}
	if err != nil {
		return nil, nil, release.BlockedBy(helmv2.ReasonStateError, err, "Could not read the ReleasePlan")
	}
	if !usable(stored) {
		return stored, nil, nil
	}
	found, err = p.withGuard(ctx, stored, planOf(q, stored, ""))
	return stored, found, err
}

// Overridden reports whether the plan of a HelmRelease has an override that was not used yet, without a
// request.
func (p *Planner) Overridden(hr *helmv2.HelmRelease) bool {
	plan, err := p.known(hr)
	return err == nil && release.Overridden(plan)
}

// Replaces reports whether the approval of the plan of a HelmRelease names objects to replace, without a
// request.
func (p *Planner) Replaces(hr *helmv2.HelmRelease) bool {
	plan, err := p.known(hr)
	return err == nil && release.Replaces(plan)
}

// Computation computes the plan of an action, and stores its rendered text. Its errors contain no values
// of Secrets.
type Computation func(ctx context.Context, action v1alpha1.PlanAction, inputs string) (plan.Plan, error)

// Compute computes the plan and writes it into the ReleasePlan that Find returned. If that is nil, it
// creates one. The plan of a HelmRelease that is deleted after its dependents is not stored.
func (p *Planner) Compute(ctx context.Context, q Query, stored *v1alpha1.ReleasePlan, compute Computation) (*v1alpha1.ReleasePlan, *release.Plan, error) {
	on := basisOf(q.HR, q.In, q.Action)
	computed, err := compute(ctx, on.action, on.inputs)
	if isForeground(q.HR) {
		if err != nil {
			return nil, nil, release.BlockedBy(helmv2.ReasonStateError, err, "Could not compute the plan")
		}
		return nil, planOf(q, &v1alpha1.ReleasePlan{Status: computed.Status}, ""), nil
	}
	status, failed := computed.Status, ""
	var blocked *release.Blocked
	switch {
	case errors.As(err, &blocked):
		return nil, nil, err
	case err != nil && controller.IsTransient(err):
		return nil, nil, release.BlockedBy(helmv2.ReasonStateError, err, "Could not compute the plan")
	case err != nil:
		status, failed = v1alpha1.ReleasePlanStatus{Action: on.action}, err.Error()
	}
	status.Inputs, status.Base = on.inputs, on.base
	stored, err = p.store(ctx, q, stored, status)
	if err != nil {
		return nil, nil, err
	}
	found, err := p.withGuard(ctx, stored, planOf(q, stored, failed))
	return stored, found, err
}

// store writes a status that was computed, and returns the ReleasePlan with it.
func (p *Planner) store(ctx context.Context, q Query, plan *v1alpha1.ReleasePlan, status v1alpha1.ReleasePlanStatus) (*v1alpha1.ReleasePlan, error) {
	if plan == nil {
		plan = newPlan(q.HR)
		if err := p.Client.Create(ctx, plan, controller.FieldOwner); err != nil {
			return nil, release.BlockedBy(helmv2.ReasonStateError, err, "Could not create the ReleasePlan")
		}
	}
	if status.Digest == plan.Status.Digest && plan.Status.AppliedAt == nil {
		// The same plan is not written again.
		status.Conditions = plan.Status.Conditions
	}
	status.Overridden = plan.Status.Overridden
	if status.LastHandledPlanAt = plan.Status.LastHandledPlanAt; q.Token != "" {
		status.LastHandledPlanAt = q.Token
	}
	return p.write(ctx, plan, status)
}

// Assess writes into a ReleasePlan what policies and users make of its plan. A ReleasePlan that is nil
// is not stored.
func (p *Planner) Assess(ctx context.Context, stored *v1alpha1.ReleasePlan, found *release.Plan) error {
	if stored == nil {
		return nil
	}
	_, err := p.write(ctx, stored, status.PlanAssessed(stored, found, metav1.NewTime(p.Now())))
	return err
}

// write writes the status of a plan if it differs, and returns the plan with it. It is refused if the
// plan has changed since it was read.
func (p *Planner) write(ctx context.Context, plan *v1alpha1.ReleasePlan, status v1alpha1.ReleasePlanStatus) (*v1alpha1.ReleasePlan, error) {
	if equality.Semantic.DeepEqual(plan.Status, status) {
		return plan, nil
	}
	written := plan.DeepCopy()
	written.Status = status
	patch := client.MergeFromWithOptions(plan, client.MergeFromWithOptimisticLock{})
	if err := p.Client.Status().Patch(ctx, written, patch, controller.FieldOwner); err != nil {
		return nil, fmt.Errorf("write the status of ReleasePlan %s/%s: %w", plan.Namespace, plan.Name, err)
	}
	return written, nil
}

// planOf returns a plan as decisions read it.
func planOf(q Query, plan *v1alpha1.ReleasePlan, failed string) *release.Plan {
	status := &plan.Status
	found := &release.Plan{
		Digest: status.Digest, Action: status.Action, Failed: failed, Summary: release.SummaryOf(status.Summary),
		Approved: plan.Spec.Approved, ApprovedBy: plan.Spec.ApprovedBy, Rejected: plan.Spec.Rejected,
		Rejection: release.RejectionOf(plan.Spec), Override: release.OverrideOf(plan),
	}
	if approved := q.HR.Annotations[v1alpha1.AnnotationApprove]; approved != "" && !q.HR.DeletionTimestamp.IsZero() && approved == found.Digest {
		found.Approved = approved
	}
	if failed == "" && !isComplete(status) {
		found.Failed = "the CRD of ReleasePlan is older than the controller and has no field status.removals; install the CRD of this version"
	}
	if failed == "" && status.Dangers == nil && q.In.Desired.Demands.Classify() {
		found.Failed = "the CRD of ReleasePlan is older than the controller and has no field status.dangers; install the CRD of this version"
	}
	// Until the admission policy is found, objects count as refused, and for policies as replaced.
	found.Refused = release.RefusedOf(status, nil)
	removals := status.Removals
	if found.Replace = release.ReplaceOf(plan, q.In.Desired.Target.Namespace); found.Replace != nil {
		removals = slices.Concat(removals, found.Replace.Removals)
	}
	assessed := q.In.Desired.Demands.Assess(status.Action, removals, status.Dangers)
	found.Denied, found.Needs = assessed.Denied, assessed.Needs
	return found
}

// isComplete reports whether the removals of a plan are known. The API server drops fields that an older
// CRD does not have.
func isComplete(status *v1alpha1.ReleasePlanStatus) bool {
	left := status.Summary.Delete + status.Summary.Replace
	for _, r := range status.Removals {
		left -= r.Count
	}
	return left <= 0
}

// isForeground reports whether the dependents of a HelmRelease are deleted before it.
func isForeground(hr *helmv2.HelmRelease) bool {
	return !hr.DeletionTimestamp.IsZero() && slices.Contains(hr.Finalizers, metav1.FinalizerDeleteDependents)
}

// newPlan returns a plan without content. Its HelmRelease can be deleted before it.
func newPlan(hr *helmv2.HelmRelease) *v1alpha1.ReleasePlan {
	return &v1alpha1.ReleasePlan{ObjectMeta: metav1.ObjectMeta{
		Name: hr.Name, Namespace: hr.Namespace, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: helmv2.GroupVersion.String(), Kind: helmv2.HelmReleaseKind, Name: hr.Name, UID: hr.UID, Controller: new(true),
		}},
	}}
}

// known returns the plan of a HelmRelease as it was watched last; nil if there is none.
func (p *Planner) known(hr *helmv2.HelmRelease) (*v1alpha1.ReleasePlan, error) {
	plan, found := p.Known.Object(client.ObjectKeyFromObject(hr))
	if !found {
		return nil, nil //nolint:nilnil // see above
	}
	return checkOwner(plan, hr)
}

// read returns the plan of a HelmRelease from the API server; nil if there is none.
func (p *Planner) read(ctx context.Context, hr *helmv2.HelmRelease) (*v1alpha1.ReleasePlan, error) {
	plan := &v1alpha1.ReleasePlan{}
	err := p.Live.Get(ctx, client.ObjectKeyFromObject(hr), plan)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // see above
	}
	if err != nil {
		return nil, err
	}
	return checkOwner(plan, hr)
}

// checkOwner returns a plan if it belongs to a HelmRelease. The plan of a former HelmRelease of the
// same name is about to be deleted.
func checkOwner(plan *v1alpha1.ReleasePlan, hr *helmv2.HelmRelease) (*v1alpha1.ReleasePlan, error) {
	if !metav1.IsControlledBy(plan, hr) {
		return nil, fmt.Errorf("ReleasePlan %s/%s does not belong to the HelmRelease of its name", plan.Namespace, plan.Name)
	}
	return plan, nil
}
