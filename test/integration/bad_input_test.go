// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestArtifactServerDown: an artifact server that fails is reported, and the release recovers after
// the server does.
func TestArtifactServerDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// A version that no other test has made the controller keep.
	w.publish("away", "5.0.3", configMapChart(t, "5.0.3"))
	w.setAnswer(func(rw http.ResponseWriter, _ *http.Request) {
		http.Error(rw, "no", http.StatusServiceUnavailable)
	})
	hr := w.release("away", nil)
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonArtifactFailed, "503", "away-5.0.3.tgz")
	w.setAnswer(nil)
	// No event reports the recovery, so the back-off has to find it.
	w.untilReady(hr)
}
