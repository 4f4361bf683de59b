// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/brief"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status/message"
)

// maxMessage is the length in bytes of the longest condition message that the API server accepts.
const maxMessage = 32768

// conditions are the conditions of one status while it is built. list starts as a copy of the
// present conditions, before.
type conditions struct {
	list       []metav1.Condition
	before     []metav1.Condition
	generation int64
	now        metav1.Time
	// requested is true if TestSuccess is the result of a requested run. It stays then, even if tests
	// are not enabled.
	requested bool
	// cause is the cause that the outcome or the decision has; zero if there is none. An earlier one is
	// in condition Failing.
	cause release.Cause
}

func conditionsOf(hr *helmv2.HelmRelease, status *helmv2.HelmReleaseStatus, generation int64, now time.Time) conditions {
	return conditions{
		list:   slices.Clone(status.Conditions),
		before: hr.Status.Conditions,
		// The API server stores whole seconds.
		now:        metav1.NewTime(now.Truncate(time.Second)),
		generation: generation,
	}
}

// get returns the condition of a type, the zero value if there is none.
func (c *conditions) get(kind string) metav1.Condition {
	if i := c.index(kind); i >= 0 {
		return c.list[i]
	}
	return metav1.Condition{}
}

func (c *conditions) index(kind string) int {
	return slices.IndexFunc(c.list, func(x metav1.Condition) bool { return x.Type == kind })
}

// set adds or replaces a condition. As in helm-controller, the transition time changes with the
// status, the reason or the message.
func (c *conditions) set(kind string, status metav1.ConditionStatus, reason, text string) {
	next := metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: storable(text),
		LastTransitionTime: c.now, ObservedGeneration: c.generation,
	}
	// A condition can be set several times before it is written: only the written one counts.
	for _, old := range c.before {
		if old.Type == kind && same(old, next) {
			next.LastTransitionTime = old.LastTransitionTime
		}
	}
	if i := c.index(kind); i >= 0 {
		c.list[i] = next
		return
	}
	c.list = append(c.list, next)
}

// storable returns a message as the API server stores it. Otherwise a message that the API server
// changes would differ from the stored one at every reconciliation.
func storable(text string) string {
	return brief.Cut(strings.ToValidUTF8(text, "\uFFFD"), maxMessage)
}

// setCancelled reports an action that was cancelled. That is not a failure, and the next
// reconciliation continues.
func (c *conditions) setCancelled(err error) {
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressing, err.Error())
}

// setProgressing reports work in progress. A failure of the attempt before stays in Ready, since
// Ready would change twice at each retry otherwise.
func (c *conditions) setProgressing(blocked *release.Blocked, text string) {
	old := c.get(helmv2.ConditionReady)
	if old.Status == metav1.ConditionFalse && old.Reason == blocked.Reason && old.ObservedGeneration == c.generation {
		return
	}
	c.set(helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonProgressing, text)
	c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressing, text)
}

// touch increases the transition time of a condition, even if the condition did not change.
func (c *conditions) touch(kind string) {
	i := c.index(kind)
	t := c.now
	for _, old := range c.before {
		if old.Type == kind && !t.After(old.LastTransitionTime.Time) {
			t = metav1.NewTime(old.LastTransitionTime.Add(time.Second))
		}
	}
	c.list[i].LastTransitionTime = t
}

// summarize copies to Ready the first of these conditions that exists: Remediated, TestSuccess
// unless test failures are ignored, Released. To a failure it adds what was left alone and what
// happens next, so that the failure must be counted before.
func (c *conditions) summarize(status *helmv2.HelmReleaseStatus, want release.Desired) {
	if !want.Policy.Tests && !c.requested {
		c.remove(helmv2.ConditionTestSuccess)
	}
	if r := c.get(helmv2.ConditionRemediated); r.Type != "" {
		summary := summaryOf(r, c.failure(status, want))
		c.set(helmv2.ConditionReady, metav1.ConditionFalse, summary.Reason, explain(c, summary, status, want))
		return
	}
	if t := c.get(helmv2.ConditionTestSuccess); t.Type != "" && want.Policy.Tests && !release.IgnoresTests(want, *status) {
		c.set(helmv2.ConditionReady, t.Status, t.Reason, explain(c, t, status, want))
		return
	}
	if r := c.get(helmv2.ConditionReleased); r.Type != "" {
		c.set(helmv2.ConditionReady, r.Status, r.Reason, explain(c, r, status, want))
	}
}

// explain returns the message of Ready for the result of an action. To a failure it adds what was
// left alone and what happens next.
func explain(c *conditions, result metav1.Condition, status *helmv2.HelmReleaseStatus, want release.Desired) string {
	return explainResult(c, result, status, want, false)
}

// explainResult returns the same message for Ready or for an event.
func explainResult(c *conditions, result metav1.Condition, status *helmv2.HelmReleaseStatus, want release.Desired, forEvent bool) string {
	facts := c.facts(subjectOf(result, status, want), result.Message)
	facts.Tested = result.Type == helmv2.ConditionTestSuccess
	f := message.FailureOf(status, want)
	switch {
	case result.Reason == helmv2.ReasonReleaseTooLarge:
		return message.Of(message.TooLarge, facts).String()
	case result.Reason == helmv2.ReasonDryRunDenied:
		facts.Interval = message.Duration(release.DenialRetry)
		return message.Of(message.DryRunDenied, facts).String()
	case result.Type == helmv2.ConditionRemediated:
		f.RemedyFailed = result.Status != metav1.ConditionTrue
		f.Uninstalled = !f.RemedyFailed && c.get(helmv2.ConditionRemediated).Reason == helmv2.ReasonUninstallSucceeded
		if f.RolledBack = !f.RemedyFailed && !f.Uninstalled; f.RolledBack {
			facts.Runs = runningAgain(status.History)
		}
	case result.Status != metav1.ConditionFalse:
		return result.Message
	case result.Type == helmv2.ConditionTestSuccess && c.requested:
		return message.Of(message.TestOnly, facts).String()
	case result.Type == helmv2.ConditionTestSuccess && !release.Tested(release.Latest(status.History)):
		return message.Of(message.TestAgain, facts).String()
	case result.Type == helmv2.ConditionTestSuccess:
		// The tested revision is stored, even if a later attempt was rejected.
		f.Rejected = false
	case result.Reason == helmv2.ReasonPendingRelease:
		return message.Of(message.Unlocked, message.Facts{What: result.Message}).String()
	case result.Reason != helmv2.ReasonInstallFailed && result.Reason != helmv2.ReasonUpgradeFailed:
		return result.Message
	}
	if forEvent {
		return f.EventParts(facts).String()
	}
	return f.Parts(facts).String()
}

// facts returns the facts of a message about an action that did not succeed: its subject and cause, and
// below the message in the format of helm-controller. An unknown cause, such as the cause of a failure
// that another controller has recorded, is in that message only.
func (c *conditions) facts(subject, details string) message.Facts {
	cause := c.cause
	if failing := c.get(helmv2.ConditionFailing); cause == (release.Cause{}) && failing.Type != "" && failing.Message != c.unknownCause() {
		cause = release.Cause{Code: failing.Reason, Text: failing.Message}
	}
	if cause.Text == "" {
		return message.Facts{What: details, Remedy: message.Remedy(cause.Code)}
	}
	return message.Facts{Subject: subject, Cause: cause.Text, Remedy: message.Remedy(cause.Code), Details: details}
}

// subjectOf returns the failed action as a noun phrase. Results that were never set are of an upgrade.
func subjectOf(result metav1.Condition, status *helmv2.HelmReleaseStatus, want release.Desired) string {
	last := release.Latest(status.History)
	switch {
	case result.Type == helmv2.ConditionTestSuccess && last != nil:
		return message.SubjectOf(helmv2.ActionTest, last.ChartName, last.ChartVersion)
	case result.Type == helmv2.ConditionRemediated && result.Status != metav1.ConditionTrue && result.Reason == helmv2.ReasonRollbackFailed:
		return "Rollback"
	case result.Type == helmv2.ConditionRemediated && result.Status != metav1.ConditionTrue && last != nil:
		return message.SubjectOf(helmv2.ActionUninstall, last.ChartName, last.ChartVersion)
	}
	return message.SubjectOf(status.LastAttemptedReleaseAction, want.Chart.Name, want.Chart.Version)
}

// runningAgain returns which revision runs after a rollback, and of which one it is the copy.
func runningAgain(history helmv2.Snapshots) string {
	last := release.Latest(history)
	if last == nil {
		return "The last revision that was deployed runs again"
	}
	older := slices.DeleteFunc(slices.Clone(history), func(s *helmv2.Snapshot) bool { return s == nil || s.Version == last.Version })
	as := ""
	if target := release.Previous(older, true); target != nil {
		as = fmt.Sprintf(", as revision %d", target.Version)
	}
	if failed := release.Latest(older); failed != nil && failed.ChartVersion == last.ChartVersion && failed.ConfigDigest != last.ConfigDigest {
		return fmt.Sprintf("The earlier values run again (revision %d%s)", last.Version, as)
	}
	return fmt.Sprintf("Chart %s %s runs again (revision %d%s)", last.ChartName, message.WithoutBuild(last.ChartVersion), last.Version, as)
}

// failure returns the condition of the failure that is remediated: Released, or TestSuccess unless
// test failures are ignored. Its type is empty if neither is a failure, as after an unlock.
func (c *conditions) failure(status *helmv2.HelmReleaseStatus, want release.Desired) metav1.Condition {
	if r := c.get(helmv2.ConditionReleased); r.Reason == helmv2.ReasonInstallFailed || r.Reason == helmv2.ReasonUpgradeFailed {
		return r
	}
	if t := c.get(helmv2.ConditionTestSuccess); t.Status == metav1.ConditionFalse && !release.IgnoresTests(want, *status) {
		return t
	}
	return metav1.Condition{}
}

// copyReleased copies Released to Ready with the message of a kind, and returns the message.
func (c *conditions) copyReleased(kind message.Kind, subject string) string {
	r := c.get(helmv2.ConditionReleased)
	f := message.Facts{What: r.Message}
	if subject != "" {
		f = c.facts(subject, r.Message)
	}
	text := message.Of(kind, f).String()
	c.set(helmv2.ConditionReady, r.Status, r.Reason, text)
	return text
}

func (c *conditions) remove(kinds ...string) {
	c.list = slices.DeleteFunc(c.list, func(x metav1.Condition) bool { return slices.Contains(kinds, x.Type) })
}

// changed reports whether a condition is new, or has another status, reason or message than at the
// start of the reconciliation. Failures that do not change have no further event.
func (c *conditions) changed(kind string) bool {
	i := slices.IndexFunc(c.before, func(x metav1.Condition) bool { return x.Type == kind })
	return i < 0 || !same(c.before[i], c.get(kind))
}

func same(a, b metav1.Condition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
}

// setReleased reports that the revision of the snapshot is deployed.
func setReleased(c *conditions, s *helmv2.Snapshot) {
	if s == nil {
		return
	}
	reason, verb := helmv2.ReasonUpgradeSucceeded, helmv2.ActionUpgrade
	if s.Action == helmv2.ActionInstall || (s.Action == "" && s.Version == 1) {
		reason, verb = helmv2.ReasonInstallSucceeded, helmv2.ActionInstall
	}
	c.set(helmv2.ConditionReleased, metav1.ConditionTrue, reason, succeededMessage(verb, s))
}

// setReleaseFailed reports that the newest revision failed, with the error in its record.
func setReleaseFailed(c *conditions, s *helmv2.Snapshot, newest *release.Revision) {
	action, reason := failedAction(s)
	c.set(helmv2.ConditionReleased, metav1.ConditionFalse, reason, storedFailureMessage(action, newest))
}

// keepReleaseFailed does the same for a failure that was reported before. The earlier message is
// more exact, and stays.
func keepReleaseFailed(c *conditions, s *helmv2.Snapshot, newest *release.Revision) {
	_, reason := failedAction(s)
	if old := c.get(helmv2.ConditionReleased); old.Status == metav1.ConditionFalse && old.Reason == reason {
		c.set(helmv2.ConditionReleased, old.Status, old.Reason, old.Message)
		return
	}
	setReleaseFailed(c, s, newest)
}

// failedAction returns the action that created the revision of a snapshot, and the reason of its
// failure. A snapshot without an action is of an install if it has version 1.
func failedAction(s *helmv2.Snapshot) (action helmv2.ReleaseAction, reason string) {
	if s != nil && (s.Action == helmv2.ActionInstall || (s.Action == "" && s.Version == 1)) {
		return helmv2.ActionInstall, helmv2.ReasonInstallFailed
	}
	return helmv2.ActionUpgrade, helmv2.ReasonUpgradeFailed
}

// Report is the result of a reconciliation.
type Report struct {
	// Status to write. It equals the present status if nothing changed.
	Status helmv2.HelmReleaseStatus
	// Events to emit after the status is written.
	Events []Event
	// Retry is the requeue delay.
	Retry release.Retry
}

// withRequestsHandled returns a copy of the status for a reconciliation that has decided. It
// handles all requests by annotation, even rejected ones. A force that an earlier process has
// started stays open until its end is recorded.
func withRequestsHandled(hr *helmv2.HelmRelease) helmv2.HelmReleaseStatus {
	status, requests := *hr.Status.DeepCopy(), release.RequestsOf(hr.Annotations)
	started := requests.ForceStarted(&status)
	if requests.ResetRequested(&status) {
		release.ResetFailures(&status)
	}
	if requests.Force != "" {
		status.LastHandledForceAt = requests.Force
	}
	if requests.Reset != "" {
		status.LastHandledResetAt = requests.Reset
	}
	if !started {
		acknowledgeReconcile(hr, &status)
	}
	return status
}

// withReconcileHandled returns a copy of the status for a reconciliation that ended before a
// decision. It handles only the reconcile request. The force and reset requests that came with
// it expire, since they need the same token, and are not recorded as handled.
func withReconcileHandled(hr *helmv2.HelmRelease) helmv2.HelmReleaseStatus {
	status := *hr.Status.DeepCopy()
	if !release.RequestsOf(hr.Annotations).ForceStarted(&status) {
		acknowledgeReconcile(hr, &status)
	}
	return status
}

// acknowledge handles a reconcile request in a reconciliation that does other work. If a force or
// reset request is open, a later reconciliation handles all of them.
func acknowledge(hr *helmv2.HelmRelease, status *helmv2.HelmReleaseStatus) {
	if !release.RequestsOf(hr.Annotations).Open(status) {
		acknowledgeReconcile(hr, status)
	}
}

func acknowledgeReconcile(hr *helmv2.HelmRelease, status *helmv2.HelmReleaseStatus) {
	if token, ok := hr.Annotations[helmv2.AnnotationReconcileRequest]; ok {
		status.LastHandledReconcileAt = token
	}
}

// clearRelease removes all fields about a release: history, inventory, storage namespace and
// failure counters.
func clearRelease(status *helmv2.HelmReleaseStatus) {
	status.History, status.Inventory, status.StorageNamespace = nil, nil, ""
	release.ResetFailures(status)
}

// countFailure adds a failure of an action to the counters.
func countFailure(status *helmv2.HelmReleaseStatus, action helmv2.ReleaseAction) {
	status.Failures++
	if action == helmv2.ActionInstall {
		status.InstallFailures++
	}
	if action == helmv2.ActionUpgrade {
		status.UpgradeFailures++
	}
}

// recordAttempt records the inputs of a decision. Failures are counted for these inputs.
func recordAttempt(status *helmv2.HelmReleaseStatus, want release.Desired) {
	*status = release.ResetCounters(*status, want)
	if want.Requests.Reset != "" {
		status.LastHandledResetAt = want.Requests.Reset
	}
	status.LastAttemptedGeneration = want.Generation
	status.LastAttemptedRevision = want.Chart.Version
	status.LastAttemptedRevisionDigest = want.Chart.OCIDigest
	status.LastAttemptedConfigDigest = want.ConfigDigest
	// Both fields are deprecated, and only cleared.
	status.LastAttemptedValuesChecksum, status.LastReleaseRevision = "", 0 //nolint:staticcheck // clears deprecated fields
}

// recordRendering records the post-renderers and the common metadata of a deployed revision.
// They stay until another revision is deployed, or until a rollback.
func recordRendering(status *helmv2.HelmReleaseStatus, want release.Desired) {
	status.ObservedPostRenderersDigest = want.Rendering.PostRenderers
	status.ObservedCommonMetadataDigest = want.Rendering.CommonMetadata
}

// setRenderingUnknown records that post-renderers and common metadata of the newest revision are
// not known. Any desired ones then differ, and lead to an upgrade.
func setRenderingUnknown(status *helmv2.HelmReleaseStatus) {
	const unknown = "unknown"
	status.ObservedPostRenderersDigest, status.ObservedCommonMetadataDigest = unknown, unknown
}
