// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// Runbook is the section of the documentation about the reasons of conditions.
const Runbook = "docs/spec/problems.md#reasons"

// Documentation is the address of the documentation.
const Documentation = "https://github.com/pintle-dev/pintle/blob/main/"

// sentence returns the state of a release in one sentence.
func sentence(hr *helmv2.HelmRelease, r Release, now time.Time) string {
	name := r.Namespace + "/" + r.Name
	switch r.State {
	case Suspended:
		return fmt.Sprintf("%s is suspended: %s.", name, release.SuspensionOf(hr.Spec.Suspend, hr.Annotations, now).Why)
	case Deleting:
		return name + " is being deleted, and its release uninstalled."
	case Stalled:
		return fmt.Sprintf("%s is stalled (%s).", name, r.Reason)
	case Failing:
		if r.Failures > 0 {
			return fmt.Sprintf("%s is failing (%s), %s so far.", name, r.Reason, times(r.Failures, "failure"))
		}
		return fmt.Sprintf("%s is failing (%s).", name, r.Reason)
	case Rejected:
		return name + " stays as it is: the plan of its next change is rejected."
	case Waiting:
		return fmt.Sprintf("%s waits (%s) for: %s. What is installed stays.", name, r.Reason, r.WaitingFor)
	case Held:
		held := "revision " + hr.Annotations[helmv2.AnnotationRollbackTo]
		return fmt.Sprintf("%s is held at %s: changes of its spec have no effect.", name, because(held, release.HoldOf(hr.Annotations, now).Reason))
	case Progressing:
		return name + " is being reconciled."
	case Ready:
	}
	text := fmt.Sprintf("%s is ready: %s runs as revision %d.", name, or(r.Chart, "its chart"), r.Revision)
	if r.Drifted == string(metav1.ConditionTrue) {
		text += " Live objects differ from it."
	}
	return text
}

// messageOf returns the message of the condition with the cause of a release's state, and what
// happens next.
func messageOf(hr *helmv2.HelmRelease, state State) string {
	kind := helmv2.ConditionReady
	switch state {
	case Suspended:
		kind = helmv2.ConditionSuspended
	case Held:
		kind = helmv2.ConditionRolledBack
	case Ready, Progressing, Deleting, Stalled, Failing, Rejected, Waiting:
	}
	for _, kind := range []string{kind, helmv2.ConditionReady} {
		if c := apimeta.FindStatusCondition(hr.Status.Conditions, kind); c != nil && c.Message != "" {
			return c.Message
		}
	}
	return ""
}

// commands returns the commands by which a user can end a state.
func commands(r Release) []string {
	name := r.Name + " -n " + r.Namespace
	switch r.State {
	case Suspended:
		return []string{"kubectl pintle resume " + name}
	case Held:
		return []string{"kubectl pintle unhold " + name}
	case Stalled:
		return []string{"kubectl pintle reconcile " + name + " --reset"}
	case Rejected:
		return []string{"kubectl pintle plan " + name}
	case Waiting:
		switch r.Reason {
		case helmv2.ReasonAwaitingApproval:
			return []string{"kubectl pintle plan " + name, "kubectl pintle approve " + name}
		case helmv2.ReasonAwaitingWindow:
			return []string{"kubectl pintle plan " + name, "kubectl pintle override " + name + " --reason '...'"}
		case helmv2.ReasonFrozen:
			return []string{"kubectl pintle plan " + name + " --request", "kubectl pintle override " + name + " --reason '...'"}
		}
	case Ready, Progressing, Deleting, Failing:
	}
	return nil
}

// link returns the address of the section of the documentation about the reason of a release that is
// not ready.
func link(state State) string {
	switch state {
	case Ready, Progressing, Deleting:
		return ""
	case Suspended, Held, Stalled, Failing, Rejected, Waiting:
	}
	return Documentation + Runbook
}

// times returns "1 failure", "2 failures" or "2 retries".
func times(n int64, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case noun == "retry":
		return fmt.Sprintf("%d retries", n)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func or(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}
