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

const (
	// maxDriftObjects is the maximum number of objects in a message, and maxDriftFields the maximum
	// number of fields of each. The message counts the rest.
	maxDriftObjects = 20
	maxDriftFields  = 8

	correcting = "correcting cluster drift"
	noDrift    = "No drift detected against the cluster state"
)

// reportDrift sets Drifted from the comparison of live objects. Without a comparison it removes
// Drifted.
func reportDrift(r *Report, c *conditions, last *helmv2.Snapshot, in release.Input) {
	found := in.Observed.Drift
	switch {
	case found == nil:
		c.remove(helmv2.ConditionDrifted)
	case len(found.Objects) > 0 || found.Rendering != "":
		message := driftMessage(last, *found)
		if found.Pause > 0 {
			message = pausedMessage(last, *found)
		}
		r.Events = append(r.Events, c.setDrifted(message)...)
	case len(found.Errors) > 0:
		text := message.Of(message.DriftUnknown, message.Facts{Cause: objectErrors(found.Errors)}).String()
		c.set(helmv2.ConditionDrifted, metav1.ConditionUnknown, helmv2.ReasonStateError, text)
		if c.changed(helmv2.ConditionDrifted) {
			r.Events = append(r.Events, warning(helmv2.ReasonStateError, text, nil).about(helmv2.EventActionDriftDetection))
		}
	case found.Repeat:
		// The condition stays until the comparison is repeated.
	case found.WatchUnknown && c.get(helmv2.ConditionDrifted).Reason == helmv2.ReasonNoDriftDetected:
		// The message stays until it is known which kinds are watched.
	default:
		text := join(undriftedMessage(*found), "\n", unwatchedMessage(found.Unwatched, in.Desired.Policy.Interval))
		r.Events = append(r.Events, setUndrifted(c, *found, text)...)
	}
}

// unwatchedMessage returns the sentence about kinds whose changes trigger nothing. It has no time, so
// that a comparison without a difference writes no status.
func unwatchedMessage(kinds []string, interval time.Duration) string {
	if len(kinds) == 0 {
		return ""
	}
	return fmt.Sprintf("Not watched, because the controller lacks the right: %s. These objects are compared every %s (spec.interval), and on request",
		brief.List(kinds, maxDriftObjects), message.Duration(interval))
}

// setDrifted sets Drifted, and returns its event. If the same drift is reported already, it does
// nothing.
func (c *conditions) setDrifted(message string) []Event {
	if sameDrift(c.get(helmv2.ConditionDrifted), message) {
		return nil
	}
	c.set(helmv2.ConditionDrifted, metav1.ConditionTrue, helmv2.ReasonDriftDetected, message)
	return []Event{warning(helmv2.ReasonDriftDetected, message, nil)}
}

// setUndrifted sets Drifted to False with a message. It returns an event if other fields than before are left to an
// autoscaler, and a warning if the release may not list autoscalers.
func setUndrifted(c *conditions, d release.Drift, text string) []Event {
	c.set(helmv2.ConditionDrifted, metav1.ConditionFalse, helmv2.ReasonNoDriftDetected, text)
	if len(d.Ceded) == 0 || !c.changed(helmv2.ConditionDrifted) {
		return nil
	}
	if slices.ContainsFunc(d.Ceded, func(o release.DriftedObject) bool { return o.Autoscaler == "" }) {
		return []Event{warning(helmv2.ReasonDriftCeded, cededMessage(d.Ceded), nil)}
	}
	return []Event{normal(helmv2.ReasonDriftCeded, cededMessage(d.Ceded), nil)}
}

func isZero(f release.DriftedField) bool { return f.Have == "0" }

// clearDrifted removes Drifted before an action that applies all objects, unless it is False. If
// it is False, a success of the action does not change it, and a failure removes it.
func (c *conditions) clearDrifted() {
	if c.get(helmv2.ConditionDrifted).Status != metav1.ConditionFalse {
		c.remove(helmv2.ConditionDrifted)
	}
}

// setNotDrifted sets Drifted to False if the API server has returned all objects as they were
// applied.
func (c *conditions) setNotDrifted(o release.Outcome) {
	if o.Exact {
		c.set(helmv2.ConditionDrifted, metav1.ConditionFalse, helmv2.ReasonNoDriftDetected, noDrift)
	}
}

// startCorrection sets the conditions of a drift correction that starts. Ready of a release that is
// held, by a request or a policy, does not change.
func startCorrection(c *conditions, last *helmv2.Snapshot, a release.CorrectDrift, want release.Desired) []Event {
	if !want.Hold.Active && !a.Held && !c.keepInterrupted() {
		c.set(helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonProgressing, correcting)
	}
	return c.setDrifted(driftMessage(last, a.Drift))
}

// finishCorrection reports the end of a drift correction. Conditions about the release itself stay.
func finishCorrection(r *Report, c *conditions, o release.Outcome, a release.CorrectDrift) {
	status := &r.Status
	last := release.Latest(status.History)
	if o.EndedEarly() {
		finishInterrupted(r, c, o)
		return
	}
	if !o.Desired.Hold.Active && !a.Held {
		c.summarize(status, o.Desired)
	}
	if o.Err == nil && len(o.Failed) == 0 {
		c.remove(helmv2.ConditionReconciling)
		switch complete := len(a.Drift.Errors) == 0 && !a.Drift.Repeat; {
		case a.OnlyRemoved:
		case !complete:
			// The next comparison sets it: some objects are not known to be without drift.
			c.remove(helmv2.ConditionDrifted)
		default:
			left := release.Drift{Ceded: a.Drift.Ceded, Note: a.Drift.Note}
			r.Events = append(r.Events, setUndrifted(c, left, undriftedMessage(left))...)
		}
		message := fmt.Sprintf("Cluster state of release %s has been corrected:\n%s", nameOf(last), correctedObjects(o.Corrected))
		r.Events = append(r.Events, normal(helmv2.ReasonDriftCorrected, message, nil))
		return
	}
	message := correctionFailedMessage(last, o)
	c.set(helmv2.ConditionDrifted, metav1.ConditionTrue, helmv2.ReasonDriftDetected, driftMessage(last, a.Drift)+"\n"+message)
	if c.changed(helmv2.ConditionDrifted) {
		r.Events = append(r.Events, warning(helmv2.ReasonDriftCorrectionFailed, message, nil))
	}
	c.remove(helmv2.ConditionReconciling)
}

func correctionFailedMessage(last *helmv2.Snapshot, o release.Outcome) string {
	failed := o.Failed
	cause := objectErrors(failed)
	if o.Err != nil {
		cause = o.Err.Error()
	}
	done := slices.DeleteFunc(slices.Clone(o.Corrected), func(d release.DriftedObject) bool {
		return slices.ContainsFunc(failed, func(e release.ObjectError) bool { return e.Object == d.Object })
	})
	if o.Err != nil || len(done) == 0 {
		return fmt.Sprintf("Failed to correct cluster state of release %s: %s", nameOf(last), cause)
	}
	return fmt.Sprintf("Failed to partially correct cluster state of release %s: %s\nCorrected:\n%s", nameOf(last), cause, correctedObjects(done))
}

func nameOf(s *helmv2.Snapshot) string {
	if s == nil {
		return "unknown"
	}
	return s.FullReleaseName()
}

// driftMessage lists objects and below each its fields. It starts like helm-controller's message.
func driftMessage(last *helmv2.Snapshot, d release.Drift) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Cluster state of release %s has drifted from the desired state:", nameOf(last))
	for i, o := range d.Objects {
		if i == maxDriftObjects {
			fmt.Fprintf(&b, "\nand %d more", len(d.Objects)-i)
			break
		}
		b.WriteString("\n" + objectName(o.Object) + " " + driftSummary(o))
		writeFields(&b, o.Fields, true)
	}
	if d.Rendering != "" {
		b.WriteString("\n" + d.Rendering)
	}
	for _, o := range d.Excluded {
		b.WriteString("\n" + objectName(o) + " excluded")
	}
	for _, e := range d.Errors {
		b.WriteString("\ncannot be compared: " + objectErrors([]release.ObjectError{e}))
	}
	return b.String()
}

func driftSummary(o release.DriftedObject) string {
	if o.Removed {
		return "removed"
	}
	// As in helm-controller, these are the changes of a patch that corrects the live object.
	additions, changes, removals := 0, 0, 0
	for _, f := range o.Fields {
		switch f.Kind {
		case release.DriftMissing:
			additions++
		case release.DriftChanged:
			changes++
		case release.DriftAdded:
			removals++
		}
	}
	return fmt.Sprintf("changed (%d additions, %d changes, %d removals)", additions, changes, removals)
}

func writeFields(b *strings.Builder, all []release.DriftedField, values bool) {
	for i, f := range all {
		if i == maxDriftFields {
			fmt.Fprintf(b, "\n  and %d more fields", len(all)-i)
			return
		}
		fmt.Fprintf(b, "\n  %s", f.Path)
		if values {
			b.WriteString(": " + fieldDifference(f))
		}
		if by := changedBy(f, values); by != "" {
			b.WriteString(", " + by)
		}
	}
}

func fieldDifference(f release.DriftedField) string {
	switch f.Kind {
	case release.DriftMissing:
		return f.Want + " is missing"
	case release.DriftAdded:
		return f.Have + " was added"
	case release.DriftChanged:
	}
	return f.Have + " instead of " + f.Want
}

// changedBy returns the field manager that changed a field, empty if the object does not have it.
func changedBy(f release.DriftedField, when bool) string {
	if f.Manager == "" {
		return ""
	}
	how := f.Operation
	if f.Subresource != "" {
		how += " of " + f.Subresource
	}
	by := fmt.Sprintf("by %s (%s)", f.Manager, how)
	if when && !f.Time.IsZero() {
		by += " at " + f.Time.UTC().Format(time.RFC3339)
	}
	return by
}

// pausedMessage returns the message while corrections are paused. It omits values, which differ
// between comparisons, so that each comparison has the same message.
func pausedMessage(last *helmv2.Snapshot, d release.Drift) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Cluster state of release %s drifts again after each correction, and is corrected less often:", nameOf(last))
	for i, o := range d.Objects {
		if i == maxDriftObjects {
			fmt.Fprintf(&b, "\nand %d more", len(d.Objects)-i)
			break
		}
		b.WriteString("\n" + objectName(o.Object))
		if o.Removed {
			b.WriteString(" removed")
		}
		writeFields(&b, o.Fields, false)
	}
	if rule := ignoreRules(d.Objects); rule != "" {
		b.WriteString("\nTo ignore these fields:\n" + rule)
	}
	return b.String()
}

// undriftedMessage returns the message without drift, with the fields that are left to
// autoscalers.
func undriftedMessage(d release.Drift) string {
	message := noDrift
	if len(d.Ceded) > 0 {
		message += ". " + cededMessage(d.Ceded)
	}
	return strings.TrimSpace(message + "\n" + d.Note)
}

// cededMessage lists the fields that are left to autoscalers. Apart from 0, it omits their values,
// which change all the time.
func cededMessage(ceded []release.DriftedObject) string {
	var b strings.Builder
	b.WriteString("These fields differ from the release, and are left to autoscalers:")
	for i, o := range ceded {
		if i == maxDriftObjects {
			fmt.Fprintf(&b, "\nand %d more", len(ceded)-i)
			break
		}
		b.WriteString("\n" + objectName(o.Object) + cededTo(o))
		writeFields(&b, o.Fields, false)
		if slices.ContainsFunc(o.Fields, isZero) {
			b.WriteString(". It is 0: no Pod runs")
		}
	}
	b.WriteString("\nTo ignore them explicitly:\n" + ignoreRules(ceded))
	return b.String()
}

// cededTo returns the autoscaler that fields of an object are left to.
func cededTo(o release.DriftedObject) string {
	if o.Autoscaler == "" {
		return fmt.Sprintf(" may have an autoscaler. The release may not list horizontalpodautoscalers in namespace %s. "+
			"Allow it, so that changes of others are found:", o.Namespace)
	}
	return " is left to HorizontalPodAutoscaler " + o.Autoscaler + ":"
}

// ignoreRules returns the part of a HelmRelease's spec that ignores the fields of objects.
func ignoreRules(objects []release.DriftedObject) string {
	var b strings.Builder
	for i, o := range objects {
		if i == maxDriftObjects {
			break
		}
		var paths []string
		for _, f := range o.Fields {
			if f.Pointer != "" && len(paths) < maxDriftFields {
				paths = append(paths, fmt.Sprintf("%q", f.Pointer))
			}
		}
		if len(paths) == 0 {
			continue
		}
		if b.Len() == 0 {
			b.WriteString("driftDetection:\n  ignore:")
		}
		fmt.Fprintf(&b, "\n  - paths: [%s]\n    target: {kind: %s, name: %s}", strings.Join(paths, ", "), o.Kind, o.Name)
	}
	return b.String()
}

func correctedObjects(objects []release.DriftedObject) string {
	var lines []string
	for i, o := range objects {
		if i == maxDriftObjects {
			lines = append(lines, fmt.Sprintf("and %d more", len(objects)-i))
			break
		}
		line := objectName(o.Object) + " patched"
		if o.Removed {
			line = objectName(o.Object) + " created"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func objectErrors(all []release.ObjectError) string {
	var parts []string
	for _, e := range all {
		if e.Kind == "" {
			parts = append(parts, e.Err)
			continue
		}
		parts = append(parts, objectName(e.Object)+": "+e.Err)
	}
	return strings.Join(parts, "; ")
}

// objectName returns "<Kind>/<namespace>/<name>", and "<Kind>/<name>" for cluster-scoped objects.
func objectName(o release.Object) string {
	if o.Namespace == "" {
		return o.Kind + "/" + o.Name
	}
	return o.Kind + "/" + o.Namespace + "/" + o.Name
}
