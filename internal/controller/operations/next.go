// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/operation"
	"github.com/pintle-dev/pintle/internal/release"
)

// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingadmissionpolicies;validatingadmissionpolicybindings,resourceNames=hook-skip.pintle.dev,verbs=get

// makeNextPlan returns rec with the plan of a hook of the next version. Its text must agree with the
// digest in the status of the ReleasePlan, which the controller has computed: other clients may write the
// Secret with the text. installed is the deployed revision, whose Services must not select the Pods.
func (o *observer) makeNextPlan(ctx context.Context, rec reconciliation, installed helm.Stored) (reconciliation, error) {
	if installed.Release == nil {
		rec.in.Plan.Refused = &operation.Problem{Reason: opsv1alpha1.ReasonHookRequiresRelease, Message: "the release has no deployed revision: only an upgrade has a next version"}
		return rec, o.upToDate(ctx, rec)
	}
	rec, err := o.nextPlan(ctx, rec)
	if err != nil || !operation.HasPlan(rec.in) {
		return rec, err
	}
	rec.in.Next.Revision = installed.Newest
	as, err := rec.identity(ctx)
	if err != nil {
		return rec, err
	}
	next, err := o.hooks.NextHooks(ctx, as.getter, desiredTarget(rec.hr), rec.in.Next.Digest)
	if errors.Is(err, release.ErrPlanVoid) {
		// It is written before the status of the plan.
		rec.in.Obstacle = &operation.Problem{Reason: opsv1alpha1.ReasonAwaitingPlan, Message: "the text of the plan does not agree with its digest: " + err.Error()}
		return rec, nil
	}
	if err != nil {
		return rec, err
	}
	rec.secrets = append(rec.secrets, next.Secrets...)
	next.Release.Selecting = append(next.Release.Selecting, installed.Release.Selecting...)
	return o.plan(ctx, rec, next.Release)
}

// nextPlan returns rec with the state of the ReleasePlan as the API server has it: an Operation must not
// fail for good, or run a hook, because of an outdated plan.
func (o *observer) nextPlan(ctx context.Context, rec reconciliation) (reconciliation, error) {
	n := &rec.in.Next
	requests := release.RequestsOf(rec.hr.Annotations)
	n.Requested, n.Open, n.UID = requests.Plan, requests.PlanRequested(), string(rec.hr.UID)
	if rec.op.Spec.Parameters.Skips() {
		var err error
		if n.Unguarded, err = o.unguarded(ctx, rec.op); err != nil {
			return rec, err
		}
	}
	stored := &v1alpha1.ReleasePlan{}
	err := o.live.Get(ctx, client.ObjectKeyFromObject(rec.hr), stored)
	switch {
	case apierrors.IsNotFound(err):
		return rec, nil
	case err != nil:
		return rec, err
	case !metav1.IsControlledBy(stored, rec.hr):
		return rec, nil
	}
	s := &stored.Status
	n.Answers, n.Digest, n.Inputs, n.Action, n.Applied = s.LastHandledPlanAt, s.Digest, s.Inputs, s.Action, s.AppliedAt != nil
	if ready := apimeta.FindStatusCondition(s.Conditions, helmv2.ConditionReady); s.Digest == "" && ready != nil && ready.Reason == v1alpha1.ReasonFailed {
		n.Failed = ready.Message
	}
	return rec, nil
}

// unguarded returns why the user who lets an upgrade leave out a hook was not checked when the Operation
// was created; empty if the user was.
func (o *observer) unguarded(ctx context.Context, op *opsv1alpha1.Operation) (string, error) {
	return controller.SkipGuard().Gap(ctx, o.live, op.CreationTimestamp)
}

// requestPlan writes the request for a plan into the annotation of the target.
func (a *actor) requestPlan(ctx context.Context, rec reconciliation, token string) error {
	if rec.hr.Annotations[v1alpha1.AnnotationPlan] == token {
		return nil
	}
	return a.annotate(ctx, rec.hr, func(annotations map[string]string) { annotations[v1alpha1.AnnotationPlan] = token })
}

// requestAnswered reports whether a request for a plan was answered between two versions of a
// HelmRelease.
func requestAnswered(before, after *helmv2.HelmRelease) bool {
	return release.RequestsOf(before.Annotations).PlanHandled != release.RequestsOf(after.Annotations).PlanHandled
}
