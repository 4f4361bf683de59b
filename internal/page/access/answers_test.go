// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// testClock is a clock that tests set.
type testClock struct {
	mu sync.Mutex
	at time.Time
}

func (c *testClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *testClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func newClock() *testClock { return &testClock{at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} }

// keyOf returns a key for a number.
func keyOf(n byte) digest { return digest{n} }

// TestAnswersAge: an answer is used for 30 s from its request.
func TestAnswersAge(t *testing.T) {
	c := newClock()
	a := newAnswers[int](10, 1, c.now)
	n := 0
	next := func(context.Context) (int, error) {
		n++
		c.add(5 * time.Second)
		return n, nil
	}
	for _, tc := range []struct {
		wait time.Duration
		want int
	}{{0, 1}, {25 * time.Second, 1}, {1, 2}, {0, 2}} {
		c.add(tc.wait)
		if got, err := a.get(t.Context(), keyOf(1), next); err != nil || got != tc.want {
			t.Errorf("after %s: %d, %v, want %d", tc.wait, got, err, tc.want)
		}
	}
}

// TestAnswersErrors: errors are returned, and not cached.
func TestAnswersErrors(t *testing.T) {
	a := newAnswers[int](10, 1, newClock().now)
	broken := errors.New("broken")
	if _, err := a.get(t.Context(), keyOf(1), func(context.Context) (int, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if got, err := a.get(t.Context(), keyOf(1), func(context.Context) (int, error) { return 2, nil }); err != nil || got != 2 {
		t.Errorf("after an error: %d, %v", got, err)
	}
	if n := len(a.cached.Keys()); n != 1 {
		t.Errorf("%d answers are cached", n)
	}
}

// TestAnswersAreBounded: the least recently used answers are removed.
func TestAnswersAreBounded(t *testing.T) {
	a := newAnswers[byte](3, 1, newClock().now)
	requests := map[byte]int{}
	get := func(n byte) {
		t.Helper()
		if got, err := a.get(t.Context(), keyOf(n), func(context.Context) (byte, error) { requests[n]++; return n, nil }); err != nil || got != n {
			t.Fatalf("%d: %d, %v", n, got, err)
		}
	}
	for n := range byte(5) {
		get(n)
	}
	if n := len(a.cached.Keys()); n != 3 {
		t.Errorf("%d answers are cached", n)
	}
	get(4)
	get(0)
	if requests[4] != 1 || requests[0] != 2 {
		t.Errorf("requests: %v", requests)
	}
}

// TestAnswersShareRequests: callers that need the same answer share one request, which goes on when
// the first one leaves.
func TestAnswersShareRequests(t *testing.T) {
	a := newAnswers[int](10, 1, newClock().now)
	begun, end := make(chan struct{}), make(chan struct{})
	slow := func(ctx context.Context) (int, error) {
		close(begun)
		select {
		case <-end:
			return 7, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	first, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := a.get(first, keyOf(1), slow)
		left <- err
	}()
	<-begun
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left got %v", err)
	}
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			// A second request would close begun again, and panic.
			if got, err := a.get(t.Context(), keyOf(1), slow); err != nil || got != 7 {
				t.Errorf("got %d, %v", got, err)
			}
		})
	}
	close(end)
	all.Wait()
}

// TestAnswersSlots: no more requests run at once than there are slots.
func TestAnswersSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAnswers[int](100, 2, newClock().now)
		var mu sync.Mutex
		running, most := 0, 0
		var all sync.WaitGroup
		for n := range byte(20) {
			all.Go(func() {
				_, err := a.get(t.Context(), keyOf(n), func(context.Context) (int, error) {
					mu.Lock()
					running++
					most = max(most, running)
					mu.Unlock()
					time.Sleep(time.Millisecond)
					mu.Lock()
					defer mu.Unlock()
					running--
					return 0, nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if most != 2 {
			t.Errorf("%d requests at once", most)
		}
	})
}
