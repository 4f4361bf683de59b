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
	"github.com/pintle-dev/pintle/internal/release"
)

const (
	// maxDriftObjects and maxDriftFields are how many objects, and fields of each, a
	// condition or event describes. The others are counted.
	maxDriftObjects = 20
	maxDriftFields  = 8

	// repeatWithin limits the back-off of a comparison that API servers did not answer.
	repeatWithin = 30 * time.Second

	correcting = "correcting cluster drift"
	noDrift    = "No drift detected against the cluster state"
)

// compared says what the comparison of live objects showed. Without one nobody can
// say that there is drift.
func compared(r *Report, c *conditions, last *helmv2.Snapshot, in release.Input) {
	found := in.Observed.Drift
	if found != nil && found.Repeat {
		r.Retry = release.BackoffUpTo(repeatWithin)
	}
	switch {
	case found == nil:
		c.remove(helmv2.ConditionDrifted)
	case len(found.Objects) > 0 || found.Rendering != "":
		message := driftMessage(last, *found)
		if found.Pause > 0 {
			message = pausedMessage(last, *found)
			r.Retry = release.After(found.Pause)
		}
		r.Events = append(r.Events, c.drifted(message)...)
	case len(found.Errors) > 0:
		message := "Drift cannot be told: " + objectErrors(found.Errors)
		if c.get(helmv2.ConditionDrifted).Message != storable(message) {
			r.Events = append(r.Events, warning(helmv2.ReasonStateError, message, nil))
		}
		c.set(helmv2.ConditionDrifted, metav1.ConditionUnknown, helmv2.ReasonStateError, message)
	case found.Repeat:
		// What was known before stands.
	default:
		c.set(helmv2.ConditionDrifted, metav1.ConditionFalse, helmv2.ReasonNoDriftDetected, undriftedMessage(*found))
	}
}

// drifted says that there is drift, and tells those who watch events unless they
// know already: what was said first stays, with what was added to it later.
func (c *conditions) drifted(message string) []Event {
	old := c.get(helmv2.ConditionDrifted)
	if old.Status == metav1.ConditionTrue && strings.HasPrefix(old.Message, storable(message)) {
		return nil
	}
	c.set(helmv2.ConditionDrifted, metav1.ConditionTrue, helmv2.ReasonDriftDetected, message)
	return []Event{warning(helmv2.ReasonDriftDetected, message, nil)}
}

// undecide takes back what an action is going to make untrue. That there is no
// drift, the action keeps up, or its failure takes it back.
func (c *conditions) undecide() {
	if c.get(helmv2.ConditionDrifted).Status != metav1.ConditionFalse {
		c.remove(helmv2.ConditionDrifted)
	}
}

// applied says that there is no drift if all answers of the API server said so.
func (c *conditions) applied(o release.Outcome) {
	if o.Exact {
		c.set(helmv2.ConditionDrifted, metav1.ConditionFalse, helmv2.ReasonNoDriftDetected, noDrift)
	}
}

func startCorrection(c *conditions, last *helmv2.Snapshot, a release.CorrectDrift) []Event {
	if !c.stillInterrupted() {
		c.set(helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonProgressing, correcting)
	}
	return c.drifted(driftMessage(last, a.Drift))
}

// finishCorrection says what was corrected. The release itself was as it should be
// all the time.
func finishCorrection(r *Report, c *conditions, o release.Outcome, a release.CorrectDrift) {
	status := &r.Status
	last := release.Latest(status.History)
	if o.EndedEarly() {
		cutOff(r, c, o)
		return
	}
	c.summarize(status, o.Desired)
	if o.Err == nil && len(o.Failed) == 0 {
		c.remove(helmv2.ConditionReconciling)
		if !a.OnlyRemoved {
			c.set(helmv2.ConditionDrifted, metav1.ConditionFalse, helmv2.ReasonNoDriftDetected, undriftedMessage(release.Drift{Ceded: a.Drift.Ceded, Note: a.Drift.Note}))
		}
		message := fmt.Sprintf("Cluster state of release %s has been corrected:\n%s", nameOf(last), correctedObjects(o.Corrected))
		r.Events = append(r.Events, normal(helmv2.ReasonDriftCorrected, message, nil))
		return
	}
	message := correctionFailedMessage(last, o)
	old := c.get(helmv2.ConditionDrifted)
	whole := driftMessage(last, a.Drift) + "\n" + message
	if old.Message != storable(whole) {
		r.Events = append(r.Events, warning(helmv2.ReasonDriftCorrectionFailed, message, nil))
	}
	c.set(helmv2.ConditionDrifted, metav1.ConditionTrue, helmv2.ReasonDriftDetected, whole)
	c.remove(helmv2.ConditionReconciling)
	r.Retry = release.Backoff()
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

// driftMessage begins as the reference's does, with a line per object, below which
// its fields are.
func driftMessage(last *helmv2.Snapshot, d release.Drift) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Cluster state of release %s has drifted from the desired state:", nameOf(last))
	for i, o := range d.Objects {
		if i == maxDriftObjects {
			fmt.Fprintf(&b, "\nand %d more", len(d.Objects)-i)
			break
		}
		b.WriteString("\n" + objectName(o.Object) + " " + verdict(o))
		fields(&b, o.Fields, true)
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

func verdict(o release.DriftedObject) string {
	if o.Removed {
		return "removed"
	}
	// What the reference counts is what a patch of the live object would do.
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

func fields(b *strings.Builder, all []release.DriftedField, values bool) {
	for i, f := range all {
		if i == maxDriftFields {
			fmt.Fprintf(b, "\n  and %d more fields", len(all)-i)
			return
		}
		fmt.Fprintf(b, "\n  %s", f.Path)
		if values {
			b.WriteString(": " + difference(f))
		}
		if by := blame(f, values); by != "" {
			b.WriteString(", " + by)
		}
	}
}

func difference(f release.DriftedField) string {
	switch f.Kind {
	case release.DriftMissing:
		return f.Want + " is missing"
	case release.DriftAdded:
		return f.Have + " was added"
	case release.DriftChanged:
	}
	return f.Have + " instead of " + f.Want
}

// blame names who changed a field, as far as the object knows.
func blame(f release.DriftedField, when bool) string {
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

// pausedMessage leaves out what differs from one look to the next, the values: or
// else each of them would be news.
func pausedMessage(last *helmv2.Snapshot, d release.Drift) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Cluster state of release %s drifts again as soon as it is corrected, and is corrected only now and then:", nameOf(last))
	for i, o := range d.Objects {
		if i == maxDriftObjects {
			fmt.Fprintf(&b, "\nand %d more", len(d.Objects)-i)
			break
		}
		b.WriteString("\n" + objectName(o.Object))
		if o.Removed {
			b.WriteString(" removed")
		}
		fields(&b, o.Fields, false)
	}
	if rule := ignoreRules(d.Objects); rule != "" {
		b.WriteString("\nTo leave these fields to others:\n" + rule)
	}
	return b.String()
}

// undriftedMessage also says what is left to others.
func undriftedMessage(d release.Drift) string {
	if len(d.Ceded) == 0 {
		return strings.TrimSpace(noDrift + "\n" + d.Note)
	}
	var b strings.Builder
	b.WriteString(noDrift + ". These fields are left to whom manages them through the scale subresource:")
	for i, o := range d.Ceded {
		if i == maxDriftObjects {
			fmt.Fprintf(&b, "\nand %d more", len(d.Ceded)-i)
			break
		}
		b.WriteString("\n" + objectName(o.Object))
		fields(&b, o.Fields, false)
	}
	b.WriteString("\nTo say so in the HelmRelease:\n" + ignoreRules(d.Ceded) + "\n" + d.Note)
	return strings.TrimSpace(b.String())
}

// ignoreRules are what a user would put into the spec to leave fields alone.
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

// objectName is "<Kind>/<namespace>/<name>", or without the namespace if it has none.
func objectName(o release.Object) string {
	if o.Namespace == "" {
		return o.Kind + "/" + o.Name
	}
	return o.Kind + "/" + o.Namespace + "/" + o.Name
}
