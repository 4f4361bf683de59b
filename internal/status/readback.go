// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Only the functions of this file read facts from conditions. The facts have no field: the CRD may
// be helm-controller's, and the API server then drops other fields. All but Denied and Baking read messages,
// because reasons are a part of helm-controller's API.

// Each announcement starts with one of these prefixes; see runningMessage. helm-controller's
// announcements start with the first.
const (
	announcesRun    = "Running '"
	announcesResume = "Resuming '"
	// announcesTimeout precedes the timeout of an action.
	announcesTimeout = " with timeout of "
)

// Announced returns the announced action, which may be running: the first sentence of its message.
// It returns the empty string if no action is announced. Other work, such as a download, has the
// same reason, Progressing.
func Announced(status helmv2.HelmReleaseStatus) string {
	c := apimeta.FindStatusCondition(status.Conditions, helmv2.ConditionReconciling)
	if c == nil || c.Status != metav1.ConditionTrue || c.Reason != helmv2.ReasonProgressing {
		return ""
	}
	if !strings.HasPrefix(c.Message, announcesRun) && !strings.HasPrefix(c.Message, announcesResume) {
		return ""
	}
	action, _, _ := strings.Cut(c.Message, ". ")
	return action
}

// TimeLeft returns the time until the timeout of the announced action; false if no action is announced,
// or it has no timeout. It is negative if the action ends its waits already.
func TimeLeft(status helmv2.HelmReleaseStatus, now time.Time) (time.Duration, bool) {
	_, text, _ := strings.Cut(Announced(status), announcesTimeout)
	text, _, _ = strings.Cut(text, ",")
	timeout, err := time.ParseDuration(text)
	if err != nil {
		return 0, false
	}
	started := apimeta.FindStatusCondition(status.Conditions, helmv2.ConditionReconciling).LastTransitionTime
	return started.Add(timeout).Sub(now), true
}

// Denied reports whether dry runs have denied objects of the last install or upgrade that was
// announced, so that it was deferred. It stays true until the action has ended in another way.
func Denied(status helmv2.HelmReleaseStatus) bool {
	c := apimeta.FindStatusCondition(status.Conditions, helmv2.ConditionReleased)
	return c != nil && c.Reason == helmv2.ReasonDryRunDenied && c.ObservedGeneration == status.LastAttemptedGeneration
}

// Baking reports whether a release is watched after its last install or upgrade. It stays true while
// obstacles change Ready.
func Baking(status helmv2.HelmReleaseStatus) bool {
	return apimeta.IsStatusConditionTrue(status.Conditions, helmv2.ConditionBaking)
}

// sameOutage reports whether Ready is about an outage of server. The outage then started at the
// transition time of Ready. Only the message contains the server.
func sameOutage(ready metav1.Condition, server string) bool {
	return ready.Reason == helmv2.ReasonInterrupted && strings.HasPrefix(ready.Message, unavailableMessage(server, ready.LastTransitionTime))
}

// sameDrift reports whether Drifted has the message of a drift already. The error of a failed
// correction may follow it.
func sameDrift(drifted metav1.Condition, message string) bool {
	return drifted.Status == metav1.ConditionTrue && strings.HasPrefix(drifted.Message, storable(message))
}

// withKept returns the message of a release that is held, with the objects that its rollback has
// kept. Only the message of RolledBack has them: an earlier one about the same hold starts with at.
func withKept(message, at string, rolledBack metav1.Condition) string {
	i := strings.LastIndex(rolledBack.Message, "; "+keptObjects)
	if i < 0 || rolledBack.Status != metav1.ConditionTrue || !strings.HasPrefix(rolledBack.Message, at) {
		return message
	}
	return message + rolledBack.Message[i:]
}
