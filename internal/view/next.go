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

// sentence returns the state of a release in one sentence.
func sentence(hr *helmv2.HelmRelease, r Release, now time.Time) string {
	name := r.Namespace + "/" + r.Name
	switch r.State {
	case Suspended:
		return fmt.Sprintf("%s is suspended: %s.", name, release.SuspensionOf(hr.Spec.Suspend, hr.Annotations, now).Why)
	case Deleting:
		return name + " is being deleted, and its release uninstalled."
	case Stalled:
		return fmt.Sprintf("%s is stalled (%s): it is not ready, and nothing is tried until an input changes.", name, r.Reason)
	case Failing:
		if r.Failures > 0 {
			return fmt.Sprintf("%s is failing (%s), %s so far. It is retried.", name, r.Reason, times(r.Failures, "failure"))
		}
		return fmt.Sprintf("%s is failing (%s). It is retried.", name, r.Reason)
	case Waiting:
		return fmt.Sprintf("%s waits (%s) for: %s. What is installed stays.", name, r.Reason, r.WaitingFor)
	case Held:
		return fmt.Sprintf("%s is held at revision %s: changes of its spec have no effect.", name, hr.Annotations[helmv2.AnnotationRollbackTo])
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

// next returns what happens next to a release, and when.
func next(hr *helmv2.HelmRelease, r Release, now time.Time) string {
	switch r.State {
	case Suspended:
		if until := release.SuspensionOf(hr.Spec.Suspend, hr.Annotations, now).Until; !until.IsZero() {
			return "The suspension ends at " + stamp(until) + ". Until then nothing happens."
		}
		return "Nothing, until it is resumed."
	case Deleting:
		return "The uninstall is retried with growing pauses until it succeeds. Then the HelmRelease is gone."
	case Stalled:
		return fmt.Sprintf("The objects are checked every %s. If they become ready, the release is ready. "+
			"There is no other attempt until the spec, the chart or the values change, or the failures are reset.", interval(hr))
	case Failing:
		return retry(hr)
	case Waiting:
		return "It continues by itself as soon as what it waits for is there."
	case Held:
		if until := release.HoldOf(hr.Annotations, now).Until; !until.IsZero() {
			return "The hold ends at " + stamp(until) + ". Then the release is upgraded to its spec."
		}
		return "Nothing, until the annotation " + helmv2.AnnotationRollbackTo + " is removed. Then the release is upgraded to its spec."
	case Progressing:
		return fmt.Sprintf("The running action ends within its timeout of %s for each step.", short(hr.GetTimeout()))
	case Ready:
	}
	return fmt.Sprintf("It is reconciled when an input changes, and every %s.", interval(hr))
}

// retry returns when a failed release is retried.
func retry(hr *helmv2.HelmRelease) string {
	install := hr.Status.LastAttemptedReleaseAction == helmv2.ActionInstall
	pause, limit, used := time.Duration(0), 0, hr.Status.UpgradeFailures
	if install {
		used = hr.Status.InstallFailures
		limit, pause = installRetries(hr)
	} else {
		limit, pause = upgradeRetries(hr)
	}
	released := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReleased)
	switch {
	case released == nil || used == 0:
		return "It is tried again with growing pauses, and at once when an input changes."
	case pause > 0:
		return fmt.Sprintf("It is tried again at about %s, %s after the failure, without a limit.", stamp(released.LastTransitionTime.Add(pause)), short(pause))
	case limit < 0:
		return "It is tried again with growing pauses, without a limit."
	}
	return fmt.Sprintf("It is tried again with growing pauses: %d of %s used. Then the release stalls.", min(used, int64(limit)), times(int64(limit), "retry"))
}

func installRetries(hr *helmv2.HelmRelease) (limit int, pause time.Duration) {
	install := hr.Spec.GetInstall()
	if s := install.Strategy; s != nil && s.Name == helmv2.ActionStrategyRetryOnFailure {
		if s.RetryInterval != nil {
			return 0, s.RetryInterval.Duration
		}
		return 0, helmv2.DefaultRetryInterval
	}
	if install.Remediation != nil {
		limit = install.Remediation.Retries
	}
	return limit, 0
}

func upgradeRetries(hr *helmv2.HelmRelease) (limit int, pause time.Duration) {
	upgrade := hr.Spec.GetUpgrade()
	if s := upgrade.Strategy; s != nil && s.Name == helmv2.ActionStrategyRetryOnFailure {
		if s.RetryInterval != nil {
			return 0, s.RetryInterval.Duration
		}
		return 0, helmv2.DefaultRetryInterval
	}
	if upgrade.Remediation != nil {
		limit = upgrade.Remediation.Retries
	}
	return limit, 0
}

func interval(hr *helmv2.HelmRelease) string { return short(hr.GetInterval()) }

// short returns a duration without zero units: 10m, not 10m0s.
func short(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

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
