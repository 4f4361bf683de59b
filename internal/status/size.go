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

// SizeExceeded returns the rejection of an action whose record exceeds the size limit. The decision
// needs it until the inputs change.
func SizeExceeded(o release.Outcome) *release.Oversized {
	return &release.Oversized{Action: release.Name(o.Action), Desired: o.Desired, Message: tooLargeMessage(o)}
}

// finishTooLarge reports an action that was not started because its record would exceed the size
// limit. It is not retried, and the release is stalled.
func finishTooLarge(r *Report, c *conditions, o release.Outcome) {
	status, what := &r.Status, tooLargeMessage(o)
	// Nothing was changed, so that no retry is used up.
	status.Failures++
	status.ObservedGeneration = o.Desired.Generation
	c.setTooLarge(release.Name(o.Action), what)
	c.summarize(status, o.Desired)
	c.remove(helmv2.ConditionDrifted, helmv2.ConditionReconciling)
	text := c.get(helmv2.ConditionReady).Message
	c.set(helmv2.ConditionStalled, metav1.ConditionTrue, helmv2.ReasonReleaseTooLarge, text)
	if c.changed(conditionOf(release.Name(o.Action))) {
		r.Events = append(r.Events, warning(helmv2.ReasonReleaseTooLarge, text, desiredMetadata(o.Desired)))
	}
}

// setTooLarge reports that the record of an action exceeds the size limit.
func (c *conditions) setTooLarge(action, message string) {
	c.set(conditionOf(action), metav1.ConditionFalse, helmv2.ReasonReleaseTooLarge, message)
}

// conditionOf returns the condition type for the result of an action.
func conditionOf(action string) string {
	if action == string(helmv2.ActionRollback) {
		return helmv2.ConditionRemediated
	}
	return helmv2.ConditionReleased
}

func tooLargeMessage(o release.Outcome) string {
	t := o.Desired.Target
	what := fmt.Sprintf("%s refused for release %s/%s with chart %s", release.Name(o.Action), t.Namespace, t.Name,
		chartName(o.Desired.Chart.Name, o.Desired.Chart.Version))
	if a, ok := o.Action.(release.Rollback); ok {
		what = fmt.Sprintf("rollback refused for release %s/%s to revision %d", t.Namespace, t.Name, a.Version)
	}
	return fmt.Sprintf("Helm %s: %s: %s", what, sizeOf(o.Record), breakdown(o.Record))
}

// sizeOf says how large a record is that exceeds the limit.
func sizeOf(s *release.RecordSize) string {
	reserve := ""
	if s.Bytes <= s.Limit {
		reserve = fmt.Sprintf(", of which %d KiB are reserved for the final update", inKiB(s.Reserved))
	}
	percent := (s.Bytes*100 + s.Limit - 1) / s.Limit
	return fmt.Sprintf("the revision takes %d KiB in Helm's storage, compressed, which is %d %% of what a Secret holds%s", roundedUp(s.Bytes), percent, reserve)
}

// nearlyTooLarge returns an event if an action has stored a revision whose record is almost as
// large as the size limit.
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

// roundedUp returns a size in KiB. A size that exceeds the limit by some bytes is then larger than
// the limit in the message too.
func roundedUp(bytes int) int { return (bytes + kib - 1) / kib }

// breakdown returns the sizes of the parts of a record, and hints to reduce them.
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

// hints returns a hint for the largest part of a record, and for each part of at least a quarter.
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
		return "exclude files that the templates do not read by .helmignore, and move large files out of the chart"
	case release.PartDefaults:
		return "remove unused entries from the chart's values.yaml and values.schema.json"
	case release.PartValues:
		return "move large values to a ConfigMap or Secret that the chart's objects refer to; valuesFrom does not help, as Helm stores values of all sources"
	case release.PartTemplates, release.PartManifest, release.PartRest:
	}
	return "split the chart, or move large data to a ConfigMap or Secret that is no part of it"
}
