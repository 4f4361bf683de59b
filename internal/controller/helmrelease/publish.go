// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
	"github.com/pintle-dev/pintle/internal/status/message"
)

// publisher ends reconciliations: it writes status, then sends events and updates metrics.
type publisher struct{ *environment }

// publishOutcome publishes the outcome of an action. The outcome is forgotten after it is written.
func (p *publisher) publishOutcome(ctx context.Context, hr *helmv2.HelmRelease, o release.Outcome) (ctrl.Result, error) {
	key := client.ObjectKeyFromObject(hr)
	logOutcome(ctx, o)
	// Before the write: a change of the owners is observed from then on.
	p.memory.With(key, func(m *memory) { m.blockedBy(hr, o.Owners) })
	result, err := p.publish(ctx, hr, sentStatus{Report: p.withSuspension(hr, status.Finished(hr, o, p.now())), outcome: &o})
	if err != nil {
		return p.endUnwritten(hr, err)
	}
	p.noteOutcome(key, o)
	return result, nil
}

// publishCarriedOut ends the reconciliation of a HelmRelease whose status proves that a write was carried
// out that the API server did not answer; nil if it proves none.
func (p *publisher) publishCarriedOut(ctx context.Context, hr *helmv2.HelmRelease) *ctrl.Result {
	key := client.ObjectKeyFromObject(hr)
	var sent *sentStatus
	p.memory.With(key, func(m *memory) { sent = m.carriedOut(hr) })
	if sent == nil {
		return nil
	}
	p.emit(hr, sent.Events)
	controller.LogChange(ctrl.LoggerFrom(ctx), sent.change)
	if sent.outcome != nil {
		p.noteOutcome(key, *sent.outcome)
	}
	result := p.requeue(key, release.Now())
	return &result
}

// noteOutcome updates the state in memory after status records an outcome.
func (p *publisher) noteOutcome(key types.NamespacedName, o release.Outcome) {
	p.attempts.Forget(key)
	p.memory.With(key, func(m *memory) {
		m.recordRefusal(o)
		if o.PlanVoid {
			m.void = release.PlanOf(o.Action).Digest
		}
		m.sync.invalidate()
	})
	if endsFailures(o) {
		p.backoff.Forget(key)
	}
	p.metrics.Reconciliation(metrics.RuleFinished)
	p.metrics.Attempt(o)
	p.metrics.ReconcileDuration(key, o.Ended.Sub(o.Started))
}

func logOutcome(ctx context.Context, o release.Outcome) {
	log := ctrl.LoggerFrom(ctx).WithValues("action", release.Name(o.Action), "took", o.Ended.Sub(o.Started).String())
	switch {
	case o.Interrupted != nil:
		log.Info("action interrupted", "server", o.Interrupted.Server, "since", o.Interrupted.Since, "cause", o.Err.Error(), "cancelled", o.Cancelled)
	case o.ResumedElsewhere():
		log.Info("another process has resumed the action")
	case o.Deferred():
		log.Info("action deferred", "cause", o.Err.Error())
	case o.Err != nil:
		if o.Diagnosis != nil {
			log = log.WithValues("failure", o.Diagnosis.Code)
		}
		log.Info("action failed", "cause", o.Err.Error(), "cancelled", o.Cancelled)
	default:
		log.Info("action succeeded")
	}
}

// endsFailures reports whether an outcome ends a series of failures. A successful remediation does
// not: the action that it remediated is tried again.
func endsFailures(o release.Outcome) bool {
	switch o.Action.(type) {
	case release.Install, release.Upgrade, release.Recheck, release.CorrectDrift:
		return o.Err == nil && len(o.Failed) == 0
	case release.Test, release.Rollback, release.Uninstall, release.Unlock, release.FailBake:
	}
	return false
}

// publishObstacle publishes an obstacle. A conflict is none: the read was stale.
func (p *publisher) publishObstacle(ctx context.Context, rec reconciliation, cause error) (ctrl.Result, error) {
	if result, stale := p.conflict(rec.read, cause); stale {
		return result, nil
	}
	var obstacle *release.Blocked
	p.memory.With(rec.key(), func(m *memory) { obstacle = m.outage.Obstacle(cause, p.now()) })
	ctrl.LoggerFrom(ctx).Info("blocked", "reason", obstacle.Reason, "why", obstacle.Message)
	result, err := p.publish(ctx, rec.read, sentStatus{Report: p.withSuspension(rec.hr, status.Blocked(rec.hr, obstacle, p.now()))})
	if err != nil {
		return p.endUnwritten(rec.read, err)
	}
	p.metrics.Reconciliation(metrics.RuleBlocked)
	return result, nil
}

// skip ends the reconciliation of a release that was found in sync and has not changed since.
func (p *publisher) skip(rec reconciliation, left time.Duration) ctrl.Result {
	p.memory.With(rec.key(), func(m *memory) { m.outage.End() })
	p.metrics.Reconciliation(metrics.RuleCached)
	p.metrics.Succeeded(rec.key(), rec.in.Now)
	return lowPriority(p.requeue(rec.key(), release.After(left)))
}

// publishDecision publishes a decision that is no action of Helm.
func (p *publisher) publishDecision(ctx context.Context, rec reconciliation) (ctrl.Result, error) {
	p.memory.With(rec.key(), func(m *memory) { m.outage.End() })
	report := p.withSuspension(rec.hr, status.Settled(rec.hr, rec.decision, rec.in))
	result, err := p.publish(ctx, rec.read, sentStatus{Report: report})
	if err != nil {
		return p.endUnwritten(rec.read, err)
	}
	p.warn(rec)
	repeat := rec.in.Observed.Drift != nil && rec.in.Observed.Drift.Repeat
	refused := rec.decision.Rule == release.RulePolicyRefused
	atRest := !refused && (rec.decision.State == release.StateInSync || rec.decision.State == release.StateRolledBack)
	if atRest && result.RequeueAfter > 0 && !repeat {
		result.RequeueAfter = p.rememberSync(rec, report.Status, result.RequeueAfter)
	}
	if atRest && !rec.in.Desired.Suspension.Active {
		p.metrics.Succeeded(rec.key(), rec.in.Now)
	}
	p.metrics.Suspended(rec.key().String(), rec.in.Desired.Suspension.Active)
	p.metrics.RolledBack(rec.key().String(), apimeta.IsStatusConditionTrue(report.Status.Conditions, helmv2.ConditionRolledBack))
	p.countDrift(ctx, rec, report)
	if _, settled := rec.decision.Action.(release.Settle); settled && !repeat {
		p.backoff.Forget(rec.key())
	}
	p.metrics.Reconciliation(rec.decision.Rule)
	return result, nil
}

// warn reports once that a policy leaves a release as it is, and refuses its next change.
func (p *publisher) warn(rec reconciliation) {
	if rec.decision.Rule != release.RuleInSync {
		return
	}
	var refusal policy.Refusal
	if r := rec.in.Desired.Demands.Refusal; r != nil {
		refusal = *r
	}
	var known bool
	p.memory.With(rec.key(), func(m *memory) {
		known = m.warned == refusal
		m.warned = refusal
	})
	if !known && refusal != (policy.Refusal{}) {
		p.emit(rec.read, []status.Event{status.ChartRefusedNext(refusal)})
	}
}

// rememberSync records that the release is in sync, and returns the time until the next comparison:
// the interval, or less the first time, so that the releases of a start are spread.
func (p *publisher) rememberSync(rec reconciliation, status helmv2.HelmReleaseStatus, after time.Duration) time.Duration {
	p.memory.With(rec.key(), func(m *memory) {
		if !m.sync.known {
			after = p.stagger(after)
		}
		m.sync.found(release.Synced{Desired: rec.in.Desired, Status: status, Until: p.now().Add(after)})
	})
	return after
}

// announce writes that an action is about to start. The write fails if the object was changed or
// deleted since it was read. The action must not start then: the read was stale, or another
// controller acts.
func (p *publisher) announce(ctx context.Context, rec reconciliation) error {
	started := p.withSuspension(rec.hr, status.Started(rec.hr, rec.decision, rec.want.Desired, rec.in.Now))
	started.Events = append(started.Events, status.DependentsLeft(rec.decision, rec.in)...)
	written, err := p.writeStatus(ctx, rec.read, sentStatus{Report: started})
	if err != nil {
		return err
	}
	p.emit(written, started.Events)
	p.memory.With(rec.key(), func(m *memory) {
		m.outage.End()
		m.suspended = new(rec.read.Spec.Suspend)
	})
	p.countDrift(ctx, rec, started)
	p.metrics.Reconciliation(rec.decision.Rule)
	p.metrics.Overridden(release.PlanOf(rec.decision.HelmAction()).OverriddenGates())
	return nil
}

// publish writes status if it differs, sends the events, and returns when to reconcile again. If
// nothing has changed, nothing is written.
func (p *publisher) publish(ctx context.Context, read *helmv2.HelmRelease, send sentStatus) (ctrl.Result, error) {
	send.change = message.ChangeOf(message.HelmRelease, read.Status.Conditions, send.Status.Conditions)
	written, err := p.writeStatus(ctx, read, send)
	if apierrors.IsNotFound(err) {
		// The object no longer exists. Its events are still sent.
		written, err = read, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	p.emit(written, send.Events)
	controller.LogChange(ctrl.LoggerFrom(ctx), send.change)
	p.memory.With(client.ObjectKeyFromObject(read), func(m *memory) { m.suspended = new(read.Spec.Suspend) })
	return p.requeue(client.ObjectKeyFromObject(read), send.Retry), nil
}

// withSuspension adds the suspension of hr to a report.
func (p *publisher) withSuspension(hr *helmv2.HelmRelease, r status.Report) status.Report {
	var before *bool
	p.memory.With(client.ObjectKeyFromObject(hr), func(m *memory) { before = m.suspended })
	now := p.now()
	return status.WithSuspension(r, hr, release.SuspensionOf(hr.Spec.Suspend, hr.Annotations, now), before, now)
}

func (p *publisher) emit(hr *helmv2.HelmRelease, events []status.Event) {
	controller.Emit(p.events, hr, events...)
}

// writeStatus is the only writer of a HelmRelease's status. The resourceVersion guards against
// writing the result of a stale read: an object that was deleted and created again under the same
// name has another one.
func (p *publisher) writeStatus(ctx context.Context, read *helmv2.HelmRelease, send sentStatus) (*helmv2.HelmRelease, error) {
	after := read.DeepCopy()
	after.Status = send.Status
	if equality.Semantic.DeepEqual(read.Status, after.Status) {
		return read, nil
	}
	patch := client.MergeFromWithOptions(read, client.MergeFromWithOptimisticLock{})
	err := p.client.Status().Patch(ctx, after, patch, controller.FieldOwner)
	p.memory.With(client.ObjectKeyFromObject(read), func(m *memory) {
		switch {
		case err == nil:
			m.unanswered = nil
			m.replaced.Found(read.ResourceVersion, p.now())
		case controller.IsTransient(err):
			m.unanswered = &send
		}
	})
	if err == nil {
		p.rollouts.Wrote(read, after)
		p.countHold(read.Status.Conditions, send.Status.Conditions)
	}
	return after, err
}

// endUnwritten ends a reconciliation of hr whose write failed. If the object no longer exists,
// nothing is left to do: its deletion triggers the reconciliation that forgets it. A conflict is no
// error: the read was older than another write.
func (p *publisher) endUnwritten(hr *helmv2.HelmRelease, err error) (ctrl.Result, error) {
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, nil
	}
	if result, stale := p.conflict(hr, err); stale {
		return result, nil
	}
	return ctrl.Result{}, err
}

// conflict reports whether a write failed because the read of hr was stale, and how to end the
// reconciliation then. The pauses grow: the watch of the cache may be interrupted.
func (p *publisher) conflict(hr *helmv2.HelmRelease, err error) (result ctrl.Result, stale bool) {
	if !apierrors.IsConflict(err) {
		return ctrl.Result{}, false
	}
	p.memory.With(client.ObjectKeyFromObject(hr), func(m *memory) {
		m.overtaken.Found(hr.ResourceVersion, p.now())
		result.RequeueAfter = m.overtaken.Pause(p.now())
	})
	return result, true
}

// countHold counts for how long an Operation kept Helm from a release, once that has ended. The
// condition contains the start, even if it was before the start of the process.
func (p *publisher) countHold(before, after []metav1.Condition) {
	locked := apimeta.FindStatusCondition(before, helmv2.ConditionLocked)
	if locked == nil || locked.Status != metav1.ConditionTrue || apimeta.IsStatusConditionTrue(after, helmv2.ConditionLocked) {
		return
	}
	p.metrics.LockWaited(p.now().Sub(locked.LastTransitionTime.Time))
}

// countDrift counts releases that drift. It counts and logs the objects if a new event reports the
// drift.
func (p *publisher) countDrift(ctx context.Context, rec reconciliation, report status.Report) {
	p.metrics.Drifted(rec.key().String(), rec.decision.State == release.StateDrifted)
	for _, e := range report.Events {
		if e.Reason == helmv2.ReasonDriftDetected {
			p.metrics.DriftDetected(rec.in.Observed.Drift.Objects)
			logDrift(ctx, rec.in.Observed.Drift.Objects)
		}
	}
}

// maxLogged is about the number of fields of a release that are logged at a time.
const maxLogged = 100

func logDrift(ctx context.Context, objects []release.DriftedObject) {
	log, logged := ctrl.LoggerFrom(ctx), 0
	for _, o := range objects {
		log := log.WithValues("object", o.Kind+"/"+o.Namespace+"/"+o.Name)
		if o.Removed {
			log.Info("drift", "difference", "removed")
		}
		for _, f := range o.Fields {
			log.Info("drift", "difference", f.Kind, "field", f.Path, "manager", f.Manager, "operation", f.Operation,
				"subresource", f.Subresource, "at", f.Time, "wanted", f.Want, "found", f.Have)
		}
		if logged += 1 + len(o.Fields); logged >= maxLogged {
			return
		}
	}
}
