// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestSettling: who acts while a commit arrives acts twice.
func TestSettling(t *testing.T) {
	burst := func(first, last time.Duration) *Debounce {
		return &Debounce{First: testNow.Add(-first), Last: testNow.Add(-last)}
	}
	working := burst(3*time.Second, 2*time.Second)
	working.Applying = true
	stuck := burst(debounceLimit, time.Minute)
	stuck.Applying = true
	changed := func(in *Input) { in.Desired.ConfigDigest = "sha256:new" }
	for name, tc := range map[string]struct {
		reason string
		burst  *Debounce
		change func(*Input)
		rule   string
		after  time.Duration
		ask    bool
	}{
		"Nothing":     {"Without a burst there is nothing to wait for.", nil, changed, "OutOfSync", 0, false},
		"JustNow":     {"The rest is likely to come.", burst(0, 0), changed, "Debounce", debounceQuiet, false},
		"AMomentAgo":  {"And may take a while.", burst(2*time.Second, time.Second), changed, "Debounce", debounceQuiet - time.Second, false},
		"Quiet":       {"Long enough.", burst(3*time.Second, debounceQuiet), changed, "OutOfSync", 0, true},
		"Applying":    {"Its applier knows better.", working, changed, "Debounce", debouncePoll, true},
		"Bounded":     {"What never ends is not waited for.", burst(debounceLimit, 0), changed, "OutOfSync", 0, false},
		"AlmostBound": {"Nor a moment longer than that.", burst(debounceLimit-time.Second, 0), changed, "Debounce", time.Second, false},
		"StuckThere":  {"Whatever the applier says.", stuck, changed, "OutOfSync", 0, false},
		"NothingToDo": {"What is in sync does not wait.", burst(0, 0), func(*Input) {}, "InSync", 0, false},
		"Install": {"A first install would be followed by an upgrade.", burst(0, 0), func(in *Input) {
			in.Observed.Revisions, in.Recorded.History = nil, nil
		}, "Debounce", debounceQuiet, false},
		"Forced": {"Who asks for it gets it.", burst(0, 0), func(in *Input) {
			in.Desired.Requests = Requests{Reconcile: "now", Force: "now"}
		}, "Forced", 0, false},
		"Deleted": {"What goes need not be coherent.", burst(0, 0), func(in *Input) { in.Desired.Deleted = true }, "Delete", 0, false},
		"Unlock":  {"A lock is taken off at once.", burst(0, 0), func(in *Input) { newestIs(in, helmv2.StatusPendingUpgrade) }, "Unlock", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := inSyncInput()
			tc.change(&in)
			in.Observed.Debounce = tc.burst
			got := Decide(in)
			if got.Rule != tc.rule {
				t.Errorf("%s %s applies, want %s", tc.reason, got.Rule, tc.rule)
			}
			if wait, ok := got.Action.(Wait); ok && (wait.After != tc.after || !wait.Brief) {
				t.Errorf("%s It waits %+v, want %s, briefly", tc.reason, wait, tc.after)
			}
			if ask := MustCheckApplier(in); ask != tc.ask {
				t.Errorf("%s The applier is asked: %t, want %t", tc.reason, ask, tc.ask)
			}
		})
	}
}
