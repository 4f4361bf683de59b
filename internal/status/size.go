// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

const kib = 1024

// SizeExceeded returns what is to be remembered of an attempt that was refused for the
// size of its record.
func SizeExceeded(o release.Outcome) *release.Oversized {
	return &release.Oversized{Action: release.Name(o.Action), Desired: o.Desired, Message: refusedMessage(o)}
}

// refused records an attempt that was not begun because its record would be too
// large. It is not tried again, so it is stalled from now on.
func refused(r *Report, c *conditions, o release.Outcome) {
	status, message := &r.Status, refusedMessage(o)
	// What changed nothing does not use up a retry.
	status.Failures++
	status.ObservedGeneration = o.Desired.Generation
	c.tooLarge(release.Name(o.Action), message)
	c.summarize(status, o.Desired)
	c.remove(helmv2.ConditionDrifted, helmv2.ConditionReconciling)
	c.set(helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonReleaseTooLarge, release.TooLargeMessage())
	if c.anew(conditionOf(release.Name(o.Action))) {
		r.Events = append(r.Events, warning(helmv2.ReasonReleaseTooLarge, message, desiredMetadata(o.Desired)))
	}
}

// tooLarge says that an action was refused for the size of its record.
func (c *conditions) tooLarge(action, message string) {
	c.set(conditionOf(action), metav1.ConditionFalse, helmv2.ReasonReleaseTooLarge, message)
}

// conditionOf is the condition that tells how an action ended.
func conditionOf(action string) string {
	if action == string(helmv2.ActionRollback) {
		return helmv2.ConditionRemediated
	}
	return helmv2.ConditionReleased
}

// anew reports whether a condition says something that it did not say when the visit
// began. An announcement leaves Released as it was, so that an attempt which is
// refused as one before it was, by another process say, is no news.
func (c *conditions) anew(kind string) bool {
	i := slices.IndexFunc(c.before, func(x metav1.Condition) bool { return x.Type == kind })
	return i < 0 || !same(c.before[i], c.get(kind))
}

func refusedMessage(o release.Outcome) string {
	s, t := o.Record, o.Desired.Target
	what := fmt.Sprintf("%s refused for release %s/%s with chart %s", release.Name(o.Action), t.Namespace, t.Name,
		chartName(o.Desired.Chart.Name, o.Desired.Chart.Version))
	if a, ok := o.Action.(release.Rollback); ok {
		what = fmt.Sprintf("rollback refused for release %s/%s to revision %d", t.Namespace, t.Name, a.Version)
	}
	room := ""
	if s.Bytes <= s.Limit {
		room = fmt.Sprintf(", of which %d KiB are kept free for how the action ends", inKiB(s.Reserved))
	}
	percent := (s.Bytes*100 + s.Limit - 1) / s.Limit
	return fmt.Sprintf("Helm %s, and nothing was changed: the revision takes %d KiB in Helm's storage, compressed, which is %d %% of what a Secret holds%s: %s",
		what, roundedUp(s.Bytes), percent, room, breakdown(s))
}

// nearlyTooLarge returns the event of a revision that was made and is large, if it
// is.
func nearlyTooLarge(o release.Outcome) []Event {
	s := o.Record
	if s == nil || !s.NearlyTooLarge() || !o.Stored() || o.Interrupted != nil {
		return nil
	}
	made := o.Revisions[0]
	message := fmt.Sprintf("Helm release %s with chart %s takes %d KiB in Helm's storage, compressed, which is %d %% of what a Secret holds, "+
		"and more than %d KiB are refused: %s", fullName(made.Namespace, made.Name, made.Version), chartName(made.ChartName, made.ChartVersion),
		inKiB(s.Bytes), s.Bytes*100/s.Limit, (s.Limit-s.Reserved)/kib, breakdown(s))
	return []Event{warning(helmv2.EventReasonReleaseNearlyTooLarge, message, revisionMetadata(&made))}
}

func inKiB(bytes int) int { return (bytes + kib/2) / kib }

// roundedUp keeps what is too large by a few bytes from looking as if it fitted.
func roundedUp(bytes int) int { return (bytes + kib - 1) / kib }

// breakdown says what makes a record large, and what helps.
func breakdown(s *release.RecordSize) string {
	var parts []string
	for _, p := range s.Parts {
		if inKiB(p.Bytes) == 0 {
			continue
		}
		text := fmt.Sprintf("%s %d KiB", p.Kind, inKiB(p.Bytes))
		if p.Largest != "" {
			text += fmt.Sprintf(" (largest: %s)", p.Largest)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ") + ". To make it smaller: " + strings.Join(hints(s), "; ")
}

// hints fit what is biggest, and whatever else is a quarter of the record.
func hints(s *release.RecordSize) []string {
	var all []string
	for i, p := range s.Parts {
		if i > 0 && p.Bytes*4 < s.Bytes {
			break
		}
		if h := hint(p.Kind); !slices.Contains(all, h) {
			all = append(all, h)
		}
	}
	return all
}

func hint(kind release.RecordPartKind) string {
	switch kind {
	case release.PartCRDs, release.PartRenderedCRDs:
		return "move CustomResourceDefinitions to a chart of their own"
	case release.PartFiles:
		return "name files that the templates do not read in .helmignore, and move large ones out of the chart"
	case release.PartDefaults:
		return "take what is not needed out of the chart's values.yaml and values.schema.json"
	case release.PartValues:
		return "move large values to a ConfigMap or Secret that the chart's objects refer to; valuesFrom does not help, as values are stored wherever they are from"
	case release.PartTemplates, release.PartManifest, release.PartRest:
	}
	return "split the chart, or move large data to a ConfigMap or Secret that is no part of it"
}
