// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"path"
	"slices"
	"strings"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/brief"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status/message"
)

// runningMessage returns the announcement of an action. An install or upgrade after a failure has
// that failure, too.
func runningMessage(c *conditions, a release.HelmAction, status *helmv2.HelmReleaseStatus, want release.Desired) string {
	text := announcement(a)
	if !release.AppliesDesired(a) || release.Resumed(a) > 0 {
		return text
	}
	recorded := release.ResetCounters(*status, want)
	f := message.FailureOf(&recorded, want)
	cause := c.get(helmv2.ConditionFailing).Message
	if f.Failures == 0 || cause == "" {
		return text
	}
	return message.Of(message.RunningAgain, message.Facts{
		What: fmt.Sprintf("%s, attempt %d", text, f.Failures+1), Cause: cause,
	}).String()
}

// announcement returns the announcement of an action, empty for decisions that run none. The format
// equals helm-controller's; see Announced.
func announcement(a release.HelmAction) string {
	if version := release.Resumed(a); version > 0 {
		return fmt.Sprintf("Resuming '%s' action of revision %d with timeout of %s", release.Name(a), version, release.TimeoutOf(a))
	}
	switch a := a.(type) {
	case release.Install:
		return fmt.Sprintf("Running 'install' action with timeout of %s", a.Timeout)
	case release.Upgrade:
		return fmt.Sprintf("Running 'upgrade' action with timeout of %s", a.Timeout)
	case release.Test:
		return fmt.Sprintf("Running 'test' action with timeout of %s", a.Timeout)
	case release.Rollback:
		return fmt.Sprintf("Running 'rollback' action with timeout of %s", a.Timeout)
	case release.Uninstall:
		return fmt.Sprintf("Running 'uninstall' action with timeout of %s", a.Timeout)
	case release.Recheck:
		return fmt.Sprintf("Running '%s' action with timeout of %s", helmv2.ActionRecheck, a.Timeout)
	case release.FailBake:
		return fmt.Sprintf("Running '%s' action with timeout of %s", helmv2.ActionBake, a.Timeout)
	case release.CorrectDrift:
		return fmt.Sprintf("Running '%s' action with timeout of %s", helmv2.ActionCorrectDrift, a.Timeout)
	case release.Unlock:
		return "Running 'unlock' action"
	}
	return ""
}

// fullName returns "<namespace>/<name>.v<revision>".
func fullName(namespace, name string, version int) string {
	return fmt.Sprintf("%s/%s.v%d", namespace, name, version)
}

// failedFormat is the format of the message of a failed action: action, namespace and name of the
// release, chart, cause. A failure has the same message from its outcome and from Helm's record.
const failedFormat = "Helm %s failed for release %s/%s with chart %s: %s"

func chartName(name, version string) string { return name + "@" + version }

func succeededMessage(verb helmv2.ReleaseAction, s *helmv2.Snapshot) string {
	return fmt.Sprintf("Helm %s succeeded for release %s with chart %s",
		verb, fullName(s.Namespace, s.Name, s.Version), chartName(s.ChartName, s.ChartVersion))
}

func failedMessage(action helmv2.ReleaseAction, want release.Desired, err error) (reason, message string) {
	reason = helmv2.ReasonUpgradeFailed
	if action == helmv2.ActionInstall {
		reason = helmv2.ReasonInstallFailed
	}
	return reason, fmt.Sprintf(failedFormat, action,
		want.Target.Namespace, want.Target.Name, chartName(want.Chart.Name, want.Chart.Version),
		strings.TrimSpace(err.Error()))
}

// awaitOwnersMessage returns the message of an action that waits for the owners of its objects.
func awaitOwnersMessage(action helmv2.ReleaseAction, want release.Desired, err error) string {
	return fmt.Sprintf("Helm %s of release %s/%s with chart %s waits: %s", action,
		want.Target.Namespace, want.Target.Name, chartName(want.Chart.Name, want.Chart.Version), err)
}

// deniedMessage returns the message of an action that dry runs have denied, and that is tried
// nevertheless.
func deniedMessage(action helmv2.ReleaseAction, want release.Desired, err error) string {
	return fmt.Sprintf("Helm %s of release %s/%s with chart %s did not begin: %s", action,
		want.Target.Namespace, want.Target.Name, chartName(want.Chart.Name, want.Chart.Version), strings.TrimSpace(err.Error()))
}

// adoptedMessage returns the message about existing objects without an owner that a release has
// adopted.
func adoptedMessage(o release.Outcome) string {
	return fmt.Sprintf("Helm %s adopted existing objects: %s", release.Name(o.Action), strings.Join(o.Adopted, ", "))
}

// keptObjects starts the part of a message about objects that were not deleted.
const keptObjects = "kept objects: "

// keptMessage returns the part of a message about objects that were not deleted; empty if there are
// none.
func keptMessage(o release.Outcome) string {
	if len(o.Kept) == 0 {
		return ""
	}
	text := keptObjects + strings.Join(o.Kept[:min(len(o.Kept), maxSkipped)], ", ")
	if more := len(o.Kept) - maxSkipped; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// maxSkipped is the maximum number of skipped or kept objects in a message. The others are counted.
const maxSkipped = 20

// skippedMessage returns the message about objects whose kinds are no longer served.
func skippedMessage(o release.Outcome) string {
	names := make([]string, 0, maxSkipped)
	for _, s := range o.Skipped[:min(len(o.Skipped), maxSkipped)] {
		names = append(names, fmt.Sprintf("%s (%s)", objectName(s), path.Join(s.Group, s.Version)))
	}
	message := fmt.Sprintf("Helm %s skipped objects of kinds that the API server does not serve any more: %s", release.Name(o.Action), strings.Join(names, ", "))
	if more := len(o.Skipped) - len(names); more > 0 {
		message += fmt.Sprintf(" and %d more", more)
	}
	return message
}

// storedFailureMessage returns the message of a failure from Helm's description of the revision.
func storedFailureMessage(action helmv2.ReleaseAction, r *release.Revision) string {
	return fmt.Sprintf(failedFormat, action,
		r.Namespace, r.Name, chartName(r.ChartName, r.ChartVersion), storedCause(r))
}

// storedCause returns the error in Helm's description of a revision, without the name of the release
// that precedes it there.
func storedCause(r *release.Revision) string {
	if _, cause, found := strings.Cut(r.Description, `" failed: `); found {
		return cause
	}
	return r.Description
}

func uninstalledMessage(s *helmv2.Snapshot) string {
	if s == nil {
		return "Helm uninstall succeeded"
	}
	return fmt.Sprintf("Helm uninstall succeeded for release %s with chart %s",
		fullName(s.Namespace, s.Name, s.Version), chartName(s.ChartName, s.ChartVersion))
}

// reinstallingMessage returns the message about a release that is uninstalled because its install
// ended early. Its argument may be nil.
func reinstallingMessage(s *helmv2.Snapshot) string {
	return neverDeployedMessage(s) + ": the release is uninstalled and installed anew"
}

// reinstalledMessage returns the same message after the uninstall.
func reinstalledMessage(s *helmv2.Snapshot) string {
	return neverDeployedMessage(s) + ": the release was uninstalled and is installed anew"
}

func neverDeployedMessage(s *helmv2.Snapshot) string {
	const why = "was never deployed, and its install hooks have not all run"
	if s == nil {
		return "Helm release " + why
	}
	return fmt.Sprintf("Helm release %s with chart %s %s", s.FullReleaseName(), s.VersionedChartName(), why)
}

func uninstallFailedMessage(s *helmv2.Snapshot, err error) string {
	if s == nil {
		return fmt.Sprintf("Helm uninstall failed: %s", err)
	}
	return fmt.Sprintf("Helm uninstall failed for release %s with chart %s: %s",
		fullName(s.Namespace, s.Name, s.Version), chartName(s.ChartName, s.ChartVersion), err)
}

func awaitingTestsMessage(s *helmv2.Snapshot) string {
	return fmt.Sprintf("Helm release %s with chart %s is awaiting tests", s.FullReleaseName(), s.VersionedChartName())
}

func testedMessage(s *helmv2.Snapshot) string {
	hooks, _ := s.GetTestHooks()
	result := "no test hooks"
	switch n := len(hooks); {
	case n == 1:
		result = "1 test hook completed successfully"
	case n > 1:
		result = fmt.Sprintf("%d test hooks completed successfully", n)
	}
	return fmt.Sprintf("Helm test succeeded for release %s with chart %s: %s", s.FullReleaseName(), s.VersionedChartName(), result)
}

func testFailedMessage(s *helmv2.Snapshot, cause string) string {
	return fmt.Sprintf("Helm test failed for release %s with chart %s: %s", s.FullReleaseName(), s.VersionedChartName(), cause)
}

func testInterruptedMessage(s *helmv2.Snapshot, err error) string {
	return fmt.Sprintf("Helm test of release %s was interrupted, and the request is not carried out again: %s", s.FullReleaseName(), err)
}

func rolledBackMessage(s *helmv2.Snapshot) string {
	return fmt.Sprintf("Helm rollback to previous release %s with chart %s succeeded", s.FullReleaseName(), s.VersionedChartName())
}

func rollbackFailedMessage(s *helmv2.Snapshot, cause string) string {
	return fmt.Sprintf("Helm rollback to previous release %s with chart %s failed: %s", s.FullReleaseName(), s.VersionedChartName(), cause)
}

func remediatedMessage(s *helmv2.Snapshot) string {
	return fmt.Sprintf("Helm uninstall remediation for release %s with chart %s succeeded", s.FullReleaseName(), s.VersionedChartName())
}

func remediationFailedMessage(s *helmv2.Snapshot, cause string) string {
	return fmt.Sprintf("Helm uninstall remediation for release %s with chart %s failed: %s", s.FullReleaseName(), s.VersionedChartName(), cause)
}

func unlockedMessage(r *release.Revision, status helmv2.ReleaseStatus) string {
	return fmt.Sprintf("Unlocked Helm release %s with chart %s in %s state",
		fullName(r.Namespace, r.Name, r.Version), chartName(r.ChartName, r.ChartVersion), status)
}

func unlockFailedMessage(u release.Unlock, err error) string {
	return fmt.Sprintf("Unlock of Helm release %s in %s state failed: %s",
		fullName(u.Target.Namespace, u.Target.Name, u.Version), u.Status, err)
}

// maxFacts is the maximum number of images, and of fields, in the event of a success. The others
// are counted. maxFact is the maximum length of one fact in bytes: charts do not limit theirs.
const (
	maxFacts = 5
	maxFact  = 200
)

// changedMessage returns the message of a successful action with its changes, one fact a clause.
// Before is the revision that the action has replaced, after the chart of the new one. Both are nil
// for an uninstall, and before for an install.
func changedMessage(message string, o release.Outcome, before, after *helmv2.Snapshot) string {
	return join(message, ": ", changesOf(o, before, after))
}

// join adds a text to a message, unless it is empty.
func join(message, separator, more string) string {
	if more == "" {
		return message
	}
	return message + separator + more
}

// changesOf returns the changes of a successful action; see changedMessage.
func changesOf(o release.Outcome, before, after *helmv2.Snapshot) string {
	clauses := []string{chartChange(before, after), imageChanges(o.Changes.Images, before == nil), objectCounts(o.Changes.Objects)}
	clauses = append(clauses, takenFields(o.Changes.Taken)...)
	if after != nil && len(o.Revisions) > 0 {
		if source := o.Revisions[0].SourceRevision; source != "" && source != after.ChartVersion {
			clauses = append(clauses, "source "+oneLine(source))
		}
	}
	if by := release.PlanOf(o.Action).ApprovedBy; by != "" {
		clauses = append(clauses, "approved by "+oneLine(by))
	}
	if plan := release.PlanOf(o.Action); plan.Overrode != "" {
		clauses = append(clauses, fmt.Sprintf("%s overridden by %s: %s", plan.Overrode, plan.OverriddenBy, plan.OverrideReason))
	}
	if replaced := release.PlanOf(o.Action).Replace; replaced != "" {
		clauses = append(clauses, "deleted and created anew: "+oneLine(replaced))
	}
	if skip := skippedBy(o); skip != nil {
		clauses = append(clauses, fmt.Sprintf("hook %s was left out, because Operation %s has run it (approved by %s)", oneLine(skip.Hook), skip.Operation, oneLine(skip.ApprovedBy)))
	}
	return strings.Join(slices.DeleteFunc(clauses, func(c string) bool { return c == "" }), "; ")
}

// skippedBy returns the hook that an upgrade has left out; nil if there is none.
func skippedBy(o release.Outcome) *release.Skip {
	if _, upgrades := o.Action.(release.Upgrade); !upgrades || len(o.Revisions) == 0 {
		return nil
	}
	return o.Revisions[0].Skipped
}

// chartChange returns the versions of chart and app that differ. For an install, it returns the
// version of the app: the message has the version of the chart.
func chartChange(before, after *helmv2.Snapshot) string {
	var changes []string
	switch {
	case after == nil:
	case before == nil && after.AppVersion != "":
		changes = append(changes, "app "+oneLine(after.AppVersion))
	case before == nil:
	case before.ChartName != after.ChartName:
		changes = append(changes, "chart "+oneLine(before.VersionedChartName())+" to "+oneLine(after.VersionedChartName()))
	case before.ChartVersion != after.ChartVersion:
		changes = append(changes, "chart "+oneLine(before.ChartVersion)+" to "+oneLine(after.ChartVersion))
	}
	if before != nil && after != nil && before.AppVersion != after.AppVersion {
		changes = append(changes, "app "+orNone(before.AppVersion)+" to "+orNone(after.AppVersion))
	}
	return strings.Join(changes, ", ")
}

func orNone(version string) string {
	if version == "" {
		return "none"
	}
	return oneLine(version)
}

// imageChanges returns the images that differ, equal changes once. All images of an install are new.
func imageChanges(all []release.ImageChange, installs bool) string {
	var texts []string
	// A chart can have very many images.
	known := map[string]bool{}
	for _, c := range all {
		text := oneLine(c.From) + " to " + oneLine(c.To)
		switch {
		case c.To == "":
			text = oneLine(c.From) + " removed"
		case c.From == "" && installs:
			text = oneLine(c.To)
		case c.From == "":
			text = oneLine(c.To) + " added"
		}
		if !known[text] {
			known[text], texts = true, append(texts, text)
		}
	}
	switch len(texts) {
	case 0:
		return ""
	case 1:
		return "image " + texts[0]
	}
	return "images " + brief.List(texts, maxFacts)
}

// objectCounts returns the numbers of objects that are not zero.
func objectCounts(n *release.ObjectCounts) string {
	if n == nil {
		return ""
	}
	var counts []string
	for _, c := range []struct {
		n    int
		verb string
	}{{n.Created, "created"}, {n.Changed, "changed"}, {n.Deleted, "deleted"}} {
		noun := ""
		switch {
		case c.n == 0:
			continue
		case len(counts) == 0 && c.n == 1:
			noun = "object "
		case len(counts) == 0:
			noun = "objects "
		}
		counts = append(counts, fmt.Sprintf("%d %s%s", c.n, noun, c.verb))
	}
	if len(counts) == 0 {
		return "no object changed"
	}
	return strings.Join(counts, ", ")
}

// takenFields returns a clause for each field manager from which fields were taken. The fields are
// sorted by manager.
func takenFields(all []release.TakenField) []string {
	var clauses []string
	listing := all[:min(len(all), maxFacts)]
	for len(listing) > 0 {
		manager := listing[0].Manager
		n := slices.IndexFunc(listing, func(f release.TakenField) bool { return f.Manager != manager })
		if n < 0 {
			n = len(listing)
		}
		var fields []string
		for _, f := range listing[:n] {
			fields = append(fields, oneLine(objectName(f.Object)+" "+f.Path))
		}
		clauses = append(clauses, "fields taken from "+oneLine(manager)+": "+strings.Join(fields, ", "))
		listing = listing[n:]
	}
	if more := len(all) - maxFacts; more > 0 {
		clauses[len(clauses)-1] += fmt.Sprintf(" and %d more fields taken", more)
	}
	return clauses
}

// oneLine returns a string from a chart in one line of limited length.
func oneLine(text string) string {
	return brief.Cut(brief.Line(text), maxFact)
}

// overriddenMessage returns the message about an action that passes gates of policies by an override;
// empty if it passes none so.
func overriddenMessage(a release.HelmAction) string {
	plan := release.PlanOf(a)
	if plan.Overrode == "" {
		return ""
	}
	return fmt.Sprintf("%s is overridden by %s for the '%s' action: %s. Plan %s", plan.Overrode, plan.OverriddenBy, release.Name(a), plan.OverrideReason, plan.Digest)
}
