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

// TestRenderingIsDue: a chart is rendered once more only if it may come out otherwise.
func TestRenderingIsDue(t *testing.T) {
	t.Parallel()
	met := time.Unix(1000, 0)
	for name, tc := range map[string]struct {
		reason string
		one    rendering
		offers string
		asked  bool
		after  time.Duration
		want   bool
	}{
		"JustMet":    {reason: "it was rendered lately", one: rendering{at: met}, offers: "a", after: time.Minute},
		"Asked":      {reason: "it is requested", one: rendering{at: met}, offers: "a", asked: true, want: true},
		"MetLongAgo": {reason: "the capabilities at its rendering are not known", one: rendering{at: met}, offers: "a", after: 5 * time.Minute, want: true},
		"Same": {
			reason: "it asks for nothing else", offers: "a", after: time.Hour, asked: true,
			one: rendering{at: met, capabilities: "a", last: release.Rerendering{Reads: true}},
		},
		"Offered": {
			reason: "what it asks for has changed", offers: "b", want: true,
			one: rendering{at: met, capabilities: "a", last: release.Rerendering{Reads: true}},
		},
		"LooksUp": {
			reason: "only rendering tells", offers: "a", after: 5 * time.Minute, want: true,
			one: rendering{at: met, capabilities: "a", last: release.Rerendering{Reads: true, Lookup: true}},
		},
		"LookedUp": {
			reason: "but not at every reconciliation", offers: "a", after: time.Minute,
			one: rendering{at: met, capabilities: "a", last: release.Rerendering{Reads: true, Lookup: true}},
		},
		"Over": {reason: "it does not read the cluster", one: rendering{at: met, over: true}, offers: "b", asked: true, after: time.Hour},
	} {
		if got := tc.one.isDue(tc.offers, 10*time.Minute, tc.asked, met.Add(tc.after)); got != tc.want {
			t.Errorf("%s: %s: due is %t", name, tc.reason, got)
		}
	}
}

// TestRenderingComesToAnEnd: a chart that is never rendered the same is upgraded a few
// times, and not again before its inputs change.
func TestRenderingComesToAnEnd(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	one := &rendering{}
	changed := release.Rerendering{Reads: true, Changed: true}
	for i := range maxRerendered {
		one.begin(string(rune('a'+i)), "inputs", now)
		if one.learn(changed, true, now); one.unstable {
			t.Fatalf("unstable after %d times", i+1)
		}
	}
	one.begin("z", "inputs", now)
	if one.learn(changed, true, now); !one.unstable || one.isDue("other", 0, true, now) {
		t.Error("it goes on for ever")
	}
	if one.begin("z", "others", now); one.unstable || len(one.changes) > 0 {
		t.Error("other inputs are not tried")
	}
	for range 2 * maxRerendered {
		if one.learn(changed, false, now); one.unstable {
			t.Fatal("without upgrades it is called unstable")
		}
	}
	for i := range 2 * maxRerendered {
		if one.learn(changed, true, now.Add(time.Duration(i)*rerenderedWithin)); one.unstable {
			t.Fatal("once in a while is too often")
		}
	}
	if one.learn(release.Rerendering{Reads: true, Unstable: true}, true, now); !one.unstable {
		t.Error("two renderings that differ are not enough")
	}
}

// TestRenderedOtherwise: mode enabled upgrades, warn says so, and a chart that does
// not read the cluster is not rendered twice.
func TestRenderedOtherwise(t *testing.T) {
	for mode, upgrades := range map[helmv2.DriftDetectionMode]bool{helmv2.DriftDetectionEnabled: true, helmv2.DriftDetectionWarn: false} {
		t.Run(string(mode), func(t *testing.T) {
			s := &stub{mode: mode, offers: "a", rendered: release.Rerendering{Reads: true, Changed: true, Capabilities: "a"}}
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
			if c := hr.Status.Conditions; !hasCondition(c, helmv2.ConditionDrifted, renderedOtherwise) {
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
		r.memory.With(reader, func(m *memory) { m.rendering.begin("2", "other", time.Now()) })
		time.Sleep(capabilitiesDelay)
		synctest.Wait()
		if len(enqueued) != 1 || enqueued[0] != reader {
			t.Errorf("enqueued: %v", enqueued)
		}
	})
}
