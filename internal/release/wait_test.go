// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestDebounce: an install or upgrade waits until the inputs of one commit have arrived.
func TestDebounce(t *testing.T) {
	recent := func(first, last time.Duration) *Debounce {
		return &Debounce{First: testNow.Add(-first), Last: testNow.Add(-last)}
	}
	working := recent(3*time.Second, 2*time.Second)
	working.Applying = true
	stuck := recent(debounceLimit, time.Minute)
	stuck.Applying = true
	changed := func(in *Input) { in.Desired.ConfigDigest = "sha256:new" }
	for name, tc := range map[string]struct {
		reason string
		recent *Debounce
		change func(*Input)
		rule   Rule
		after  time.Duration
		must   bool
	}{
		"Nothing":     {"Without recent changes there is no wait.", nil, changed, "OutOfSync", 0, false},
		"JustNow":     {"More changes are likely.", recent(0, 0), changed, "Debounce", debounceQuiet, false},
		"AMomentAgo":  {"More changes are still likely.", recent(2*time.Second, time.Second), changed, "Debounce", debounceQuiet - time.Second, false},
		"Quiet":       {"The quiet period is over.", recent(3*time.Second, debounceQuiet), changed, "OutOfSync", 0, true},
		"Applying":    {"The applier is still running.", working, changed, "Debounce", debouncePoll, true},
		"Bounded":     {"The wait has a limit.", recent(debounceLimit, 0), changed, "OutOfSync", 0, false},
		"AlmostBound": {"The wait ends at its limit.", recent(debounceLimit-time.Second, 0), changed, "Debounce", time.Second, false},
		"StuckThere":  {"The limit also holds for a running applier.", stuck, changed, "OutOfSync", 0, false},
		"NothingToDo": {"A release in sync does not wait.", recent(0, 0), func(*Input) {}, "InSync", 0, false},
		"Install": {"A first install would be followed by an upgrade.", recent(0, 0), func(in *Input) {
			in.Observed.Revisions, in.Recorded.History = nil, nil
		}, "Debounce", debounceQuiet, false},
		"Forced": {"A forced upgrade does not wait.", recent(0, 0), func(in *Input) {
			in.Desired.Requests = Requests{Reconcile: "now", Force: "now"}
		}, "Forced", 0, false},
		"Deleted": {"A deletion does not wait.", recent(0, 0), func(in *Input) { in.Desired.Deleted = true }, "Delete", 0, false},
		"Unlock":  {"An unlock does not wait.", recent(0, 0), func(in *Input) { newestIs(in, helmv2.StatusPendingUpgrade) }, "Unlock", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := inSyncInput()
			tc.change(&in)
			in.Observed.Debounce = tc.recent
			got := Decide(in)
			if got.Rule != tc.rule {
				t.Errorf("%s %s applies, want %s", tc.reason, got.Rule, tc.rule)
			}
			if wait, ok := got.Action.(Wait); ok && (wait.After != tc.after || !wait.Brief) {
				t.Errorf("%s It waits %+v, want %s, briefly", tc.reason, wait, tc.after)
			}
			if must := MustCheckApplier(in); must != tc.must {
				t.Errorf("%s MustCheckApplier is %t, want %t", tc.reason, must, tc.must)
			}
		})
	}
}
