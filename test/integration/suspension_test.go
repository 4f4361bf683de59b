// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestSuspendedBySpec: suspending and resuming have one event each, and no condition, which
// helm-controller would keep.
func TestSuspendedBySpec(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	hr := w.release("app", nil)
	w.untilReady(hr)
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true })
	w.untilEvent(hr, "Normal", helmv2.ReasonSuspended, "spec.suspend is set", "is left alone")
	w.untilObserved(hr)
	if c := condition(hr, helmv2.ConditionSuspended); c.Type != "" {
		t.Errorf("condition %+v", c)
	}
	if w.hasEvent(hr, "Normal", helmv2.EventReasonResumed) {
		t.Error("it was resumed")
	}
	w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = false })
	w.untilEvent(hr, "Normal", helmv2.EventReasonResumed, "is resumed")
}
