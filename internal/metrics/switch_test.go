// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// TestSwitch: a process has series about a switch only if it looks for other controllers, or
// observes. Each HelmRelease has one result, until it is forgotten.
func TestSwitch(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	m, err := New(registry)
	if err != nil {
		t.Fatal(err)
	}
	const release, standby = "pintle_observed_release name=web namespace=prod result=", "pintle_standby"
	series := func(want map[string]float64) {
		t.Helper()
		got := map[string]float64{}
		for name, value := range gather(t, registry) {
			if name == standby || len(name) > len(release) && name[:len(release)] == release {
				got[name] = value
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	web := types.NamespacedName{Namespace: "prod", Name: "web"}
	series(map[string]float64{})
	m.Switch.Standby(true)
	m.Switch.Observed(web, "WouldUpgrade")
	series(map[string]float64{standby: 1, release + "WouldUpgrade": 1})
	m.Switch.Standby(false)
	m.Switch.Observed(web, "NothingToDo")
	series(map[string]float64{standby: 0, release + "NothingToDo": 1})
	m.Forget(web)
	series(map[string]float64{standby: 0})
}
