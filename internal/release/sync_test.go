// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"
	"time"
)

// TestCachedOnlyIfFree: a release is observed while an action runs, and while an Operation has the
// lock of the release or waits for it.
func TestCachedOnlyIfFree(t *testing.T) {
	for name, edit := range map[string]func(*Observed){
		"Free":      func(*Observed) {},
		"Running":   func(have *Observed) { have.Running = &Running{} },
		"Locked":    func(have *Observed) { have.LockHolder = &Operation{} },
		"Awaited":   func(have *Observed) { have.WaitingOperation = &Operation{} },
		"NotSynced": func(have *Observed) { have.Synced = nil },
	} {
		in := Input{Now: testNow}
		in.Observed.Synced = &Synced{Until: testNow.Add(time.Minute)}
		edit(&in.Observed)
		if left := CachedFor(in); (left > 0) != (name == "Free") {
			t.Errorf("%s: cached for %s", name, left)
		}
	}
}
