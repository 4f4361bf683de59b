// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// begin begins the turn of a reconciliation with a key such as "a" or "a/web", and requires that it
// is one.
func begin(t *testing.T, turns *Turns, key string) *Turn {
	t.Helper()
	namespace, name, _ := strings.Cut(key, "/")
	turn, err := turns.Begin(t.Context(), types.NamespacedName{Namespace: namespace, Name: name})
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
		turns := NewTurns(TurnOptions{Slots: 2, Enqueue: func(types.NamespacedName) {}, Now: time.Now})
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
			slow = append(slow, within("a", end*time.Second, end*time.Second+patience))
		}
		// One namespace has released six slots. The next ones are kept.
		slow = append(slow, within("a", 15*time.Second, 20*time.Second))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := turns.Begin(ctx, types.NamespacedName{Namespace: "b"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("one too many: %v", err)
		}
		slow[0].End()
		// Its place is taken within a second, by one that has a slot.
		begun = time.Now()
		last := within("b", 0, TurnRetry)
		for _, turn := range append(slow[1:], last) {
			turn.End()
		}
		time.Sleep(time.Hour)
		if turns.slots.Used() != 0 || turns.all != 0 || len(turns.waiting) != 0 {
			t.Errorf("%d slots are used, %d wait: %v", turns.slots.Used(), turns.all, turns.waiting)
		}
	})
}

// TestRemote: reconciliations that read other clusters occupy no slots, not even for a moment, and
// their number is limited, in a namespace and in total.
func TestRemote(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(TurnOptions{Slots: 2, Enqueue: func(types.NamespacedName) {}, Now: time.Now})
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
		if took := time.Since(begun); took > 0 {
			t.Errorf("a slot was free after %s", took)
		}
		if used := turns.slots.Used(); used != 0 || len(waiting) >= turns.Goroutines() || turns.Goroutines() != 14 {
			t.Errorf("%d slots are used, %d of %d wait", used, len(waiting), turns.Goroutines())
		}
		for _, turn := range waiting {
			turn.End()
		}
		if !try("a") {
			t.Error("it is rejected after the end of the others")
		}
		waiting[len(waiting)-1].End()
		time.Sleep(time.Hour)
		if turns.slots.Used() != 0 || turns.all != 0 || len(turns.waiting) != 0 {
			t.Errorf("%d slots are used, %d wait: %v", turns.slots.Used(), turns.all, turns.waiting)
		}
	})
}

// TestRejected: at the end of each reconciliation that has released its slot, a rejected one is
// enqueued, of the namespace with the fewest that wait.
func TestRejected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var enqueued []string
		turns := NewTurns(TurnOptions{Slots: 1, Enqueue: func(key types.NamespacedName) { enqueued = append(enqueued, key.String()) }, Now: time.Now})
		waiting := map[string]*Turn{}
		remote := func(want bool, keys ...string) {
			t.Helper()
			for _, key := range keys {
				turn := begin(t, turns, key)
				if got := turn.Remote(); got != want {
					t.Errorf("%s: %t", key, got)
				}
				if waiting[key] = turn; !want {
					turn.End()
				}
			}
		}
		end := func(key, want string) {
			t.Helper()
			enqueued = nil
			if waiting[key].End(); strings.Join(enqueued, " ") != want {
				t.Errorf("the end of %s enqueues %q, want %q", key, enqueued, want)
			}
		}
		remote(true, "a/1", "a/2", "a/3", "b/1", "b/2", "c/1")
		remote(false, "a/4", "a/5", "b/3", "a/4", "c/2")
		end("a/1", "c/2")
		remote(true, "c/2")
		end("a/2", "a/4")
		remote(true, "a/4")
		end("b/1", "b/3")
		remote(true, "c/3")
		end("a/3", "a/5")
		remote(true, "a/6")
		remote(false, "b/3", "a/7")
		end("c/1", "b/3")
		// The next one is tried again before it is enqueued.
		remote(true, "a/7")
		end("a/4", "")
		begin(t, turns, "a/8").End()
		if len(turns.rejected) != 0 || len(enqueued) != 0 {
			t.Errorf("rejected: %v, enqueued: %v", turns.rejected, enqueued)
		}
	})
}
