// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/state"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestRenderedOtherwise: mode enabled upgrades, warn says so, and a chart that does
// not read the cluster is not rendered twice.
func TestRenderedOtherwise(t *testing.T) {
	for mode, upgrades := range map[helmv2.DriftDetectionMode]bool{helmv2.DriftDetectionEnabled: true, helmv2.DriftDetectionWarn: false} {
		t.Run(string(mode), func(t *testing.T) {
			s := &stub{mode: mode, offers: "a", rendered: release.RenderResult{Reads: true, Changed: true, Capabilities: "a"}}
			r := testReconciler(t, s)
			now := time.Now()
			r.now = func() time.Time { return now }
			inSync(t, r, s)
			if reconcileOnce(t, r); s.renderings != 0 || s.begun != nil {
				t.Fatal("it is rendered when it is met")
			}
			now = now.Add(time.Minute)
			reconcileOnce(t, r)
			if s.renderings != 1 || (s.begun != nil) != upgrades {
				t.Errorf("rendered %d times, upgraded: %t", s.renderings, s.begun != nil)
			}
			if upgrades {
				return
			}
			hr := &helmv2.HelmRelease{}
			if err := r.client.Get(t.Context(), key, hr); err != nil {
				t.Fatal(err)
			}
			if c := hr.Status.Conditions; !hasCondition(c, helmv2.ConditionDrifted, "the chart reads the cluster, and is rendered otherwise now") {
				t.Errorf("nothing is said: %+v", c)
			}
		})
	}
	s := &stub{mode: helmv2.DriftDetectionEnabled, offers: "a"}
	r := testReconciler(t, s)
	now := time.Now()
	r.now = func() time.Time { return now }
	inSync(t, r, s)
	for range 5 {
		reconcileOnce(t, r)
		now = now.Add(time.Hour)
		s.offers += "a"
	}
	if s.renderings != 1 {
		t.Errorf("rendered %d times", s.renderings)
	}
}

// TestCapabilitiesEnqueueReaders: once, when no more changes come, and only the readers.
func TestCapabilitiesEnqueueReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var enqueued []types.NamespacedName
		r := readers{memory: &state.Table[memory]{}, enqueue: func(key types.NamespacedName) { enqueued = append(enqueued, key) }}
		reader, other := types.NamespacedName{Name: "reader"}, types.NamespacedName{Name: "other"}
		r.memory.With(other, func(*memory) {})
		r.memory.With(reader, func(m *memory) { m.readsCluster = true })
		for range 50 {
			r.capabilitiesChanged()
			time.Sleep(capabilitiesDelay / 2)
		}
		time.Sleep(capabilitiesDelay / 2)
		// At this very moment a reconciliation begins with other inputs.
		r.memory.With(reader, func(m *memory) { m.renderings = m.renderings.Begin("2", "other", time.Now()) })
		time.Sleep(capabilitiesDelay)
		synctest.Wait()
		if len(enqueued) != 1 || enqueued[0] != reader {
			t.Errorf("enqueued: %v", enqueued)
		}
	})
}
