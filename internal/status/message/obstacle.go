// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"slices"
	"strings"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// Prefixes of the kinds of obstacles, whose rest is the reason.
const (
	blockedBy = "Blocked"
	stalledBy = "Stalled"
)

// Progressing is the kind of obstacles that are work of the controller.
const Progressing Kind = "InProgress"

// Obstacle returns the message of an obstacle.
func Obstacle(b *release.Blocked) Parts {
	kind := Kind(blockedBy + b.Reason)
	switch {
	case b.Progressing:
		kind = Progressing
	case b.Terminal && rowOf(Kind(stalledBy+b.Reason)).Next != "":
		kind = Kind(stalledBy + b.Reason)
	}
	facts := Facts{What: b.Message, Again: Again(b.Retry)}
	if b.Failing {
		facts.Remedy = Remedy(helmv2.FailureSource)
	}
	p := Of(kind, facts)
	if p.Next == "" {
		p.Left, p.Next = nothing, Again(b.Retry)
	}
	switch {
	case b.Todo != "" && b.Retry.IsNever():
		p.Next = b.Todo
	case b.Todo != "":
		p.Next = b.Todo + ". " + Again(b.Retry)
	}
	return p
}

// Again returns when something is tried again, as the start of a sentence.
func Again(r release.Retry) string {
	d, _ := r.Delay()
	switch {
	case r.IsNever():
		return "A retry follows after a change of the spec"
	case r.IsNow():
		return "Retrying now"
	case r.Limit() > 0:
		return "Retrying with back-off of at most " + Duration(r.Limit())
	case r.IsBackoff():
		return backoff
	}
	return "Retrying every " + Duration(d)
}

// Duration returns a duration without units that are zero, such as 5m.
func Duration(d time.Duration) string {
	text := d.Round(time.Millisecond).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// obstacles are the messages of reconciliations that end before a decision.
func obstacles() []Row {
	block := func(reason, next string) Row { return row(Kind(blockedBy+reason), "{cause}", nothing, next, reason) }
	stall := func(reason, next string) Row { return row(Kind(stalledBy+reason), "{cause}", nothing, next, reason) }
	const spec = "Change the spec"
	all := []Row{
		block(helmv2.ReasonSourceNotReady, "{remedy}{again}, and at once after a change of the source"),
		block(helmv2.ReasonArtifactFailed, "{again}, and at once after a change of the source"),
		stall(helmv2.ReasonArtifactFailed, spec),
		block(helmv2.ReasonChartMutateError, "{again}, and at once after a change of the source"),
		block(helmv2.ReasonValuesError, "Correct spec.values, or what spec.valuesFrom names. {again}, and at once after a change"),
		block(helmv2.ReasonDependencyNotReady, "{again}, and at once after a change of the dependency"),
		stall(helmv2.ReasonUnsupportedField, spec),
		stall(helmv2.ReasonInvalidCELExpression, spec),
		stall(helmv2.ReasonAccessDenied, spec+" or the flags of the controller"),
		stall(helmv2.ReasonContested, "A retry follows when the owner is gone"),
		block(helmv2.ReasonRESTClientError, "{again}, and at once after a change of the spec or of a watched object"),
		block(helmv2.ReasonStateError, "{again}"),
		stall(helmv2.ReasonStateError, spec),
		block(helmv2.ReasonUninstallFailed, "{again}. With annotation "+helmv2.AnnotationOrphan+", only the HelmRelease is deleted"),
		block(helmv2.ReasonPolicyUnavailable, "{again}"),
		block(helmv2.ReasonTargetUnavailable, "Free the new target, or change the spec back. {again}"),
		block(helmv2.ReasonContested, "Delete or rename one of the two HelmReleases. {again}"),
		block(helmv2.ReasonPlanFailed, "{again}, and at once after a change of the spec, the chart or the values"),
		row(Progressing, "{cause}", nothing, "The work goes on, and its end triggers the next step", helmv2.ReasonProgressing),
	}
	waits := []string{helmv2.ReasonSourceNotReady, helmv2.ReasonDependencyNotReady, helmv2.ReasonProgressing}
	for i := range all {
		all[i].Waits = slices.Contains(waits, all[i].Reasons[0])
	}
	return all
}
