// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package optional

import (
	"context"
	"time"
)

const (
	// absentRetry is the interval between checks whether a kind is served, if no change of the
	// capabilities is observed.
	absentRetry = 10 * time.Minute
	// discoveryDelay is the time after the creation of a CRD until its kind is served.
	discoveryDelay = time.Second
)

// Signal ends the wait for a kind once the API server may serve it. At most one goroutine may wait.
type Signal chan struct{}

// NewSignal returns a Signal.
func NewSignal() Signal { return make(Signal, 1) }

// CapabilitiesChanged ends a wait, or the next one. It never blocks.
func (s Signal) CapabilitiesChanged() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// Await returns when a kind may be served, or when ctx has ended.
func (s Signal) Await(ctx context.Context) {
	select {
	case <-s:
		sleep(ctx, discoveryDelay)
	case <-time.After(absentRetry):
	case <-ctx.Done():
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
