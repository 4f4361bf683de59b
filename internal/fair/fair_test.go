// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestNext: the tenant that has used the least goes first.
func TestNext(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	spent := func(used, ago time.Duration, slots int) usage {
		return usage{used: used, at: now.Add(-ago), slots: slots}
	}
	for _, tc := range []struct {
		reason string
		state  state
		// queue has the tenants of requests, as in a+b. The name of a resumed one ends with !.
		queue string
		want  int
	}{
		{"no request", state{size: 1, free: 1}, "", -1},
		{"no free slot", state{size: 1}, "a", -1},
		{"more used than there are", state{size: 1, free: -1}, "a", -1},
		{"equal tenants keep their order", state{size: 1, free: 1}, "b a b", 0},
		{"less usage is first", state{size: 1, free: 1, usages: map[string]usage{"a": spent(2, 0, 0), "b": spent(1, 0, 0)}}, "a a b b", 2},
		{"a tenant without usage is first", state{size: 1, free: 1, usages: map[string]usage{"a": spent(time.Hour, 0, 0)}}, "a a c a", 2},
		{"slots count while they are used", state{size: 2, free: 1, usages: map[string]usage{"a": spent(0, time.Second, 1), "b": spent(time.Millisecond, 0, 0)}}, "a b", 1},
		{"old usage counts less", state{size: 1, free: 1, usages: map[string]usage{"a": spent(10*time.Second, 2*time.Minute, 0), "b": spent(3*time.Second, 0, 0)}}, "b a", 1},
		{"recent usage counts more", state{size: 1, free: 1, usages: map[string]usage{"a": spent(10*time.Second, time.Minute, 0), "b": spent(3*time.Second, 0, 0)}}, "b a", 0},
		{"of two tenants, that with more usage counts", state{size: 1, free: 1, usages: map[string]usage{"a": spent(1, 0, 0), "b": spent(2, 0, 0), "x": spent(3, 0, 0)}}, "a+x b", 1},
		{"of two tenants, the first may be that", state{size: 1, free: 1, usages: map[string]usage{"a": spent(3, 0, 0), "b": spent(2, 0, 0), "x": spent(1, 0, 0)}}, "a+x b", 1},
		{"resumed requests are first", state{size: 1, free: 1, usages: map[string]usage{"a": spent(time.Hour, 0, 0)}}, "b a! b!", 1},
		{
			"the last slot is reserved for others",
			state{size: 2, free: 1, reserve: time.Second, usages: map[string]usage{"a": spent(2*time.Second, 0, 1), "b": spent(time.Second, 0, 0)}},
			"a", -1,
		},
		{
			"others get it",
			state{size: 2, free: 1, reserve: time.Second, usages: map[string]usage{"a": spent(2*time.Second, 0, 1), "b": spent(time.Second, 0, 0)}},
			"a b", 1,
		},
		{
			"not if there are no others",
			state{size: 2, free: 1, reserve: time.Second, usages: map[string]usage{"a": spent(2*time.Second, 0, 1)}},
			"a", 0,
		},
		{
			"not if it is the only one",
			state{size: 1, free: 1, reserve: time.Second, usages: map[string]usage{"a": spent(2*time.Second, 0, 0), "b": spent(0, 0, 1)}},
			"a", 0,
		},
		{
			"not if there are more",
			state{size: 2, free: 2, reserve: time.Second, usages: map[string]usage{"a": spent(2*time.Second, 0, 0), "b": spent(0, 0, 0)}},
			"a", 0,
		},
		{
			"not without a reserve",
			state{size: 2, free: 1, usages: map[string]usage{"a": spent(2*time.Second, 0, 1), "b": spent(time.Second, 0, 0)}},
			"a", 0,
		},
		{
			"not for those who resume",
			state{size: 2, free: 1, reserve: time.Second, usages: map[string]usage{"a": spent(2*time.Second, 0, 1), "b": spent(time.Second, 0, 0)}},
			"a!", 0,
		},
	} {
		for name := range strings.FieldsSeq(tc.queue) {
			tenant, resumed := strings.CutSuffix(name, "!")
			all := strings.Split(tenant, "+")
			tc.state.queue = append(tc.state.queue, request{tenant: all[0], resumed: resumed, others: all[1:]})
		}
		if got := tc.state.next(now); got != tc.want {
			t.Errorf("%s: got %d, want %d", tc.reason, got, tc.want)
		}
	}
}

// TestUsage: usage decays by half in a minute, also that of a slot that is held.
func TestUsage(t *testing.T) {
	t.Parallel()
	begin := time.Unix(0, 0)
	for _, tc := range []struct {
		reason string
		usage  usage
		after  time.Duration
		want   time.Duration
	}{
		{"nothing", usage{}, time.Hour, 0},
		{"a minute halves it", usage{used: 8 * time.Second}, time.Minute, 4 * time.Second},
		{"a slot counts", usage{slots: 1}, time.Second, 994 * time.Millisecond},
		{"two slots count twice", usage{slots: 2}, time.Second, 1988 * time.Millisecond},
		{"for ever, it is no more than this", usage{slots: 1}, 24 * time.Hour, 86562 * time.Millisecond},
		{"the clock goes back", usage{used: time.Second, slots: 1}, -time.Hour, time.Second},
	} {
		tc.usage.at = begin
		got := tc.usage.until(begin.Add(tc.after))
		if got.used.Round(time.Millisecond) != tc.want || !got.at.Equal(begin.Add(tc.after)) || got.slots != tc.usage.slots {
			t.Errorf("%s: got %+v", tc.reason, got)
		}
	}
}

// TestShare: a tenant whose requests take long delays the requests of others by one of its own.
func TestShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Size: 1, Now: time.Now})
		begin := time.Now()
		ends := make(chan string, 100)
		for range 10 {
			go func() {
				if s.Acquire(t.Context(), "hog") != nil {
					return
				}
				defer s.Release("hog")
				time.Sleep(5 * time.Second)
				ends <- fmt.Sprintf("hog %s", time.Since(begin))
			}()
		}
		synctest.Wait()
		for range 3 {
			time.Sleep(7 * time.Second)
			asked := time.Now()
			if err := s.Acquire(t.Context(), "small"); err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(asked); waited > 5*time.Second {
				t.Errorf("a small request has waited for %s", waited)
			}
			time.Sleep(10 * time.Millisecond)
			s.Release("small")
		}
		time.Sleep(time.Minute)
		if len(ends) != 10 || s.Used() != 0 {
			t.Errorf("%d long requests have ended, %d slots are used", len(ends), s.Used())
		}
	})
}

// TestSharedCluster: releases of many namespaces that use one cluster share its part of the slots.
func TestSharedCluster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Size: 1, Now: time.Now})
		for i := range 10 {
			go func() {
				tenant := fmt.Sprint("hog", i)
				if s.Acquire(t.Context(), tenant, "cluster") != nil {
					return
				}
				time.Sleep(5 * time.Second)
				s.Release(tenant, "cluster")
			}()
		}
		time.Sleep(6 * time.Second)
		for range 2 {
			// The namespace has used a slot itself, and the others have not.
			asked := time.Now()
			if err := s.Acquire(t.Context(), "small"); err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(asked); waited > 5*time.Second {
				t.Errorf("it has waited for %s", waited)
			}
			time.Sleep(time.Millisecond)
			s.Release("small")
		}
		time.Sleep(time.Hour)
		if s.Used() != 0 || s.state.usages["cluster"].slots != 0 {
			t.Errorf("%d slots are used: %v", s.Used(), s.state.usages)
		}
	})
}

// TestForgets: tenants without recent usage are not remembered.
func TestForgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Size: 3, Now: time.Now})
		use := func(tenant string, d time.Duration) {
			if err := s.Acquire(t.Context(), tenant); err != nil {
				t.Fatal(err)
			}
			time.Sleep(d)
			s.Release(tenant)
		}
		use("a", time.Second)
		use("b", time.Second)
		use("", time.Second)
		if len(s.state.usages) != 2 {
			t.Errorf("%v", s.state.usages)
		}
		time.Sleep(time.Hour)
		use("c", time.Second)
		if len(s.state.usages) != 1 {
			t.Errorf("%v", s.state.usages)
		}
	})
}

// TestCancelled: a cancelled request leaves the queue, and its slot to the next one.
func TestCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Size: 1, Now: time.Now})
		s.Resume("a")
		if s.TryAcquire() {
			t.Error("there is no free slot")
		}
		reason := errors.New("reason")
		ctx, cancel := context.WithCancelCause(t.Context())
		failed := make(chan error)
		go func() { failed <- s.Acquire(ctx, "b") }()
		synctest.Wait()
		cancel(reason)
		if err := <-failed; !errors.Is(err, reason) {
			t.Errorf("got %v", err)
		}
		s.Release("a")
		// It may get the slot before it finds that its context has ended.
		for range 100 {
			if err := s.Acquire(ctx, "b"); !errors.Is(err, reason) || s.Used() != 0 {
				t.Fatalf("got %v, %d slots are used", err, s.Used())
			}
		}
		if !s.TryAcquire() || s.Used() != 1 {
			t.Errorf("%d slots are used", s.Used())
		}
		s.Release("")
	})
}

// TestQueuedFirst: TryAcquire leaves a slot to requests that wait for it.
func TestQueuedFirst(t *testing.T) {
	t.Parallel()
	s := New(Options{Size: 2, Reserve: time.Second, Now: time.Now})
	s.state.usages = map[string]usage{"a": {used: time.Hour, at: time.Now()}, "b": {used: time.Hour, at: time.Now()}}
	s.Resume("a")
	waiting := s.enqueue(request{tenant: "a"})
	if s.TryAcquire() {
		t.Error("a request waits")
	}
	if !s.withdraw(waiting) || s.withdraw(waiting) || !s.TryAcquire() {
		t.Error("no request waits")
	}
}

// FuzzNext: a free slot is given to the first request of a tenant, and to no tenant with more usage
// than another that waits.
func FuzzNext(f *testing.F) {
	f.Add([]byte("abcab"), []byte{3, 2, 1}, uint8(1), false)
	f.Add([]byte("aab!"), []byte{9, 9}, uint8(2), true)
	f.Fuzz(func(t *testing.T, tenants, used []byte, free uint8, reserve bool) {
		now := time.Unix(1000, 0)
		s := state{size: 4, free: int(free % 5), usages: map[string]usage{}}
		if reserve {
			s.reserve = 100 * time.Second
		}
		for i, n := range used {
			s.usages[string(rune('a'+i%26))] = usage{used: time.Duration(n) * time.Second, at: now}
		}
		for _, tenant := range tenants {
			s.queue = append(s.queue, request{tenant: string(rune('a' + tenant%26)), resumed: tenant > 250})
		}
		i := s.next(now)
		if i < 0 {
			allowed := func(r request) bool {
				return r.resumed || !reserve || s.free > 1 || s.usages[r.tenant].used <= s.reserve || len(s.usages) < 2
			}
			if s.free > 0 && slices.ContainsFunc(s.queue, allowed) {
				t.Fatalf("%+v: no request is chosen", s)
			}
			return
		}
		chosen := s.queue[i]
		for j, other := range s.queue {
			switch {
			case other.resumed && (!chosen.resumed || j < i):
				t.Fatalf("%+v: request %d was resumed, and %d is chosen", s, j, i)
			case chosen.resumed:
			case other.tenant == chosen.tenant && j < i, s.usages[other.tenant].used < s.usages[chosen.tenant].used:
				t.Fatalf("%+v: request %d is chosen before %d", s, i, j)
			}
		}
	})
}
