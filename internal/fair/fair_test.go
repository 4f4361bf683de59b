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
		// queue has the tenants of requests, as in a+b. The name of a resumed one ends with !. /0 is
		// its since, instead of granted.
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
		{"resumed requests are first", state{size: 1, free: 1}, "b a! b!", 2},
		{"not those of other tenants", state{size: 1, free: 1, usages: map[string]usage{"a": spent(1, 0, 0)}}, "b a! a!", 0},
		{"who waits for longer is first", state{size: 1, free: 1, granted: 1, usages: map[string]usage{"a": spent(1, 0, 0)}}, "b a/0 a!/0", 2},
		{"who has all slots but one is last", state{size: 2, free: 1, granted: 1, usages: map[string]usage{"a": spent(0, 0, 1), "b": spent(1, 0, 0)}}, "a!/0 b", 1},
		{"not if it is the only one that waits", state{size: 2, free: 1, usages: map[string]usage{"a": spent(0, 0, 1)}}, "a", 0},
		{"not if one may use all", state{size: 1, free: 1, granted: 1, usages: map[string]usage{"b": spent(1, 0, 0)}}, "a/0 b", 0},
		{"of two tenants, both may have all slots but one", state{size: 3, free: 1, granted: 1, usages: map[string]usage{"x": spent(0, 0, 2)}}, "a+x/0 b", 1},
		{"that is worse for the first", state{size: 3, free: 1, granted: 1, usages: map[string]usage{"a": spent(0, 0, 2), "x": spent(1, 0, 2)}}, "a/0 b+x", 1},
		{"a tenant goes on with another request", state{size: 3, free: 1, usages: map[string]usage{"x": spent(0, 0, 2)}}, "a+x! a a!", 2},
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
			"nor for those who resume",
			state{size: 2, free: 1, reserve: time.Second, usages: map[string]usage{"a": spent(2*time.Second, 0, 1), "b": spent(time.Second, 0, 0)}},
			"a!", -1,
		},
		{
			"no tenant gets all slots while one waits for the last",
			state{size: 2, free: 1, reserve: time.Second, usages: map[string]usage{"a": spent(0, 0, 1), "b": spent(2*time.Second, 0, 0)}},
			"a b", -1,
		},
	} {
		for name := range strings.FieldsSeq(tc.queue) {
			name, early := strings.CutSuffix(name, "/0")
			tenant, resumed := strings.CutSuffix(name, "!")
			all := strings.Split(tenant, "+")
			r := request{tenant: all[0], resumed: resumed, others: all[1:], since: tc.state.granted}
			if early {
				r.since = 0
			}
			tc.state.queue = append(tc.state.queue, r)
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

// TestSharedCluster: releases of many namespaces that use one cluster leave a slot to others.
func TestSharedCluster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Size: 2, Now: time.Now})
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

// TestWithdrawn: a slot that is kept for a request is granted when that is cancelled.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	s := New(Options{Size: 2, Reserve: time.Second, Now: time.Now})
	s.state.usages = map[string]usage{"a": {used: time.Hour, at: time.Now()}}
	s.Resume("b")
	reserved, last := s.enqueue(request{tenant: "a"}), s.enqueue(request{tenant: "b"})
	select {
	case <-last:
		t.Error("b gets all slots while a waits")
	default:
	}
	if !s.withdraw(reserved) || s.Used() != 2 {
		t.Errorf("%d slots are used", s.Used())
	}
}

// FuzzNext plays random requests, ends and cancellations, and checks what package fair promises
// before each slot that is granted:
//
//   - With k tenants waiting, each gets one of the next k slots, for its first resumed request or else
//     its first one. Slots that the two rules below keep from a tenant do not count.
//   - No tenant gets the last slot while it has all others and another tenant waits.
//   - A tenant with much usage does not get the last slot, if there are others.
//   - Of tenants that waited from the same slot on, the one with the least usage is first.
func FuzzNext(f *testing.F) {
	f.Add([]byte("abcab"), uint8(1), false)
	f.Add([]byte{0, 0, 0, 0x40, 1, 0x80, 0x80, 0x41, 0x80, 0xc1, 2, 0x80}, uint8(2), true)
	f.Add([]byte{0, 0, 0, 0, 8, 0x80, 0x48, 1, 0x80, 0x81, 0xc1, 2, 0x80}, uint8(4), false)
	// A tenant with two of three slots waits for longer than another one.
	f.Add([]byte{0, 0, 2, 0, 3, 0x80, 1, 0x80}, uint8(2), false)
	// A request of a tenant is reserved because of its cluster, and another one is not.
	f.Add([]byte("00801=01%\x991\x8c0\x9b2"), uint8('('), true)
	f.Fuzz(func(t *testing.T, steps []byte, size uint8, reserve bool) {
		now := time.Unix(1000, 0)
		o := Options{Size: int(size%6) + 1, Now: func() time.Time { return now }}
		if reserve {
			o.Reserve = 2 * time.Second
		}
		p := &play{t: t, Semaphore: New(o), left: map[string]int{}}
		for _, b := range steps[:min(len(steps), 200)] {
			now = now.Add(time.Duration(b%7) * 100 * time.Millisecond)
			switch r := (request{tenant: string(rune('a' + b%8)), resumed: b&0x40 != 0}); {
			case b&0x80 == 0:
				if b&8 != 0 {
					r.others = []string{string(rune('x' + b>>4%2))}
				}
				p.state.enqueue(r)
				p.granted = append(p.granted, make(chan struct{}))
			case !r.resumed && len(p.running) > 0:
				i := int(b) % len(p.running)
				ended := p.running[i]
				p.running = slices.Delete(p.running, i, i+1)
				p.state.free++
				for _, tenant := range append(ended.others, ended.tenant) {
					p.count(tenant, -1)
				}
			case r.resumed && len(p.granted) > 0:
				i := int(b) % len(p.granted)
				tenant := p.state.queue[i].tenant
				p.state.queue, p.granted = slices.Delete(p.state.queue, i, i+1), slices.Delete(p.granted, i, i+1)
				if !slices.ContainsFunc(p.state.queue, func(r request) bool { return r.tenant == tenant }) {
					delete(p.left, tenant)
				}
			}
			p.grant(now)
		}
	})
}

// play checks each slot that a Semaphore grants.
type play struct {
	*Semaphore
	t       *testing.T
	running []request
	// left is the number of slots within which each waiting tenant must get one.
	left map[string]int
}

func (p *play) grant(now time.Time) {
	for {
		s := p.state
		i := s.next(now)
		if i < 0 {
			if len(s.queue) > 0 && (s.free > 1 || s.free == 1 && s.reserve == 0) {
				p.t.Fatalf("%+v: no request is chosen", s)
			}
			return
		}
		p.check(s, i, now)
		p.running = append(p.running, s.queue[i])
		p.grantTo(i)
	}
}

// check checks that the request i may get the next slot.
func (p *play) check(s state, i int, now time.Time) {
	chosen := s.queue[i]
	reserved := func(r request) bool { return s.lastIsReserved(s.used(r, now)) }
	// kept has the waiting tenants, and whether this slot is kept from them.
	kept := map[string]bool{}
	for _, r := range s.queue {
		before, found := kept[r.tenant]
		kept[r.tenant] = (before || !found) && (reserved(r) || s.held(r) > s.held(chosen))
	}
	if reserved(chosen) || len(kept) > 1 && s.size > 1 && s.usages[chosen.tenant].slots == s.size-1 {
		p.t.Fatalf("%+v: %d gets the last slot", s, i)
	}
	first := map[int]bool{}
	for _, c := range s.candidates(now) {
		first[c.index] = true
	}
	for k, r := range s.queue {
		switch {
		case k == i || s.held(r) != s.held(chosen) || reserved(r):
		case r.tenant != chosen.tenant:
			if first[k] && r.since == chosen.since && s.used(r, now) < s.used(chosen, now) {
				p.t.Fatalf("%+v: %d has used less than %d", s, k, i)
			}
		case r.resumed && !chosen.resumed, r.resumed == chosen.resumed && k < i:
			p.t.Fatalf("%+v: %d is before %d", s, k, i)
		}
	}
	for tenant, isKept := range kept {
		if left, found := p.left[tenant]; !found || left > len(kept) {
			p.left[tenant] = len(kept)
		}
		if isKept || tenant == chosen.tenant {
			continue
		}
		if p.left[tenant]--; p.left[tenant] == 0 {
			p.t.Fatalf("%+v: %s gets its slot too late, %d is before", s, tenant, i)
		}
	}
	delete(p.left, chosen.tenant)
}
