// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/attempt"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/diagnosis/evidence"
	"github.com/pintle-dev/pintle/internal/drift"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

// ensureFinalizer sees to it that the object cannot vanish before its release
// does. It reports false if the visit must end: the object is being deleted and
// not ours to hold, or the write failed.
func (r *HelmReleaseReconciler) ensureFinalizer(ctx context.Context, hr *helmv2.HelmRelease) (bool, error) {
	if controllerutil.ContainsFinalizer(hr, helmv2.Finalizer) {
		return true, nil
	}
	if !hr.DeletionTimestamp.IsZero() {
		return false, nil
	}
	patch := client.MergeFromWithOptions(hr.DeepCopy(), client.MergeFromWithOptimisticLock{})
	controllerutil.AddFinalizer(hr, helmv2.Finalizer)
	if err := r.client.Patch(ctx, hr, patch, fieldOwner); err != nil {
		return false, err
	}
	return true, nil
}

// settle ends a visit whose decision leaves Helm alone.
func (r *HelmReleaseReconciler) settle(ctx context.Context, before, hr *helmv2.HelmRelease, way *cluster.Connection, want inputs.Want, d release.Decision, in release.Input) (ctrl.Result, error) {
	switch a := d.Action.(type) {
	case release.Finalize:
		if err := r.finalize(ctx, hr); err != nil {
			return r.publishBlocked(ctx, before, hr, err)
		}
		r.emit(hr, status.Finalized(d, in))
		r.metrics.Reconciliation(d.Rule)
		return ctrl.Result{}, nil
	case release.Wait:
		if a.Cancel {
			cause := context.Canceled
			if a.Outdated {
				cause = release.ErrOutdated
			}
			r.attempts.Cancel(client.ObjectKeyFromObject(hr), cause)
		}
	case release.Adopt:
		r.list(ctx, hr, way, want, &in)
	case release.Settle, release.Stall, release.Forget,
		release.Install, release.Upgrade, release.Test, release.Rollback, release.Uninstall, release.Unlock, release.Recheck, release.CorrectDrift:
	}
	return r.publishSettled(ctx, before, hr, d, in)
}

// finalize lets the object go, and with it the HelmChart made for it. An object
// that was suspended leaves everything behind.
func (r *HelmReleaseReconciler) finalize(ctx context.Context, hr *helmv2.HelmRelease) error {
	if !hr.Spec.Suspend {
		if err := r.deleteHelmChart(ctx, hr); err != nil {
			return err
		}
	}
	patch := client.MergeFromWithOptions(hr.DeepCopy(), client.MergeFromWithOptimisticLock{})
	controllerutil.RemoveFinalizer(hr, helmv2.Finalizer)
	return client.IgnoreNotFound(r.client.Patch(ctx, hr, patch, fieldOwner))
}

// announce writes that an action is about to begin. The write fails if the
// object was changed or deleted since it was read, in which case nothing may begin: the
// read was stale, or another controller is acting.
func (r *HelmReleaseReconciler) announce(ctx context.Context, before *helmv2.HelmRelease, started status.Report) error {
	written, err := r.writeStatus(ctx, before, started.Status)
	if err == nil {
		r.emit(written, started.Events)
	}
	r.unanswered.note(before, sentStatus{Report: started}, err)
	return err
}

// begin starts the action in the background. It reports false if nothing can be
// started at the moment: the process is starting up, or about to end.
func (r *HelmReleaseReconciler) begin(ctx context.Context, hr *helmv2.HelmRelease, way *cluster.Connection, want inputs.Want, in release.Input, d release.Decision) bool {
	key, job, takenOver := client.ObjectKeyFromObject(hr), r.job(hr, want, d.Action), release.TakenOver(in, d)
	r.examine(ctx, way, &job)
	info := attempt.Info{Action: d.Action, Desired: want.Desired, Started: r.now()}
	if a, ok := d.Action.(release.CorrectDrift); ok {
		look, err := r.look(hr, way, want, in.Observed.Newest())
		return err == nil && r.attempts.Begin(ctx, key, info,
			func(ctx context.Context, idle func() func()) release.Outcome {
				return r.correct(ctx, look, want.Desired, a, apiretry.Options{
					Now: r.now, Server: way.Server(), Timeout: a.Timeout, ReleaseSlot: idle, Log: ctrl.LoggerFrom(ctx),
				})
			})
	}
	if release.AppliesDesired(d.Action) {
		r.bursts.acted(key)
	}
	var applied drift.Recorder
	if compares(want.Desired) {
		job.Applied = applied.Applied
	}
	return r.attempts.Begin(ctx, key, info,
		func(ctx context.Context, idle func() (resume func())) release.Outcome {
			job.Idle = idle
			outcome := r.helm.Run(ctx, way, job)
			outcome.TakenOver = takenOver
			if compares(want.Desired) {
				r.record(ctx, hr, way, job, &outcome, &applied)
			}
			return outcome
		})
}

func (r *HelmReleaseReconciler) job(hr *helmv2.HelmRelease, want inputs.Want, a release.Action) helm.Job {
	spec := *hr.Spec.DeepCopy()
	if want.Deleted && want.Deletion.NoHooks {
		uninstall := *hr.GetUninstall()
		uninstall.DisableHooks = true
		spec.Uninstall = &uninstall
	}
	return helm.Job{
		Action:    a,
		Desired:   want.Desired,
		Spec:      spec,
		Origin:    helm.Origin{Name: hr.Name, Namespace: hr.Namespace},
		Artifact:  want.Artifact,
		Values:    want.Values,
		Secrets:   want.Secrets,
		Defaults:  r.defaults,
		AllowDNS:  r.allowDNS,
		Claimants: r.claimants(hr),
		Patient:   hr.Annotations[helmv2.AnnotationFailEarly] == "false",
	}
}

// examine lets a job find out why it fails. If nobody can, it fails all the same.
func (r *HelmReleaseReconciler) examine(ctx context.Context, way *cluster.Connection, job *helm.Job) {
	examiner, err := evidence.New(way)
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("failures will not be explained", "cause", err.Error())
		return
	}
	job.Examiner = examiner
}
