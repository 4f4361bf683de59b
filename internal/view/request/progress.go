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
	"github.com/pintle-dev/pintle/internal/view"
)

// Progress is how far a request is.
type Progress struct {
	// Done is true if the request was carried out, or refused.
	Done bool
	// Failed is true if it was refused or has failed. Only if Done.
	Failed bool
	// Text is one line for users.
	Text string
}

// Progress returns how far a request is, from the present HelmRelease.
func (r Request) Progress(hr *helmv2.HelmRelease, now time.Time) Progress {
	if hr.Status.LastHandledReconcileAt != r.token {
		if hr.Annotations[helmv2.AnnotationReconcileRequest] != r.token {
			return Progress{Done: true, Failed: true, Text: "another request has replaced this one; nothing else was changed"}
		}
		return Progress{Text: "waiting for the controller" + running(hr)}
	}
	return r.done(hr, now)
}

// running returns what runs in the meantime.
func running(hr *helmv2.HelmRelease) string {
	if c := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReconciling); c != nil && c.Status == metav1.ConditionTrue {
		return ": " + c.Message
	}
	return ""
}

// stateProgress is done if the release is ready, stalled or failing. A release that waits may become
// ready.
func stateProgress(hr *helmv2.HelmRelease, now time.Time) Progress {
	none := func(string, string) *helmv2.HelmRelease { return nil }
	r := view.ReleaseOf(hr, none, now)
	name := hr.Namespace + "/" + hr.Name
	switch r.State {
	case view.Ready:
		return Progress{Done: true, Text: fmt.Sprintf("%s is ready: %s", name, r.Message)}
	case view.Stalled, view.Failing:
		return Progress{Done: true, Failed: true, Text: fmt.Sprintf("%s is not ready (%s): %s", name, r.Reason, r.Message)}
	case view.Suspended:
		return Progress{Done: true, Failed: true, Text: name + " is suspended: " + r.WaitingFor}
	case view.Held:
		return Progress{Done: true, Text: fmt.Sprintf("%s is held at revision %s", name, hr.Annotations[helmv2.AnnotationRollbackTo])}
	case view.Waiting:
		return Progress{Text: fmt.Sprintf("waits (%s) for: %s", r.Reason, r.WaitingFor)}
	case view.Progressing, view.Deleting:
	}
	return Progress{Text: strings.TrimPrefix(running(hr)+" ", ": ")}
}

// suspensionProgress is done if condition Suspended is True.
func suspensionProgress(hr *helmv2.HelmRelease, now time.Time) Progress {
	if view.StateOf(hr, now) != view.Suspended {
		return Progress{Done: true, Failed: true, Text: hr.Namespace + "/" + hr.Name + " is not suspended: another client has removed the annotation, or its time is over"}
	}
	c := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionSuspended)
	if c == nil || c.Status != metav1.ConditionTrue {
		return Progress{Text: "waiting for the running action to end" + running(hr)}
	}
	return Progress{Done: true, Text: fmt.Sprintf("%s/%s is suspended: %s", hr.Namespace, hr.Name, c.Message)}
}

// rollbackProgress is done if condition RolledBack is True or False.
func rollbackProgress(hr *helmv2.HelmRelease, _ time.Time) Progress {
	c := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionRolledBack)
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
