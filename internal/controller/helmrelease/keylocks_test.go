// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestKeyLocks: users of one key wait for each other, those of other keys do not, and nothing is
// kept of keys without users.
func TestKeyLocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var locks keyLocks
		begin := time.Now()
		ends := make(chan time.Duration, 3)
		hold := func(name string) {
			unlock, err := locks.lock(t.Context(), client.ObjectKey{Name: name})
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			time.Sleep(time.Minute)
			ends <- time.Since(begin)
		}
		for _, name := range []string{"a", "a", "b"} {
			go hold(name)
		}
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := locks.lock(ctx, client.ObjectKey{Name: "a"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a waiting writer ends with %v", err)
		}
		for i, want := range []time.Duration{time.Minute, time.Minute, 2 * time.Minute} {
			if got := <-ends; got != want {
				t.Errorf("%d: ended after %s, want %s", i, got, want)
			}
		}
		synctest.Wait()
		if len(locks.byKey) != 0 {
			t.Errorf("%d locks are kept", len(locks.byKey))
		}
	})
}
