// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/attempt"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/diagnosis/evidence"
	"github.com/pintle-dev/pintle/internal/drift"
	"github.com/pintle-dev/pintle/internal/release"
)

// actor performs actions.
type actor struct {
	*environment
	sources   *sourceMaker
	comparer  *comparer
	debouncer *debouncer
}

// start starts the action in the background. It returns false while none can be started: the
// process is starting or stopping.
func (a *actor) start(ctx context.Context, rec reconciliation) bool {
	ctx = apiretry.Unlimited(ctx)
	info := attempt.Info{Action: rec.decision.HelmAction(), Desired: rec.want.Desired, Started: a.now()}
	if !rec.conn.Local() {
		info.Cluster = rec.conn.Cluster()
	}
	if correct, ok := rec.decision.Action.(release.CorrectDrift); ok {
		task, err := a.correction(ctx, rec, correct)
		return err == nil && a.attempts.Begin(ctx, rec.key(), info, task)
	}
	if release.AppliesDesired(rec.decision.HelmAction()) {
		a.debouncer.EndBurst(rec.key())
	}
	started := a.attempts.Begin(ctx, rec.key(), info, a.helmAction(ctx, rec))
	if test, _ := rec.decision.Action.(release.Test); started && test.Request != "" {
		a.memory.With(rec.key(), func(m *memory) { m.accepted = "" })
	}
	return started
}

// accept records a request as handled before its action is announced, and returns rec with the
// HelmRelease as written. A process that dies afterwards does not carry out the request: it is
// carried out once at most. A write without an answer may have been carried out. This process then
// starts the action in a later reconciliation.
func (a *actor) accept(ctx context.Context, rec reconciliation) (reconciliation, error) {
	test, _ := rec.decision.Action.(release.Test)
	if test.Request == "" {
		return rec, nil
	}
	rec.want.Target = release.ObservedTarget(rec.in)
	if test.Request == rec.in.Desired.Requests.TestHandled {
		return rec, nil
	}
	a.memory.With(rec.key(), func(m *memory) { m.accepted = test.Request })
	rec, err := a.markHandled(ctx, rec, helmv2.AnnotationTestAt, test.Request)
	if err != nil && !controller.IsTransient(err) {
		a.memory.With(rec.key(), func(m *memory) { m.accepted = "" })
	}
	return rec, err
}

// correction returns the task that corrects drift.
func (a *actor) correction(ctx context.Context, rec reconciliation, correct release.CorrectDrift) (attempt.Task, error) {
	look, err := a.comparer.request(rec, rec.in.Observed.Newest())
	log := ctrl.LoggerFrom(ctx)
	return func(ctx context.Context, idle func() func()) release.Outcome {
		return a.comparer.correct(ctx, look, rec.want.Desired, correct, apiretry.Options{
			Now: a.now, Server: rec.conn.Server(), Timeout: correct.Timeout, ReleaseSlot: idle, StopCause: release.ErrShutdown, Log: log,
			Remote: !rec.conn.Local(),
		})
	}, err
}

// helmAction returns the task that runs an action of Helm.
func (a *actor) helmAction(ctx context.Context, rec reconciliation) attempt.Task {
	job, takenOver := a.job(rec, rec.decision.HelmAction()), release.TakenOver(rec.in, rec.decision)
	examiner, err := evidence.New(rec.conn)
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("failures will not be explained", "cause", err.Error())
	} else {
		job.Examiner = examiner
	}
	var applied drift.Recorder
	if compares(rec.want.Desired) {
		job.Applied = applied.Applied
	}
	return func(ctx context.Context, idle func() (resume func())) release.Outcome {
		job.Idle = idle
		outcome := a.helm.Run(ctx, rec.conn, job)
		outcome.TakenOver = takenOver
		if compares(rec.want.Desired) {
			outcome = a.comparer.record(ctx, rec, job, outcome, &applied)
		}
		return outcome
	}
}

// takeOutcome returns the outcome of an action on this very object. The outcome of one on a former object
// of the same name is dropped.
func (a *actor) takeOutcome(hr *helmv2.HelmRelease) (release.Outcome, bool) {
	key := client.ObjectKeyFromObject(hr)
	outcome, ended := a.attempts.Outcome(key)
	if ended && outcome.Desired.UID != string(hr.UID) {
		a.attempts.Forget(key)
		return release.Outcome{}, false
	}
	return outcome, ended
}

// cancel cancels the action that runs, if the decision is to cancel it.
func (a *actor) cancel(key types.NamespacedName, wait release.Wait) {
	if !wait.Cancel {
		return
	}
	cause := context.Canceled
	if wait.Outdated {
		cause = release.ErrOutdated
	}
	a.attempts.Cancel(key, cause)
}

// ensureFinalizer makes sure that the object is not removed before its release. It reports false if
// the reconciliation must end: the object is being deleted without the finalizer, or the write
// failed.
func (a *actor) ensureFinalizer(ctx context.Context, hr *helmv2.HelmRelease) (bool, error) {
	if controllerutil.ContainsFinalizer(hr, helmv2.Finalizer) {
		return true, nil
	}
	if !hr.DeletionTimestamp.IsZero() {
		return false, nil
	}
	patch := client.MergeFromWithOptions(hr.DeepCopy(), client.MergeFromWithOptimisticLock{})
	controllerutil.AddFinalizer(hr, helmv2.Finalizer)
	if err := a.client.Patch(ctx, hr, patch, controller.FieldOwner); err != nil {
		return false, err
	}
	return true, nil
}

// finalize deletes the source of spec.chart, removes the finalizer, and returns rec with the result.
// The source of a suspended HelmRelease stays.
func (a *actor) finalize(ctx context.Context, rec reconciliation) (reconciliation, error) {
	if !rec.want.Suspension.Active {
		chart, err := a.sources.Delete(ctx, rec.hr)
		if err != nil {
			return rec, err
		}
		rec = rec.withHelmChart(chart)
	}
	rec.hr = rec.hr.DeepCopy()
	patch := client.MergeFromWithOptions(rec.hr.DeepCopy(), client.MergeFromWithOptimisticLock{})
	controllerutil.RemoveFinalizer(rec.hr, helmv2.Finalizer)
	return rec, client.IgnoreNotFound(a.client.Patch(ctx, rec.hr, patch, controller.FieldOwner))
}
