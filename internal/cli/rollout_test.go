// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import "testing"

// TestRollout: waves are shown with what their releases do, and resumed.
func TestRollout(t *testing.T) {
	w := newWorld(t, "rollout.yaml")
	w.golden("rollout", "rollout", "rollout -n apps fleet", "rollout -A -o wide", "rollout -n apps releasepolicy/fleet", "rollout clusterreleasepolicy/fleet -o yaml",
		"rollout resume ClusterReleasePolicy/fleet", "rollout clusterreleasepolicy/fleet", "policies -n apps -o wide")
	w.golden("rollout-errors", "rollout -n apps plain", "rollout resume missing", "rollout resume", "rollout deployment/fleet", "rollout -n other")
	w.forbidden["OCIRepository"], w.forbidden["ClusterReleasePolicy"] = true, true
	w.golden("rollout-forbidden", "rollout -n apps")
}
