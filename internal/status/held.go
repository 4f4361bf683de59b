// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// running begins what runningMessage says of every action.
const running = "Running '"

// Announced returns what is announced on a HelmRelease and may run at the moment;
// empty for nothing. That something is downloaded or tried later is none. The
// reference announces in the same words.
func Announced(status helmv2.HelmReleaseStatus) string {
	c := apimeta.FindStatusCondition(status.Conditions, helmv2.ConditionReconciling)
	if c == nil || c.Status != metav1.ConditionTrue || c.Reason != helmv2.ReasonProgressing || !strings.HasPrefix(c.Message, running) {
		return ""
	}
	return c.Message
}

// held says which Operation Helm waits for. What is said of the release still
// holds. An action that was announced by a process that died does not run, and
// the Operation may be waiting for just that.
func held(hr *helmv2.HelmRelease, d release.Decision, a release.Wait, in release.Input) Report {
	status := *hr.Status.DeepCopy()
	acknowledge(hr, &status)
	c := conditionsOf(hr, &status, hr.Generation, in.Now)
	c.set(helmv2.ConditionHeld, metav1.ConditionTrue, a.For, d.Why)
	if c.index(helmv2.ConditionReady) < 0 {
		c.set(helmv2.ConditionReady, metav1.ConditionUnknown, helmv2.ReasonProgressing, d.Why)
	}
	switch {
	case in.Desired.Suspended:
		c.suspension(in.Desired.Suspension)
	default:
		c.remove(helmv2.ConditionSuspended)
	}
	if Announced(status) != "" || hr.Status.ObservedGeneration != hr.Generation {
		c.set(helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressingWithRetry, d.Why)
		c.remove(helmv2.ConditionStalled)
	}
	status.Conditions = c.list
	return Report{Status: status, Retry: release.After(a.After)}
}
