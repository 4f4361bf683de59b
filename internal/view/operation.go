// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
)

const (
	// maxText is the maximum length of a message that is shown in full.
	maxText = 4000
	// maxJobs and maxHooks are the maximum numbers of entries.
	maxJobs, maxHooks = 100, 100
)

// OperationFacts are what was read about one Operation.
type OperationFacts struct {
	Operation *opsv1alpha1.Operation
	// Release is the name of its HelmRelease; empty if it is not known.
	Release string
	// Pods are the existing Pods of its Jobs.
	Pods []corev1.Pod
	Now  time.Time
}

// Operation explains one Operation.
type Operation struct {
	OperationRow
	// Sentence is the state in one sentence.
	Sentence string
	Type     opsv1alpha1.OperationType
	Engine   opsv1alpha1.OperationEngine
	// Revision is the revision with the hooks; empty if it is not known.
	Revision   string
	Jobs       Limited[Job]
	Pods       Limited[Pod]
	Conditions []Condition
	// Hooks are all hooks of the release, if the requested hook does not exist.
	Hooks Limited[Hook]
	// Result is the exit code, the reason and the message of the last Job; empty without one.
	Result string
	// Logs are the last lines that the controller has stored, without values of Secrets.
	Logs []Log
	// Started and Ended are empty before.
	Started, Ended Age
	// Took is the time between them, or until now.
	Took string
	// Cancel is true if it is cancelled by its spec.
	Cancel bool
}

// Age returns the age of an Operation.
func (r OperationRow) Age() Age { return Age{At: r.Created, Ago: r.Ago} }

// Job is a Job of an Operation.
type Job struct {
	Name, Hook string
	State      opsv1alpha1.OperationPhase
	// Result is the exit code and the reason of a failure.
	Result string
	// Took is the time that it has run; empty if it has not started.
	Took string
}

// Hook is a hook of a release.
type Hook struct {
	Name, Kind, Events string
	Weight             int
	// DeletePolicy are its delete policies, separated by commas.
	DeletePolicy string
	// Ran is the start of its last run by Helm, and Result the result; zero without one.
	Ran    time.Time
	Result string
}

// ExplainOperation returns what is known of an Operation.
func ExplainOperation(f OperationFacts) *Operation {
	op := f.Operation
	o := &Operation{
		OperationRow: OperationRowOf(op, f.Release, f.Now), Sentence: operationSentence(op), Type: op.Spec.Type, Engine: op.Spec.Engine, Cancel: op.Spec.Cancel,
		Pods: podsOf(f.Pods, f.Now), Conditions: newestConditions(op.Status.Conditions),
	}
	o.Started, o.Ended = ageOf(op.Status.StartedAt, f.Now), ageOf(op.Status.CompletionTime, f.Now)
	o.Took = took(op.Status.StartedAt, op.Status.CompletionTime, f.Now)
	var hooks []Hook
	for _, h := range op.Status.Hooks {
		hooks = append(hooks, Hook{Name: h.Name, Kind: h.Kind, Events: strings.Join(h.Events, ", ")})
	}
	o.Hooks = First(hooks, maxHooks)
	if p := op.Spec.Parameters; p != nil && p.Revision > 0 {
		o.Revision = strconv.Itoa(p.Revision)
	}
	if out := op.Status.Outputs; out != nil {
		o.outputs(out, f.Now)
	}
	return o
}

// operationSentence returns the state of an Operation in one sentence.
func operationSentence(op *opsv1alpha1.Operation) string {
	text := Shorten(OperationText(op), maxText)
	if strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// outputs sets the results.
func (o *Operation) outputs(out *opsv1alpha1.Outputs, now time.Time) {
	if r := out.Release; r != nil {
		o.Revision = fmt.Sprintf("%d of %s/%s", r.Revision, r.Namespace, r.Name)
	}
	o.Result = resultOf(out.ExitCode, out.Reason)
	if out.Message != "" {
		o.Result = strings.TrimPrefix(o.Result+": "+Shorten(out.Message, maxText), ": ")
	}
	var jobs []Job
	for _, j := range out.Jobs {
		jobs = append(jobs, Job{
			Name: j.Name, Hook: j.Hook, State: j.Phase, Result: resultOf(j.ExitCode, j.Reason), Took: took(j.StartedAt, j.CompletionTime, now),
		})
	}
	o.Jobs = First(jobs, maxJobs)
	for _, l := range out.LogTail {
		log := Log{Container: l.Container, Lines: strings.Split(strings.TrimRight(l.Text, "\n"), "\n")}
		if out.LogsRef != nil {
			log.Pod = out.LogsRef.Name
		}
		o.Logs = append(o.Logs, log)
	}
}

// resultOf returns an exit code and a reason as text.
func resultOf(exitCode *int32, reason string) string {
	if exitCode == nil {
		return reason
	}
	text := fmt.Sprintf("exit code %d", *exitCode)
	if reason != "" {
		text += ", " + reason
	}
	return text
}

// newestConditions returns conditions, the newest first.
func newestConditions(all []metav1.Condition) []Condition {
	views := make([]Condition, 0, len(all))
	for _, c := range all {
		views = append(views, Condition{
			Type: c.Type, Status: string(c.Status), Reason: c.Reason, Message: Shorten(c.Message, maxText), Since: c.LastTransitionTime.UTC(),
		})
	}
	slices.SortStableFunc(views, func(a, b Condition) int {
		return cmp.Or(b.Since.Compare(a.Since), cmp.Compare(a.Type, b.Type))
	})
	return views
}

// took returns the time between two events, or until now.
func took(from, to *metav1.Time, now time.Time) string {
	switch {
	case from.IsZero():
		return ""
	case to.IsZero():
		return Ago(from.Time, now)
	}
	return Ago(from.Time, to.Time)
}

// ageOf returns the age of an event; empty without one.
func ageOf(t *metav1.Time, now time.Time) Age {
	if t.IsZero() {
		return Age{}
	}
	return AgeOf(t.UTC(), now)
}

func timeOf(t *metav1.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	at := t.UTC()
	return &at
}
