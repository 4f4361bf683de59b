// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/brief"
	"github.com/pintle-dev/pintle/internal/readiness"
	"github.com/pintle-dev/pintle/internal/redaction"
)

// Find returns the most likely cause of the failure that the facts describe.
func Find(f Facts) Finding {
	f.redactor = redaction.New(f.Secrets)
	pod := RelevantPod(f.Pods)
	s := f.symptom(pod)
	r := Finding{Code: s.code, Sure: true, Hopeless: s.hopeless, Patience: s.patience}
	if r.Code == "" {
		r.Code, r.Sure = helmv2.FailureNotReady, false
		if f.Failed {
			r.Code = helmv2.FailureFailed
		}
		s.text = f.stable(f.quote(withoutStatus(f.Status), false))
	}
	if f.isRetried() && s.crashing {
		r.Hopeless, r.Patience = false, 0
	}
	r.Mark = strings.Join([]string{f.Kind, f.Namespace, f.Name, r.Code, s.container}, "/")
	r.Logs = f.logs()
	r.Summary = f.summary(s, r, pod)
	r.Details = f.details(pod)
	return r
}

// withoutStatus removes the word for the status of an object from its readiness message.
func withoutStatus(text string) string {
	for _, word := range []string{"InProgress: ", "Failed: ", "Terminating: ", "Unknown: ", "NotFound: "} {
		text = strings.TrimPrefix(text, word)
	}
	return text
}

// isRetried reports whether another limit counts the failures: the limit of a Job or of hooks.
func (f *Facts) isRetried() bool { return f.Kind == "Job" || f.Role != "" }

// symptom returns the symptom of the facts. A reason why no Pods can be created takes precedence
// over symptoms of older Pods.
func (f *Facts) symptom(pod *corev1.Pod) symptom {
	if f.Refused {
		s := creationSymptom(f.Status)
		s.text = ""
		return s
	}
	if c := f.condition("ReplicaFailure"); c.Message != "" {
		return creationSymptom(c.Message)
	}
	var s symptom
	if pod != nil {
		s = f.podSymptom(pod)
	}
	if s.code == "" || s.code == helmv2.FailureNotReady {
		if e := f.event("FailedCreate"); e != nil {
			return creationSymptom(e.Message)
		}
	}
	if job := f.jobFailure(); job.Type != "" {
		return jobSymptom(job, s)
	}
	if s.code == "" && f.Kind == "PersistentVolumeClaim" {
		return f.claimSymptom()
	}
	return s
}

// jobFailure returns the condition of a Job that has failed or is about to fail. It is zero for
// other Jobs and objects.
func (f *Facts) jobFailure() Condition {
	if f.Kind != "Job" {
		return Condition{}
	}
	switch readiness.JobStateOf(func(kind batchv1.JobConditionType) bool { return f.condition(string(kind)).Type != "" }) {
	case readiness.JobFailed:
		return f.condition(string(batchv1.JobFailed))
	case readiness.JobFailing:
		return f.condition(string(batchv1.JobFailureTarget))
	case readiness.JobUnfinished, readiness.JobComplete:
	}
	return Condition{}
}

// jobSymptom combines the condition of a failed Job with the symptom of its Pod.
func jobSymptom(c Condition, pod symptom) symptom {
	code := helmv2.FailureFailed
	switch c.Reason {
	case "BackoffLimitExceeded":
		code = helmv2.FailureBackoffLimit
	case "DeadlineExceeded":
		code = helmv2.FailureDeadline
	}
	if pod.code == "" || pod.code == helmv2.FailureNotReady {
		return symptom{code: code, said: c.Message}
	}
	if code == helmv2.FailureDeadline && (pod.code == helmv2.FailureContainer || pod.code == helmv2.FailurePod) {
		// The Job controller ended the Pod at the deadline.
		pod.code = code
	}
	if c.Reason != "" {
		pod.text += " (" + c.Reason + ")"
	}
	return pod
}

func (f *Facts) claimSymptom() symptom {
	for _, reason := range []string{"FailedBinding", "ProvisioningFailed", "WaitForFirstConsumer", "WaitForPodScheduled"} {
		if e := f.event(reason); e != nil {
			return symptom{code: helmv2.FailureVolumeNotBound, said: e.Message}
		}
	}
	return symptom{code: helmv2.FailureVolumeNotBound, text: "not bound", said: f.Status}
}

// podSymptom combines the status of a Pod with the events about it.
func (f *Facts) podSymptom(p *corev1.Pod) symptom {
	s := statusSymptom(p)
	probe := f.event("Unhealthy")
	switch {
	case s.code == helmv2.FailureContainer || s.code == helmv2.FailureCrashLoop:
		if probe != nil && probe.InvolvedObject.UID == p.UID && endedBySignal(p) {
			s.code, s.said, s.written = helmv2.FailureProbe, probe.Message, true
			s.text += ", ended by its probe"
			// The container may only be slow to start.
			s.hopeless, s.patience = false, 0
		}
		return s
	case s.code == helmv2.FailureUnschedulable:
		if e := f.event("FailedBinding"); e != nil {
			s.code = helmv2.FailureVolumeNotBound
		}
		return s
	case s.code != "":
		return s
	}
	for _, e := range []struct{ reason, code, text string }{
		{"FailedScheduling", helmv2.FailureUnschedulable, "no node for the Pod"},
		{"FailedMount", helmv2.FailureMount, "a volume cannot be mounted"},
		{"FailedAttachVolume", helmv2.FailureMount, "a volume cannot be attached"},
		{"FailedCreatePodSandBox", helmv2.FailureSandbox, "the Pod cannot be set up"},
	} {
		if event := f.event(e.reason); event != nil && !started(p) {
			if e.reason == "FailedScheduling" {
				return schedulingSymptom(event.Message)
			}
			return symptom{code: e.code, text: e.text, said: event.Message}
		}
	}
	if probe != nil {
		return symptom{code: helmv2.FailureProbe, text: "fails a probe", said: probe.Message, written: true, container: unready(p)}
	}
	if name := unready(p); name != "" {
		if probed(p, name) {
			return symptom{code: helmv2.FailureProbe, text: "runs, and its readiness probe has not passed", container: name}
		}
		return symptom{code: helmv2.FailureNotReady, text: "runs, and is not ready", container: name}
	}
	return symptom{}
}

// endedBySignal reports whether a signal ended a container of the Pod. The kubelet sends one when a
// probe fails.
func endedBySignal(p *corev1.Pod) bool {
	const signal = 128
	return slices.ContainsFunc(OrderedStatuses(p), func(c corev1.ContainerStatus) bool {
		end := cmp.Or(c.State.Terminated, c.LastTerminationState.Terminated)
		return end != nil && end.ExitCode > signal
	})
}

func started(p *corev1.Pod) bool {
	return slices.ContainsFunc(OrderedStatuses(p), func(c corev1.ContainerStatus) bool {
		return c.State.Running != nil || c.State.Terminated != nil
	})
}

// unready returns the name of the first container that runs and is not ready.
func unready(p *corev1.Pod) string {
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Running != nil && !c.Ready {
			return c.Name
		}
	}
	return ""
}

func probed(p *corev1.Pod, container string) bool {
	return slices.ContainsFunc(p.Spec.Containers, func(c corev1.Container) bool {
		return c.Name == container && (c.ReadinessProbe != nil || c.StartupProbe != nil)
	})
}

// creationSymptom returns the symptom of a Pod that could not be created.
func creationSymptom(message string) symptom {
	s := symptom{said: brief.Denial(message)}
	for _, known := range []struct {
		part, code string
		patience   time.Duration
	}{
		{"exceeded quota", helmv2.FailureQuotaExceeded, quotaPatience},
		{"failed quota", helmv2.FailureQuotaExceeded, quotaPatience},
		{"denied the request", helmv2.FailureAdmissionDenied, admissionPatience},
		{"violates PodSecurity", helmv2.FailureAdmissionDenied, admissionPatience},
		{"failed calling webhook", helmv2.FailureWebhookUnavailable, 0},
		{"is forbidden", helmv2.FailureForbidden, 0},
	} {
		if strings.Contains(message, known.part) {
			s.code, s.hopeless, s.patience = known.code, known.patience > 0, known.patience
			return s
		}
	}
	s.code = helmv2.FailureCreate
	return s
}

func (f *Facts) condition(kind string) Condition {
	for _, c := range f.Conditions {
		if c.Type == kind && c.Status == string(corev1.ConditionTrue) {
			return c
		}
	}
	return Condition{}
}

// event returns the newest event with a reason; nil if there is none.
func (f *Facts) event(reason string) *corev1.Event {
	var last *corev1.Event
	for i := range f.Events {
		if e := &f.Events[i]; e.Reason == reason && (last == nil || seen(last).Before(seen(e))) {
			last = e
		}
	}
	return last
}

func seen(e *corev1.Event) time.Time {
	t := e.LastTimestamp.Time
	if e.Series != nil && e.Series.LastObservedTime.After(t) {
		t = e.Series.LastObservedTime.Time
	}
	if e.EventTime.After(t) {
		t = e.EventTime.Time
	}
	return t
}

// quote returns a text from the cluster on one line, redacted and truncated. It is empty if the
// container wrote it and container output is withheld.
func (f *Facts) quote(text string, written bool) string {
	return brief.Cut(f.whole(text, written), maxMessage)
}

func (f *Facts) whole(text string, written bool) string {
	if written && f.Withheld != "" {
		return ""
	}
	return brief.Line(f.redactor.Text(text))
}

func (f *Facts) logs() []Log {
	if f.Withheld != "" {
		return nil
	}
	var all []Log
	for _, l := range f.Logs[:min(len(f.Logs), MaxLogs)] {
		if text := Cut(f.redactor.Text(l.Text), MaxLogBytes, MaxLogBytes); strings.TrimSpace(text) != "" {
			all = append(all, Log{Container: l.Container, Text: text})
		}
	}
	return all
}

// subject returns the kind and name of the object for texts.
func (f *Facts) subject() string {
	name := f.Kind + " " + f.Name
	if f.Namespace != "" && f.Namespace != f.Home {
		name = f.Kind + " " + f.Namespace + "/" + f.Name
	}
	if f.Role != "" {
		return strings.ToUpper(f.Role[:1]) + f.Role[1:] + " " + name
	}
	return name
}

// summary returns one line. If a container left no termination message, the last line of its log is
// used. Equal failures have equal summaries, because receivers of events drop repeated messages.
func (f *Facts) summary(s symptom, r Finding, pod *corev1.Pod) string {
	text := f.subject()
	switch {
	case s.container != "":
		text += ": container " + s.container + " " + s.text
	case !r.Sure && f.Waited > 0 && f.isRetried():
		text = fmt.Sprintf("%s did not finish within %s", text, f.Waited)
		if f.Kind == "Job" && pod != nil && pod.Status.Phase != "" {
			text += ": its Pod is " + strings.ToLower(string(pod.Status.Phase))
		}
		return brief.Cut(text, MaxSummary)
	case !r.Sure && f.Waited > 0:
		text = withText(fmt.Sprintf("%s was not ready within %s", text, f.Waited), s.text)
	case s.text != "":
		text += ": " + s.text
	case s.said == "":
		text += ": " + r.Code
	}
	said := f.whole(s.said, s.written)
	if said == "" && s.written {
		said = lastLine(r.Logs, s.container)
	}
	said = f.stable(said)
	if s.atEnd && len(said) > maxLine {
		said = "..." + strings.ToValidUTF8(said[len(said)-maxLine/2:], "")
	}
	return brief.Cut(withText(text, brief.Cut(said, maxLine)), MaxSummary)
}

func lastLine(logs []Log, container string) string {
	for _, l := range logs {
		if l.Container == container {
			text := strings.TrimRightFunc(l.Text, unicode.IsSpace)
			return brief.Line(text[strings.LastIndexByte(text, '\n')+1:])
		}
	}
	return ""
}

func (f *Facts) details(pod *corev1.Pod) []string {
	lines := []string{withText(f.subject(), f.quote(f.Status, false))}
	for _, c := range f.Conditions {
		if c.Message != "" && c.Type != "Available" {
			lines = append(lines, fmt.Sprintf("  condition %s=%s %s: %s", c.Type, c.Status, c.Reason, f.quote(c.Message, false)))
		}
	}
	if pod != nil {
		for _, line := range describePod(pod, f.quote) {
			lines = append(lines, "  "+line)
		}
	}
	events := slices.Clone(f.Events)
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return seen(&a).Compare(seen(&b)) })
	for _, e := range events[max(0, len(events)-maxEvents):] {
		// The output of a probe comes from the container.
		lines = append(lines, fmt.Sprintf("  event of %s %s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Name, withText(e.Reason, f.quote(e.Message, e.Reason == "Unhealthy"))))
	}
	if f.Withheld != "" {
		lines = append(lines, "  container output is withheld: "+brief.Cut(brief.Line(f.Withheld), maxMessage))
	}
	for _, u := range f.Unread {
		lines = append(lines, "  not read: "+brief.Cut(brief.Line(u), maxMessage))
	}
	return lines
}
