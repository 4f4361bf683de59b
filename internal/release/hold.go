// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Hold is a rollback to a stored revision that users request by annotation. The release stays at
// the revision until the annotation is removed or its time is over.
type Hold struct {
	// Active is true if the release should be held.
	Active bool
	// To is the number of the revision. It is 0 if the annotation has no number; Invalid states the
	// error then.
	To      int
	Invalid string
	// Until is the end of the hold; zero if it has none.
	Until time.Time
	// Reason says why the release is held; empty if no user has said so. Note has the end, and the
	// reason. An end that cannot be parsed counts as no end.
	Reason, Note string
	// Ended states that the time of the hold is over; empty otherwise.
	Ended string
	// Moved is true if the spec requests another target than the release has. A release that is held
	// is not moved, so that Desired.Target is the target that it has.
	Moved bool
}

// HoldOf returns the hold in the annotations of a HelmRelease.
func HoldOf(annotations map[string]string, now time.Time) Hold {
	value, set := annotations[helmv2.AnnotationRollbackTo]
	if !set {
		return Hold{}
	}
	h := Hold{Active: true, Reason: note(annotations[helmv2.AnnotationRollbackReason])}
	if end, bounded := annotations[helmv2.AnnotationRollbackUntil]; bounded {
		until, err := time.Parse(time.RFC3339, end)
		switch {
		case err != nil:
			h.Note = fmt.Sprintf("without end: annotation %s is %q, which is no RFC 3339 time", helmv2.AnnotationRollbackUntil, note(end))
		case !now.Before(until):
			return Hold{Ended: fmt.Sprintf("annotation %s is %s, which is over", helmv2.AnnotationRollbackUntil, note(end))}
		default:
			h.Until, h.Note = until, "until "+until.UTC().Format("2006-01-02 15:04 MST")
		}
	}
	switch {
	case h.Reason != "" && h.Note != "":
		h.Note += ": " + h.Reason
	case h.Reason != "":
		h.Note = h.Reason
	}
	to, err := strconv.Atoi(value)
	if err != nil || to < 1 {
		h.Invalid = fmt.Sprintf("annotation %s is %q, which is no number of a revision", helmv2.AnnotationRollbackTo, note(value))
		return h
	}
	h.To = to
	return h
}

// InPlace returns d with the present target of the release, if the release should be held.
func (d Desired) InPlace(recorded helmv2.HelmReleaseStatus) Desired {
	if !d.Hold.Active || d.Deleted {
		return d
	}
	stored := StoredTarget(d, recorded)
	d.Hold.Moved, d.Target = stored != d.Target, stored
	return d
}

// rolledBack applies to a release that should be held at a revision. If the release is not there,
// it is rolled back. Then only drift is corrected. A hold that cannot start changes nothing.
func rolledBack(in Input) *Decision {
	h := in.Desired.Hold
	if !h.Active || owner(in) != nil {
		return nil
	}
	if heldAt(in) {
		return holding(in)
	}
	target, why := holdTarget(in)
	if why != "" {
		return refuseHold(in, why)
	}
	if target.Unread {
		return &Decision{Action: Wait{After: targetRecheck, Brief: true}, Why: fmt.Sprintf("revision %d is not read yet", h.To)}
	}
	back := Rollback{Timeout: in.Desired.Policy.RollbackTimeout, Version: h.To, Hold: true}
	if in.Observed.Newest().failedHold(h.To) && !in.Desired.Requests.ResetRequested(&in.Recorded) {
		if d := retryHold(in); d != nil {
			return d
		}
		back.Again = true
	}
	d := &Decision{Action: back, Why: fmt.Sprintf("annotation %s requests revision %d", helmv2.AnnotationRollbackTo, h.To)}
	if in.Observed.Newest().Status == helmv2.StatusDeployed {
		d.State = StateOutOfSync
	}
	return d
}

// refuseHold returns the decision about a hold that cannot start. A release that is held at another
// revision already stays there, and its drift is corrected.
func refuseHold(in Input, why string) *Decision {
	refused := &Decision{Action: Stall{Reason: helmv2.ReasonRollbackRefused}, Why: why}
	newest := in.Observed.Newest()
	if newest == nil || newest.RolledBackTo == 0 || newest.Status != helmv2.StatusDeployed || changed(in, newest) {
		return refused
	}
	refused.State, refused.Why = StateRolledBack, fmt.Sprintf("%s; the release stays at revision %d", why, newest.RolledBackTo)
	if found := drifted(withoutRendering(in)); found != nil {
		if correct, is := found.Action.(CorrectDrift); is {
			correct.Held = true
			found.Action = correct
			return found
		}
	}
	return refused
}

// heldAt reports whether the release is deployed in the state in which it should be held: its
// newest revision is the requested one or was made from it, and was not changed.
func heldAt(in Input) bool {
	h, newest := in.Desired.Hold, in.Observed.Newest()
	return h.Active && h.To > 0 && newest != nil && newest.Status == helmv2.StatusDeployed &&
		(newest.Version == h.To || newest.RolledBackTo == h.To) && !changed(in, newest) && proven(in, newest)
}

// holding decides about a release that is deployed as it should be held. The chart is not rendered
// again, since it may be another chart.
func holding(in Input) *Decision {
	if d := drifted(withoutRendering(in)); d != nil {
		return d
	}
	return &Decision{State: StateRolledBack, Action: Settle{}, Why: fmt.Sprintf("held at revision %d", in.Desired.Hold.To)}
}

// withoutRendering returns in without the result of rendering the chart in the spec again.
func withoutRendering(in Input) Input {
	if in.Observed.Drift != nil {
		found := *in.Observed.Drift
		found.Rendering = ""
		in.Observed.Drift = &found
	}
	return in
}

// holdTarget returns the revision to roll back to, or why that is impossible.
func holdTarget(in Input) (target *Revision, why string) {
	h, newest := in.Desired.Hold, in.Observed.Newest()
	switch {
	case h.Invalid != "":
		return nil, h.Invalid
	case newest != nil && newest.Status == helmv2.StatusUninstalled:
		return nil, "the release is uninstalled"
	}
	i := slices.IndexFunc(in.Observed.Revisions, func(r Revision) bool { return r.Version == h.To })
	if i < 0 {
		return nil, fmt.Sprintf("revision %d is not stored", h.To)
	}
	target = &in.Observed.Revisions[i]
	stored := in.Desired.Target
	switch {
	case !target.Worked(), target.Undeployed, target.EndedEarly():
		return nil, fmt.Sprintf("revision %d was never deployed, or is not any more: its status is '%s'", h.To, target.Status)
	case target.Unread:
		return target, ""
	case target.Name != stored.Name || target.Namespace != stored.Namespace:
		return nil, fmt.Sprintf("revision %d belongs to release %s/%s", h.To, target.Namespace, target.Name)
	case changed(in, target):
		return nil, fmt.Sprintf("the record of revision %d is not as it was written: another client changed it", h.To)
	case !proven(in, target):
		return nil, fmt.Sprintf("nothing proves that this HelmRelease made revision %d: its record has no seal, and it is not in status.history", h.To)
	}
	return target, ""
}

// changed reports whether a revision does not match its snapshot or its labels. It is false without a
// snapshot.
func changed(in Input, r *Revision) bool {
	if r.Altered {
		return true
	}
	for _, s := range in.Recorded.History {
		if s != nil && s.Version == r.Version && s.Name == r.Name && s.Namespace == r.Namespace {
			return !Verified(s, r)
		}
	}
	return false
}

// failedHold reports whether the revision is a failed rollback of a hold. An action that ended early
// has not failed.
func (r *Revision) failedHold(to int) bool {
	return r.Status == helmv2.StatusFailed && r.RolledBackTo == to && !r.EndedEarly()
}

// retryHold returns the decision that delays or ends the retries of a rollback that has failed, by
// the rules for upgrades; nil if it is retried now.
func retryHold(in Input) *Decision {
	newest, p := in.Observed.Newest(), in.Desired.Policy.Upgrade
	if p.Retry {
		left := newest.LastWritten().Add(p.RetryInterval).Sub(in.Now)
		if left <= 0 {
			return nil
		}
		return &Decision{
			State: StateFailed, Action: Wait{After: left, Retrying: true}, Why: fmt.Sprintf("retrying after %s", p.RetryInterval),
		}
	}
	if !p.Exhausted(in.Recorded.Failures) {
		return nil
	}
	return stallAfterRetries(StateFailed, helmv2.ActionRollback, in.Recorded.Failures, false)
}

// MustReadRevision returns the number of the revision that the decision depends on and that was not
// read; 0 if there is none.
func MustReadRevision(in Input) int {
	if !in.Desired.Hold.Active {
		return 0
	}
	d := decideGated(in)
	if wait, waits := d.Action.(Wait); d.Rule == RuleRolledBack && waits && wait.Brief {
		return in.Desired.Hold.To
	}
	return 0
}

// RequestsOther returns why the spec requests another state than the one in which the release is
// held; empty if it requests the same.
func RequestsOther(in Input) string {
	switch {
	case in.Observed.Unresolved != "":
		return in.Observed.Unresolved
	case in.Desired.Hold.Moved:
		return "release target changed"
	}
	in.Observed.Drift = nil
	return difference(in)
}

// testable reports whether the tests of the newest revision are those that its HelmRelease made. The
// digests of helm-controller do not cover tests.
func testable(in Input) bool {
	newest := in.Observed.Newest()
	return sealedBy(newest, in.Desired.UID, in.Recorded.History) || TrustOf(in.Recorded.History, newest, newest) == VerifiedInFull
}

// remake returns a decision to replace a revision whose tests cannot be run.
func remake(in Input) *Decision {
	return &Decision{
		State: StateUntested, Action: Upgrade{Timeout: in.Desired.Policy.Upgrade.Timeout},
		Why: fmt.Sprintf("nothing proves what the tests of revision %d were when it was made, so that they are not run", in.Observed.Newest().Version),
	}
}

// testRequested applies if a run of the tests is requested. The newest revision must be deployed
// and recorded, and a hold must have started.
func testRequested(in Input) *Decision {
	requests, newest := in.Desired.Requests, in.Observed.Newest()
	if !requests.testRequested() && (requests.Test == "" || requests.Test != in.Observed.Accepted) {
		return nil
	}
	if newest == nil || newest.Status != helmv2.StatusDeployed || owner(in) != nil || unmanaged(in) != nil {
		return nil
	}
	if in.Desired.Hold.Active && !heldAt(in) {
		return nil
	}
	if !testable(in) {
		if in.Desired.Hold.Active {
			return nil
		}
		return remake(in)
	}
	return &Decision{
		Action: Test{Timeout: in.Desired.Policy.TestTimeout, Request: requests.Test},
		Why:    fmt.Sprintf("annotation %s requests the tests of revision %d", helmv2.AnnotationTestAt, newest.Version),
	}
}
