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

// TestLocal: reconciliations of the own cluster keep their slots until they end.
func TestLocal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := New(2, time.Now)
		first, second := begin(t, turns, "a"), begin(t, turns, "a")
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := turns.Begin(ctx, "b"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a third one: %v", err)
		}
		first.End()
		begin(t, turns, "b").End()
		second.End()
		if turns.slots.Used() != 0 {
			t.Errorf("%d slots are used", turns.slots.Used())
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
		if turns.slots.Used() != 0 || turns.all != 0 || len(turns.remote) != 0 {
			t.Errorf("%d slots are used, %d wait: %v", turns.slots.Used(), turns.all, turns.remote)
		}
	})
}
