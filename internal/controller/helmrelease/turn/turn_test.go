// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// begin begins a turn, and requires that it is one.
func begin(t *testing.T, turns *Turns, namespace string) *Turn {
	t.Helper()
	turn, err := turns.Begin(t.Context(), namespace)
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

// TestLocal: reconciliations of the own cluster keep their slots for five seconds at most, as long as
// few have released theirs.
func TestLocal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := New(2, time.Now)
		begun := time.Now()
		within := func(namespace string, least, most time.Duration) *Turn {
			t.Helper()
			turn := begin(t, turns, namespace)
			if took := time.Since(begun); took < least || took > most {
				t.Errorf("%s: it took %s", namespace, took)
			}
			return turn
		}
		quick := within("a", 0, 0)
		slow := []*Turn{within("a", 0, 0)}
		time.Sleep(time.Second)
		quick.End()
		within("b", time.Second, time.Second).End()
		for _, end := range []time.Duration{1, 5, 6, 10, 11, 15} {
			slow = append(slow, within("a", end*time.Second, end*time.Second+ownPatience))
		}
		// One namespace has released six slots. The next ones are kept.
		slow = append(slow, within("a", 15*time.Second, 20*time.Second))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := turns.Begin(ctx, "b"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("one too many: %v", err)
		}
		slow[0].End()
		// Its place is taken within a second, by one that has a slot.
		begun = time.Now()
		last := within("b", 0, Retry)
		for _, turn := range append(slow[1:], last) {
			turn.End()
		}
		time.Sleep(time.Hour)
		if turns.slots.Used() != 0 || turns.all != 0 || len(turns.waiting) != 0 {
			t.Errorf("%d slots are used, %d wait: %v", turns.slots.Used(), turns.all, turns.waiting)
		}
	})
}

// TestRemote: reconciliations that wait for other clusters occupy no slots, and their number is
// limited, in a namespace and in total.
func TestRemote(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := New(2, time.Now)
		begun := time.Now()
		var waiting []*Turn
		try := func(namespace string) bool {
			turn := begin(t, turns, namespace)
			if !turn.Remote() {
				turn.End()
				return false
			}
			waiting = append(waiting, turn)
			return true
		}
		for i, tc := range []struct {
			namespace string
			want      bool
		}{
			{"a", true},
			{"a", true},
			{"a", true},
			{"a", true},
			{"a", true},
			{"a", true},
			{"a", false},
			{"b", true},
			{"b", true},
			{"b", true},
			{"b", true},
			{"b", true},
			{"b", true},
			{"c", false},
		} {
			if got := try(tc.namespace); got != tc.want {
				t.Errorf("%d: %s: %t", i, tc.namespace, got)
			}
		}
		if took := time.Since(begun); took > 7*patience {
			t.Errorf("it took %s", took)
		}
		time.Sleep(patience)
		synctest.Wait()
		if used := turns.slots.Used(); used != 0 || len(waiting) >= turns.Goroutines() || turns.Goroutines() != 14 {
			t.Errorf("%d slots are used, %d of %d wait", used, len(waiting), turns.Goroutines())
		}
		for _, turn := range waiting {
			turn.End()
		}
		if !try("a") || turns.slots.Used() != 1 {
			t.Errorf("after the end: %d slots are used", turns.slots.Used())
		}
		waiting[len(waiting)-1].End()
		time.Sleep(time.Hour)
		if turns.slots.Used() != 0 || turns.all != 0 || len(turns.waiting) != 0 {
			t.Errorf("%d slots are used, %d wait: %v", turns.slots.Used(), turns.all, turns.waiting)
		}
	})
}
