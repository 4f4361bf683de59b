// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status/message"
)

// Why explains the state of one HelmRelease.
type Why struct {
	Release Release `json:"release"`
	// Sentence is the state in one sentence.
	Sentence string `json:"sentence"`
	// Cause is the cause of the failure; nil if nothing has failed.
	Cause *Cause `json:"cause,omitempty"`
	// Running is the action that runs; nil if none does.
	Running *Running `json:"running,omitempty"`
	// Message is the message of the condition that says why, and what happens next. It is empty before
	// the first one.
	Message string `json:"message,omitempty"`
	// Commands end the state. They are empty if no command does.
	Commands []string `json:"commands,omitempty"`
	// Link is the address of the section of the documentation about the reason.
	Link       string      `json:"link,omitempty"`
	Conditions []Condition `json:"conditions,omitempty"`
	Events     []Event     `json:"events,omitempty"`
	// Unread lists what could not be read, with the reason.
	Unread []string `json:"unread,omitempty"`
}

// Cause is the cause of a failure.
type Cause struct {
	// Code is one of the failure codes of the API.
	Code    string `json:"code"`
	Object  Object `json:"object"`
	Summary string `json:"summary"`
	// Live is true if the cause was found in the cluster now, too.
	Live    bool     `json:"live"`
	Details []string `json:"details,omitempty"`
	Logs    []Log    `json:"logs,omitempty"`
}

// Running is an action that runs.
type Running struct {
	// Action is its announcement, and TimeLeft the time until its timeout, as text; empty without one.
	Action   string `json:"action"`
	TimeLeft string `json:"timeLeft,omitempty"`
	// Objects is the number of objects of the release, and Unready are those that are not ready.
	Objects int       `json:"objects"`
	Unready []Unready `json:"unready,omitempty"`
}

// Ready returns the number of objects that are ready.
func (r *Running) Ready() int { return r.Objects - len(r.Unready) }

// Unready is an object that is not ready.
type Unready struct {
	Object Object `json:"object"`
	// Status says why.
	Status string `json:"status"`
}

// Log has the last lines of the log of a container, or of Helm.
type Log struct {
	// Helm is true for what Helm logged during the action.
	Helm      bool     `json:"helm,omitempty"`
	Pod       string   `json:"pod,omitempty"`
	Container string   `json:"container,omitempty"`
	Lines     []string `json:"lines"`
}

// Condition is a condition of a HelmRelease.
type Condition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Since   time.Time `json:"since"`
}

// Event is an event about a HelmRelease.
type Event struct {
	Last    time.Time `json:"last"`
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Count   int32     `json:"count"`
	Message string    `json:"message"`
}

// Facts are what was read about one HelmRelease.
type Facts struct {
	Release *helmv2.HelmRelease
	Lookup  Lookup
	// Diagnosis is the cause that was found in the cluster now; nil if none was found.
	Diagnosis *release.Diagnosis
	// Running is the action that runs; nil if none does.
	Running *Running
	// Events are those about the HelmRelease, in any order.
	Events []corev1.Event
	Unread []string
	Now    time.Time
}

// Explain returns why a release is in its state.
func Explain(f Facts) Why {
	r := ReleaseOf(f.Release, f.Lookup, f.Now)
	w := Why{
		Release: r, Sentence: sentence(f.Release, r, f.Now), Message: messageOf(f.Release, r.State), Unread: f.Unread, Running: f.Running,
		Commands: commands(r), Link: link(r.State), Events: eventsOf(f.Events), Conditions: conditionsOf(f.Release.Status.Conditions),
	}
	if r.State != Ready {
		w.Cause = causeOf(f, r.State)
	}
	if w.Running != nil && w.Message == w.Running.Action {
		w.Message = ""
	}
	return w
}

// Untold returns the sentences of a text that message, cause and running action do not have. It is
// empty if they have all of them.
func (w *Why) Untold(text string) string {
	told := w.Message
	if w.Cause != nil {
		told += "\n" + w.Cause.Summary
	}
	if w.Running != nil {
		told += "\n" + w.Running.Action
	}
	var lines []string
	for line := range strings.Lines(text) {
		var rest []string
		for sentence := range strings.SplitSeq(strings.TrimSpace(line), ". ") {
			if !strings.Contains(told, strings.Trim(sentence, " .")) {
				rest = append(rest, sentence)
			}
		}
		if len(rest) > 0 {
			lines = append(lines, strings.Join(rest, ". "))
		}
	}
	return strings.Join(lines, "\n")
}

// causeOf returns the cause that the failed action recorded in condition Failing. What is found in the
// cluster now, and the event of the failure, add to it. While an action runs, the cause is what is not
// ready yet. The cause is nil if nothing has failed, or if nothing is known of it.
func causeOf(f Facts, state State) *Cause {
	live := causeNow(f.Diagnosis)
	failing := apimeta.FindStatusCondition(f.Release.Status.Conditions, helmv2.ConditionFailing)
	if failing == nil {
		// Earlier versions and helm-controller record no cause.
		if state == Progressing || state == Deleting || state == Stalled || state == Failing {
			return live
		}
		return nil
	}
	c := &Cause{Code: failing.Reason, Summary: failing.Message}
	if recorded := causeInEvents(f.Events, c.Code); recorded != nil {
		c.Object, c.Details, c.Logs = recorded.Object, recorded.Details, recorded.Logs
	}
	switch {
	case live == nil:
	case live.Code == c.Code:
		c.Live, c.Object, c.Details = true, live.Object, live.Details
		if len(live.Logs) > 0 {
			c.Logs = live.Logs
		}
	default:
		c.Details = append(c.Details, "now: "+live.Summary)
	}
	return c
}

// causeNow returns the cause that was found in the cluster now; nil if none was.
func causeNow(d *release.Diagnosis) *Cause {
	if d == nil {
		return nil
	}
	c := &Cause{
		Code: d.Code, Summary: d.Summary, Details: d.Details, Live: true,
		Object: Object{Group: d.Object.Group, Version: d.Object.Version, Kind: d.Object.Kind, Namespace: d.Object.Namespace, Name: d.Object.Name},
	}
	for _, l := range d.Logs {
		c.Logs = append(c.Logs, Log{Pod: l.Pod, Container: l.Container, Lines: linesOf(l.Text)})
	}
	return c
}

// causeInEvents returns the cause in the newest event with a failure code; nil if there is none.
func causeInEvents(all []corev1.Event, code string) *Cause {
	newest := newestFirst(all)
	i := slices.IndexFunc(newest, func(e corev1.Event) bool { return e.Annotations[helmv2.EventMetadataFailure] == code })
	if i < 0 {
		return nil
	}
	annotations := newest[i].Annotations
	c := &Cause{Code: code, Details: linesOf(annotations[helmv2.EventMetadataDetails])}
	if parts := strings.Split(annotations[helmv2.EventMetadataObject], "/"); len(parts) == 3 {
		c.Object = Object{Kind: parts[0], Namespace: parts[1], Name: parts[2]}
	}
	c.Logs = logsOf(annotations[helmv2.EventMetadataLogs])
	return c
}

// logsOf returns the logs in the event of a failure.
func logsOf(text string) []Log {
	all, ok := message.ParseLogs(text)
	if lines := linesOf(text); !ok && len(lines) > 0 {
		return []Log{{Lines: lines}}
	}
	var views []Log
	for _, l := range all {
		views = append(views, Log{Helm: l.Container == "", Pod: l.Pod, Container: l.Container, Lines: linesOf(l.Text)})
	}
	return views
}

func linesOf(text string) []string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// order is the order in which conditions are read.
func order() []string {
	return []string{
		helmv2.ConditionReady, helmv2.ConditionFailing, helmv2.ConditionSuspended, helmv2.ConditionRolledBack, helmv2.ConditionStalled, helmv2.ConditionLocked,
		helmv2.ConditionReconciling, helmv2.ConditionReleased, helmv2.ConditionTestSuccess, helmv2.ConditionRemediated, helmv2.ConditionDrifted,
	}
}

func conditionsOf(all []metav1.Condition) []Condition {
	rank := func(kind string) int {
		if i := slices.Index(order(), kind); i >= 0 {
			return i
		}
		return len(order())
	}
	var views []Condition
	for _, c := range all {
		views = append(views, Condition{Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.UTC()})
	}
	slices.SortStableFunc(views, func(a, b Condition) int {
		return cmp.Or(rank(a.Type)-rank(b.Type), cmp.Compare(a.Type, b.Type))
	})
	return views
}

func newestFirst(all []corev1.Event) []corev1.Event {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b corev1.Event) int {
		// Names end with the time of creation in nanoseconds, times of core/v1 are of seconds.
		return cmp.Or(lastOf(&b).Compare(lastOf(&a)), cmp.Compare(b.Name, a.Name))
	})
	return all
}

func eventsOf(all []corev1.Event) []Event {
	var views []Event
	for _, e := range newestFirst(all) {
		views = append(views, Event{Last: lastOf(&e), Type: e.Type, Reason: e.Reason, Count: max(1, e.Count), Message: e.Message})
	}
	return views
}

func lastOf(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil && !e.Series.LastObservedTime.IsZero():
		return e.Series.LastObservedTime.UTC()
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.UTC()
	case !e.EventTime.IsZero():
		return e.EventTime.UTC()
	}
	return e.CreationTimestamp.UTC()
}
