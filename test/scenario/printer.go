// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

// printer prints events, and the parts of the state that have changed.
type printer struct {
	text strings.Builder
	// shown maps subjects to the text that was printed last.
	shown map[string]string
}

func (p *printer) line(format string, args ...any) {
	fmt.Fprintf(&p.text, format+"\n", args...)
}

// take returns the text since the previous call.
func (p *printer) take() string {
	s := p.text.String()
	p.text.Reset()
	return s
}

// changed reports whether the text of a subject differs from the last one, and stores it.
func (p *printer) changed(subject, now string) bool {
	if p.shown == nil {
		p.shown = map[string]string{}
	}
	if p.shown[subject] == now {
		return false
	}
	p.shown[subject] = now
	return true
}

// decision prints a decision.
func (p *printer) decision(d release.Decision) {
	state := ""
	if d.State != release.StateUnknown {
		state = " state=" + string(d.State)
	}
	p.line("rule=%s action=%s%s %q", d.Rule, release.Name(d.Action), state, d.Why)
}

// revisionText returns one line about a revision.
func revisionText(r *release.Revision) string {
	by := "other"
	if r.Owner == uid {
		by = "me"
	}
	text := fmt.Sprintf("stored %d %s@%s %s by=%s", r.Version, r.ChartName, r.ChartVersion, r.Status, by)
	if r.RolledBackTo > 0 {
		text += fmt.Sprintf(" rolled-back-to=%d", r.RolledBackTo)
	}
	for word, is := range map[string]bool{" interrupted": r.Interrupted, " outdated": r.Outdated} {
		if is {
			text += word
		}
	}
	if r.Attempt != nil && r.Attempt.Run > 1 {
		text += fmt.Sprintf(" run=%d", r.Attempt.Run)
	}
	if r.SourceRevision != "" {
		text += " source=" + r.SourceRevision
	}
	if strings.HasPrefix(r.AppVersion, "rendering-") {
		text += " " + r.AppVersion
	}
	if t, tested := r.Tests[testName]; tested && t.Phase != "" {
		text += " test=" + string(t.Phase)
	}
	return text
}

// hooks prints what the hooks of a release have done.
func (p *printer) hooks(s *storage) {
	for _, line := range s.ran.lines {
		p.line("%s", line)
	}
	s.ran.lines = nil
}

// stored prints the revisions that changed, oldest first.
func (p *printer) stored(revisions []release.Revision) {
	present := map[string]bool{}
	for i := len(revisions) - 1; i >= 0; i-- {
		r := &revisions[i]
		text := revisionText(r)
		subject := fmt.Sprintf("revision %d", r.Version)
		present[subject] = true
		if p.changed(subject, text) {
			p.line("%s", text)
		}
	}
	for version := 1; version <= 100; version++ {
		subject := fmt.Sprintf("revision %d", version)
		if p.shown[subject] != "" && !present[subject] {
			p.changed(subject, "")
			p.line("stored %d removed", version)
		}
	}
}

// remember stores the status without printing it.
func (p *printer) remember(s *helmv2.HelmReleaseStatus) {
	for subject, text := range facts(s) {
		p.changed(subject, text)
	}
	p.changed("conditions", conditions(s))
	p.changed("message", readyMessage(s))
	p.changed("stalled", stalledMessage(s))
}

// status prints the conditions and recorded facts that have changed.
func (p *printer) status(prefix string, s *helmv2.HelmReleaseStatus) {
	if prefix != "" {
		prefix += " "
	}
	if c := conditions(s); p.changed("conditions", c) {
		p.line("%s%s", prefix, c)
	}
	if m := readyMessage(s); p.changed("message", m) && prefix == "" {
		p.line("  %q", m)
	}
	if m := stalledMessage(s); p.changed("stalled", m) && prefix == "" && m != "" {
		p.line("  stalled %q", m)
	}
	var changed []string
	all := facts(s)
	for _, subject := range []string{"history", "failures", "attempted", "observed", "handled", "forced", "reset"} {
		if p.changed(subject, all[subject]) {
			changed = append(changed, subject+"="+all[subject])
		}
	}
	if len(changed) > 0 {
		p.line("%s%s", prefix, strings.Join(changed, " "))
	}
}

func conditions(s *helmv2.HelmReleaseStatus) string {
	var all []string
	for _, kind := range []string{
		helmv2.ConditionReady, helmv2.ConditionReleased, helmv2.ConditionTestSuccess, helmv2.ConditionRemediated,
		helmv2.ConditionReconciling, helmv2.ConditionStalled, helmv2.ConditionSuspended, helmv2.ConditionDrifted, helmv2.ConditionLocked,
		helmv2.ConditionRolledBack, helmv2.ConditionFailing,
	} {
		if c := apimeta.FindStatusCondition(s.Conditions, kind); c != nil {
			all = append(all, fmt.Sprintf("%s=%s/%s", kind, c.Status, c.Reason))
		}
	}
	return strings.Join(all, " ")
}

// readyMessage returns the message of Ready, unless an action runs.
func readyMessage(s *helmv2.HelmReleaseStatus) string {
	c := apimeta.FindStatusCondition(s.Conditions, helmv2.ConditionReady)
	if c == nil || c.Status == metav1.ConditionUnknown && status.Announced(*s) != "" {
		return ""
	}
	return firstLine(c.Message)
}

// stalledMessage returns the first line of Stalled, unless Ready begins with it.
func stalledMessage(s *helmv2.HelmReleaseStatus) string {
	c := apimeta.FindStatusCondition(s.Conditions, helmv2.ConditionStalled)
	if c == nil || firstLine(c.Message) == readyMessage(s) {
		return ""
	}
	return firstLine(c.Message)
}

func facts(s *helmv2.HelmReleaseStatus) map[string]string {
	var history []string
	for _, h := range s.History {
		history = append(history, fmt.Sprintf("%d:%s", h.Version, h.Status))
	}
	return map[string]string{
		"history":   "[" + strings.Join(history, " ") + "]",
		"failures":  fmt.Sprintf("%d(install=%d,upgrade=%d)", s.Failures, s.InstallFailures, s.UpgradeFailures),
		"attempted": fmt.Sprintf("%s@%s/%d", s.LastAttemptedReleaseAction, s.LastAttemptedRevision, s.LastAttemptedGeneration),
		"observed":  fmt.Sprint(s.ObservedGeneration),
		"handled":   s.LastHandledReconcileAt,
		"forced":    s.LastHandledForceAt,
		"reset":     s.LastHandledResetAt,
	}
}

func (p *printer) events(all []status.Event) {
	for _, e := range all {
		p.event(e)
	}
}

// event prints an event and its annotations with details and logs. With logs it prints the whole
// message, which must not contain them.
func (p *printer) event(e status.Event) {
	message := e.Message
	if e.Metadata[helmv2.EventMetadataLogs] == "" {
		message = firstLine(message)
	}
	kind := "event"
	if e.Repeated {
		kind = "repeated"
	}
	p.line("%s=%s/%s %q", kind, e.Type, e.Reason, message)
	for _, key := range []string{helmv2.EventMetadataDetails, helmv2.EventMetadataLogs} {
		if text := e.Metadata[key]; text != "" {
			p.line("  %s %q", key, strings.Join(strings.Fields(text), " "))
		}
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
