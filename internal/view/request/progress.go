// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
	"github.com/pintle-dev/pintle/internal/view"
)

// Progress is how far a request is.
type Progress struct {
	// Done is true if the request was carried out, or refused.
	Done bool
	// Failed is true if it was refused or has failed. Only if Done.
	Failed bool
	// Waits is true if the release waits for something else, and has no effect before. Only if Failed.
	Waits bool
	// Unanswered is true if nothing shows that a controller has seen the request.
	Unanswered bool
	// ExitCode is the exit code of the container that failed; zero if there is none. Only if Failed.
	ExitCode int
	// Text is one line for users.
	Text string
}

// Progress returns how far a request is, from the present HelmRelease.
func (r Request) Progress(hr *helmv2.HelmRelease, now time.Time) Progress {
	switch {
	case r.token == "":
		return r.done(hr, now)
	case hr.Status.LastHandledReconcileAt != r.token:
		if hr.Annotations[helmv2.AnnotationReconcileRequest] != r.token {
			return Progress{Done: true, Failed: true, Text: "another request has replaced this one; nothing else was changed"}
		}
		if s := release.SuspensionOf(hr.Spec.Suspend, hr.Annotations, now); s.Active {
			return waits("%s/%s is suspended: %s.", hr.Namespace, hr.Name, s.Why)
		}
		runs := running(hr)
		return Progress{Text: "waiting for the controller" + runs, Unanswered: runs == ""}
	}
	return r.done(hr, now)
}

// waits returns the end of a request to a release that waits for something else.
func waits(format string, args ...any) Progress {
	return Progress{Done: true, Failed: true, Waits: true, Text: fmt.Sprintf(format, args...)}
}

// running returns what runs in the meantime.
func running(hr *helmv2.HelmRelease) string {
	if c := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReconciling); c != nil && c.Status == metav1.ConditionTrue {
		return ": " + c.Message
	}
	return ""
}

// stateProgress is done if the release is ready, stalled or failing, or waits for something that may not
// come soon.
func stateProgress(hr *helmv2.HelmRelease, now time.Time) Progress {
	none := func(string, string) *helmv2.HelmRelease { return nil }
	why := view.Explain(view.Facts{Release: hr, Lookup: none, Now: now})
	r := why.Release
	name := hr.Namespace + "/" + hr.Name
	switch r.State {
	case view.Ready:
		return Progress{Done: true, Text: fmt.Sprintf("%s is ready: %s", name, r.Message)}
	case view.Stalled, view.Failing:
		return Progress{Done: true, Failed: true, Text: fmt.Sprintf("%s is not ready (%s): %s", name, r.Reason, r.Message)}
	case view.Rejected:
		return Progress{Done: true, Failed: true, Text: why.Sentence + " " + why.Message}
	case view.Suspended:
		return waits("%s", why.Sentence)
	case view.Held, view.Waiting:
		if r.Reason == helmv2.ReasonDryRunDenied {
			// It is tried all the same in a moment.
			return Progress{Text: why.Sentence}
		}
		return waits("%s %s", why.Sentence, why.Message)
	case view.Progressing, view.Deleting:
	}
	return Progress{Text: strings.TrimPrefix(running(hr)+" ", ": ")}
}

// suspensionProgress is done if no action is announced. None is announced later: the announcement of an
// action is refused if the HelmRelease has changed since it was read.
func suspensionProgress(hr *helmv2.HelmRelease, now time.Time) Progress {
	s := release.SuspensionOf(hr.Spec.Suspend, hr.Annotations, now)
	switch {
	case !s.Active:
		return Progress{Done: true, Failed: true, Text: hr.Namespace + "/" + hr.Name + " is not suspended: another client has removed the annotation, or its time is over"}
	case status.Announced(hr.Status) != "":
		return Progress{Text: "waiting for the running action to end" + running(hr)}
	}
	text := fmt.Sprintf("%s/%s is suspended: %s.", hr.Namespace, hr.Name, s.Why)
	if !s.BySpec {
		text += fmt.Sprintf(" flux resume does not end it: kubectl pintle resume %s -n %s does.", hr.Name, hr.Namespace)
	}
	return Progress{Done: true, Text: text}
}

// rollbackProgress is done if condition RolledBack is True or False.
func rollbackProgress(hr *helmv2.HelmRelease, _ time.Time) Progress {
	c := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionRolledBack)
	if c != nil && c.Status == metav1.ConditionUnknown && c.Reason != helmv2.ReasonProgressing {
		return waits("%s/%s waits (%s): %s", hr.Namespace, hr.Name, c.Reason, c.Message)
	}
	if c == nil || c.Status == metav1.ConditionUnknown || apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.ConditionReconciling) && c.Status == metav1.ConditionTrue {
		return Progress{Text: "waiting for the rollback" + running(hr)}
	}
	return Progress{Done: true, Failed: c.Status == metav1.ConditionFalse, Text: fmt.Sprintf("%s/%s: %s", hr.Namespace, hr.Name, c.Message)}
}

// testProgress is done if the tests of the newest revision have run since before, and have ended.
func testProgress(before, hr *helmv2.HelmRelease, token string) Progress {
	result := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionTestSuccess)
	switch {
	case release.RequestsOf(hr.Annotations).TestHandled != token:
		return Progress{Text: "waiting until the tests can run" + running(hr)}
	case apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.ConditionReconciling), result == nil, !ranSince(before, hr):
		return Progress{Text: "the tests run" + running(hr)}
	}
	return Progress{Done: true, Failed: result.Status != metav1.ConditionTrue, Text: fmt.Sprintf("%s/%s: %s", hr.Namespace, hr.Name, result.Message)}
}

// ranSince reports whether tests of the newest revision have run since before, or there are none.
func ranSince(before, hr *helmv2.HelmRelease) bool {
	started := func(hr *helmv2.HelmRelease) []string {
		if len(hr.Status.History) == 0 {
			return nil
		}
		var all []string
		hooks, _ := hr.Status.History[0].GetTestHooks()
		for name, hook := range hooks {
			all = append(all, fmt.Sprint(hr.Status.History[0].Version, name, hook.LastStarted.Unix()))
		}
		slices.Sort(all)
		return all
	}
	now := started(hr)
	return len(now) == 0 || !slices.Equal(started(before), now)
}
