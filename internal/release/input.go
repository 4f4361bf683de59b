// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/brief"
	"github.com/pintle-dev/pintle/internal/policy"
)

// Input holds everything that a decision may depend on. Every field is plain data, so that an Input
// can be written as JSON and replayed.
type Input struct {
	Desired  Desired
	Observed Observed
	// Recorded is the status as last written. Its conditions are output and are never read.
	Recorded helmv2.HelmReleaseStatus
	Now      time.Time
}

// Decision is the next action and its reason.
type Decision struct {
	// Rule is the rule that applied.
	Rule   Rule
	State  State
	Action Action
	// Why is one stable sentence for users. It has no times and no counters that change while the
	// state does not.
	Why string
}

// Acts reports whether the decision changes the cluster and must be announced in status first.
func (d Decision) Acts() bool {
	return d.HelmAction() != nil
}

// HelmAction returns the action if it is one of Helm, and nil otherwise.
func (d Decision) HelmAction() HelmAction {
	a, _ := d.Action.(HelmAction)
	return a
}

// State names the state of a release, in the terms of the API.
type State string

// The states. A state is descriptive; the rule that applied decides.
const (
	StateUnknown    State = ""
	StateAbsent     State = "Absent"
	StateUnmanaged  State = "Unmanaged"
	StateLocked     State = "Locked"
	StateFailed     State = "Failed"
	StateOutOfSync  State = "OutOfSync"
	StateUntested   State = "Untested"
	StateBaking     State = "Baking"
	StateDrifted    State = "Drifted"
	StateInSync     State = "InSync"
	StateRolledBack State = "RolledBack"
)

// Desired is the state that one HelmRelease requests. It has names and digests, no chart content
// and no values. For a deleted HelmRelease, only UID, Target and the deletion fields are set.
type Desired struct {
	// UID is the UID of the HelmRelease. It is the first half of the revision label.
	UID string
	// Namespace is the namespace of the HelmRelease.
	Namespace string
	// Created is the creation time of the HelmRelease. If two HelmReleases request the same
	// release, the older one owns it.
	Created time.Time
	// Generation is the generation of the spec that the other fields were read from.
	Generation int64
	// Target names the release and its storage.
	Target Target
	// Chart is the identity of the chart to run.
	Chart Chart
	// SourceRevision is the revision of the source, for events and records. It is empty if unknown.
	// No decision depends on it: the same chart may come from many revisions.
	SourceRevision string
	// ConfigDigest is "<algorithm>:<hex>" of the composed values.
	ConfigDigest string
	// ValuesFrom has the contents that the values come from, in the order of the spec. It is set only if a
	// policy limits how values spread, and no other decision depends on it.
	ValuesFrom []ValuesContent
	// Rendering identifies changes to the rendered manifests.
	Rendering Rendering
	// Deleted is true if the HelmRelease has a deletion timestamp.
	Deleted bool
	// DeletedAt is the deletion timestamp; zero if there is none. Deletion states how the release is
	// removed.
	DeletedAt time.Time
	Deletion  Deletion
	// Suspension is active if no action may change the release.
	Suspension Suspension
	// Hold is the rollback that users request by annotation.
	Hold Hold
	// Requests are the requests that users make by annotation.
	Requests Requests
	// Policy holds the settings that decisions read.
	Policy Policy
	// Demands is what ReleasePolicies demand of the release.
	Demands policy.Demands
}

// ValuesContent is the content of an entry of spec.valuesFrom.
type ValuesContent struct {
	// Object is the object with its key, or the source with the path of the entry, as
	// "<kind>/<namespace>/<name>:<key>".
	Object string
	// Digest is the digest of the content; empty if there is none.
	Digest string
}

// Target identifies a Helm release.
type Target struct {
	// Name is the name of the Helm release, shortened to Helm's limit.
	Name string `json:"name"`
	// Namespace is the namespace into which the chart is installed.
	Namespace string `json:"namespace"`
	// StorageNamespace is the namespace of the Secrets in which Helm stores revisions.
	StorageNamespace string `json:"storageNamespace"`
}

// Chart identifies one version of a chart.
type Chart struct {
	Name string
	// Version is the effective version. The digest of an OCI artifact is its build metadata.
	Version    string
	AppVersion string
	// OCIDigest is the digest of the OCI artifact; empty for other sources.
	OCIDigest string
	// Digest is the digest of the artifact that contains the chart.
	Digest string
}

// Policy is the part of a spec that decisions read.
type Policy struct {
	// Interval is the time after which a release without changes is reconciled again.
	Interval time.Duration
	// Install and Upgrade hold the policies for failures. The larger of their timeouts is also the
	// age after which a pending revision of another client counts as interrupted.
	Install ActionPolicy
	Upgrade ActionPolicy
	// TestTimeout, RollbackTimeout and UninstallTimeout bound one action each.
	TestTimeout      time.Duration
	RollbackTimeout  time.Duration
	UninstallTimeout time.Duration
	// Tests is true if new revisions are tested.
	Tests bool
	// IgnoreTestFailures is true if a failed test leaves the release ready.
	IgnoreTestFailures bool
	// TestFilters select the tests. An empty list selects all.
	TestFilters []TestFilter
	// Reinstall is true if a chart with another name is uninstalled and installed anew. Otherwise
	// it is an upgrade.
	Reinstall bool
	// PreserveValues is true if an upgrade keeps the values of the previous revision, except for
	// the given ones.
	PreserveValues bool
	// RefuseDenials is true if all attempts are refused whose dry runs deny objects.
	RefuseDenials bool
	// KeepClaims is true if a release that holds claims is not uninstalled because it failed; see
	// KeepingClaims.
	KeepClaims bool
	// Drift is the mode of drift detection. DriftTimeout bounds a correction.
	Drift        helmv2.DriftDetectionMode
	DriftTimeout time.Duration
}

// ActionPolicy is the policy after a failed install or upgrade.
type ActionPolicy struct {
	Timeout time.Duration
	// Retry is true if failures are retried every RetryInterval without limit and never remediated.
	Retry         bool
	RetryInterval time.Duration
	// Retries is the number of failures that are remediated and retried. A negative number has no
	// limit.
	Retries int
	// RemediateLast is true if the failure that exhausts the retries is remediated too.
	RemediateLast bool
	// IgnoreTests is true if failed tests are not remediated.
	IgnoreTests bool
	// NoHooks is true if hooks are not run.
	NoHooks bool
	// Uninstall is true if the remediation is an uninstall, false if it is a rollback.
	Uninstall bool
	// ClaimsKept is true if the policy is another one than in the spec, because the release holds
	// claims.
	ClaimsKept bool
}

// Exhausted reports whether the number of failures exceeds the retries.
func (p ActionPolicy) Exhausted(failures int64) bool {
	return p.Retries >= 0 && failures > int64(p.Retries)
}

// TestFilter selects one test or, with Exclude, deselects it.
type TestFilter struct {
	Name    string
	Exclude bool
}

// Rendering identifies changes to rendered manifests. A digest is empty if there is no change of
// its kind.
type Rendering struct {
	PostRenderers  string
	CommonMetadata string
}

// Requests are the tokens of the request annotations. An empty token requests nothing. A token that
// status has recorded as handled is not handled again. Force and Reset count only with an unhandled
// Reconcile token of the same value.
type Requests struct {
	// Reconcile requests a reconciliation.
	Reconcile string
	// Force requests one install or upgrade in any state.
	Force string
	// Reset requests that the failure counters are reset.
	Reset string
	// Test requests one run of the tests. It needs no Reconcile token. TestHandled is the token of
	// the last run that was started.
	Test, TestHandled string
	// Plan requests a plan. PlanHandled is the token of the last plan that was computed on request.
	Plan, PlanHandled string
}

// RequestsOf reads the annotations of a HelmRelease.
func RequestsOf(annotations map[string]string) Requests {
	return Requests{
		Reconcile: annotations[helmv2.AnnotationReconcileRequest],
		Force:     annotations[helmv2.AnnotationForceRequest],
		Reset:     annotations[helmv2.AnnotationResetRequest],

		Test: annotations[helmv2.AnnotationTestAt], TestHandled: handledRequests(annotations)[helmv2.AnnotationTestAt],
		Plan: annotations[v1alpha1.AnnotationPlan], PlanHandled: handledRequests(annotations)[v1alpha1.AnnotationPlan],
	}
}

// handledRequests returns the values of request annotations that were accepted, by annotation.
func handledRequests(annotations map[string]string) map[string]string {
	text, set := annotations[helmv2.AnnotationHandled]
	var all map[string]string
	if !set || json.Unmarshal([]byte(text), &all) != nil {
		// A user who destroys the value repeats the present requests.
		return nil
	}
	return all
}

// WithHandled returns the value of the annotation that records a request as accepted.
func WithHandled(annotations map[string]string, request, token string) string {
	all := handledRequests(annotations)
	if all == nil {
		all = map[string]string{}
	}
	all[request] = token
	// A map of texts can be encoded.
	text, _ := json.Marshal(all)
	return string(text)
}

// ForceRequested reports whether an install or upgrade is requested and no decision has handled the
// request.
func (r Requests) ForceRequested(status *helmv2.HelmReleaseStatus) bool {
	return r.requested(r.Force, status) && r.Force != status.LastHandledForceAt
}

// ForceStarted reports whether the install or upgrade for the present token was announced and its end
// is not recorded. If no attempt runs, the attempt was interrupted. The announcement records the
// Force token and the end records the Reconcile token, so the attempt is in progress if only the
// first is recorded. Every ended attempt has a duration, which excludes a token that was handled
// before and is set again. A repeated token during an interrupted attempt counts as that attempt,
// which must be repeated anyway.
func (r Requests) ForceStarted(status *helmv2.HelmReleaseStatus) bool {
	return r.requested(r.Force, status) && r.Force == status.LastHandledForceAt &&
		status.LastAttemptedReleaseActionDuration == nil
}

// ResetRequested reports whether a reset of the failure counters is requested and no decision has
// handled the request.
func (r Requests) ResetRequested(status *helmv2.HelmReleaseStatus) bool {
	return r.requested(r.Reset, status) && r.Reset != status.LastHandledResetAt
}

// Open reports whether a request other than Reconcile is unhandled.
func (r Requests) Open(status *helmv2.HelmReleaseStatus) bool {
	return r.ForceRequested(status) || r.ForceStarted(status) || r.ResetRequested(status)
}

// testRequested reports whether a run of the tests is requested and was not accepted.
func (r Requests) testRequested() bool { return r.Test != "" && r.Test != r.TestHandled }

// PlanRequested reports whether a plan is requested and was not computed.
func (r Requests) PlanRequested() bool { return r.Plan != "" && r.Plan != r.PlanHandled }

// requested reports whether a token is unhandled and equals the Reconcile token.
func (r Requests) requested(token string, status *helmv2.HelmReleaseStatus) bool {
	return token != "" && token == r.Reconcile && token != status.LastHandledReconcileAt
}

// DeletionOf reads the annotations that control a deletion. They can still be set after the applier
// has stopped managing the spec.
func DeletionOf(annotations map[string]string) Deletion {
	is := func(key string) bool {
		value, set := annotations[key]
		return set && value != "false"
	}
	return Deletion{Orphan: is(helmv2.AnnotationOrphan), NoHooks: is(helmv2.AnnotationUninstallDisableHooks)}
}

// Deletion states how a release is removed with its HelmRelease.
type Deletion struct {
	// Orphan is true if the release stays installed.
	Orphan bool
	// NoHooks is true if its hooks are not run, regardless of the spec.
	NoHooks bool
}

// Suspension states whether a HelmRelease is suspended, why, and until when.
type Suspension struct {
	// Active is true if the HelmRelease is suspended.
	Active bool
	// BySpec is true if spec.suspend is set.
	BySpec bool
	// Why is the cause, for users. It is empty without one. Reason is the part of it that a user wrote.
	Why, Reason string
	// Until is the end of the suspension; zero if it has none.
	Until time.Time
	// Over is the time at which a suspension by annotation has ended, although the annotation is
	// still there; zero if there is none.
	Over time.Time
}

// SuspensionOf returns the suspension by spec.suspend, whose value is spec, or by annotation. The
// annotation is for users who must not change the spec. An end that cannot be parsed counts as no
// end, and Why names the error: the release stays suspended.
func SuspensionOf(spec bool, annotations map[string]string, now time.Time) Suspension {
	if spec {
		return Suspension{Active: true, BySpec: true, Why: "spec.suspend is set"}
	}
	reason, set := annotations[helmv2.AnnotationSuspend]
	if !set {
		return Suspension{}
	}
	s := Suspension{Active: true, Reason: note(reason)}
	s.Why = fmt.Sprintf("annotation %s: %s", helmv2.AnnotationSuspend, s.Reason)
	end, bounded := annotations[helmv2.AnnotationSuspendUntil]
	if !bounded {
		return s
	}
	until, err := time.Parse(time.RFC3339, end)
	if err != nil {
		s.Why += fmt.Sprintf(" (without end: %s is %q, which is no RFC 3339 time)", helmv2.AnnotationSuspendUntil, note(end))
		return s
	}
	if !now.Before(until) {
		return Suspension{Reason: s.Reason, Why: s.Why, Over: until}
	}
	s.Until = until
	s.Why += fmt.Sprintf(" (until %s)", until.UTC().Format(time.RFC3339))
	return s
}

// maxNote is the number of bytes of a text of a user, such as the reason of a hold, in messages.
const maxNote = 256

// note returns a text of a user as messages contain it: in one line, and bounded.
func note(text string) string { return brief.Cut(brief.Line(text), maxNote) }
