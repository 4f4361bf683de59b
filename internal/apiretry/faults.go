// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apiretry

import (
	"maps"
	"net/http"
	"sync"
	"time"
)

// settling is how long after a restart an API server may deny requests that it allows later: it
// answers before it has read all roles and bindings.
const settling = 30 * time.Second

// faultAge is how long a fault is remembered. A request that waits for the server to answer again
// notes its fault anew at least each longestRetryAfter.
const faultAge = Budget

// Faults holds when each server could not be reached last, and whether it answers again. It is shared
// by the actions of a process, and may be used concurrently. The zero value is empty, and a nil one
// stays empty.
type Faults struct {
	mu      sync.Mutex
	servers map[string]*fault
}

// fault is the last fault of a server.
type fault struct {
	at time.Time
	// over is closed when the server answers again.
	over chan struct{}
}

// note records that a server could not be reached, and returns a channel that is closed when the
// server answers again. The channel of a nil Faults is nil.
func (f *Faults) note(server string, now time.Time) <-chan struct{} {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.servers, func(_ string, last *fault) bool { return now.Sub(last.at) > faultAge })
	last := f.servers[server]
	if last == nil || last.ended() {
		if f.servers == nil {
			f.servers = map[string]*fault{}
		}
		last = &fault{over: make(chan struct{})}
		f.servers[server] = last
	}
	last.at = now
	return last.over
}

// recordAnswer records that a server answers.
func (f *Faults) recordAnswer(server string) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if last := f.servers[server]; last != nil && !last.ended() {
		close(last.over)
	}
}

func (f *fault) ended() bool {
	select {
	case <-f.over:
		return true
	default:
		return false
	}
}

// settling reports whether a server could not be reached a short time ago.
func (f *Faults) settling(server string, now time.Time) bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.servers[server]
	return last != nil && now.Sub(last.at) < settling
}

// mayBeGranted reports whether an API server denied a request because it has not read all roles.
func (r *Retrier) mayBeGranted(a Answer, now time.Time) bool {
	return a.Code == http.StatusForbidden && DenialOf(a) == NoDenial && r.options.Faults.settling(r.options.Server, now)
}

// fromNoServer reports whether a request has not reached an API server: it has no answer, or a
// proxy answered. The API server itself answers 429 if it is busy, and 500 if a webhook or etcd
// fails.
func (a Answer) fromNoServer() bool {
	if a.part() != nil {
		return false
	}
	switch a.Code {
	case 0, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}
