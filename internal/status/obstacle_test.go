// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestObstacleIsNotLocked: an obstacle removes Locked, and is retried with back-off.
func TestObstacleIsNotLocked(t *testing.T) {
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	hr.Status.Conditions = []metav1.Condition{{Type: helmv2.ConditionLocked, Status: metav1.ConditionTrue, Reason: helmv2.ReasonOperationRunning, Message: "it runs"}}
	d := release.Decision{Action: release.Wait{Obstacle: helmv2.ReasonTargetUnavailable}, Why: "no such namespace"}
	got := Settled(hr, d, release.Input{Now: testNow})
	for _, c := range got.Status.Conditions {
		if c.Type == helmv2.ConditionLocked {
			t.Errorf("Locked stays: %+v", c)
		}
	}
	if len(hr.Status.Conditions) != 1 || hr.Status.Conditions[0].Type != helmv2.ConditionLocked {
		t.Error("the argument was changed")
	}
	if !got.Retry.IsBackoff() || len(got.Events) != 1 || got.Events[0].Reason != helmv2.ReasonTargetUnavailable {
		t.Errorf("retry %s, events %+v", got.Retry, got.Events)
	}
}
