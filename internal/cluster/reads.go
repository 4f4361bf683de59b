// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// unavailable reports whether a proxy answers so if the server does not answer.
func unavailable(code int) bool {
	switch code {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// measured is a read whose answer counts for the health of a cluster. Its methods may be called on
// nil.
type measured struct {
	gate  *gate
	path  string
	timer *time.Timer
	once  sync.Once
}

// isMeasured reports whether the answer to a request counts. Writes may wait for a webhook, and reads
// of other groups for an aggregated API or a webhook that converts objects. Neither is the fault of
// the API server. Watches and logs last.
func isMeasured(req *http.Request) bool {
	query := req.URL.Query()
	return req.Method == http.MethodGet && strings.Contains(req.URL.Path, "/api/v1/") &&
		!query.Has("watch") && !query.Has("follow") && !strings.HasSuffix(req.URL.Path, "/log")
}

// measure records the start of a read of a path.
func (g *gate) measure(path string) *measured {
	j := &measured{gate: g, path: path}
	// The timer does not stop itself: it may run before it is stored.
	j.timer = time.AfterFunc(slowAfter, func() { j.once.Do(func() { j.record(true) }) })
	return j
}

// recordAnswer records that an answer has started. The time of its body does not count: lists may
// be large, and apiretry.Pace ends those that arrive too slowly.
func (j *measured) recordAnswer(code int) {
	switch {
	case j == nil:
	case unavailable(code):
		j.end(true)
	default:
		j.timer.Stop()
	}
}

// drop ends a read that shows nothing about the cluster.
func (j *measured) drop() {
	if j != nil {
		j.once.Do(func() { j.timer.Stop() })
	}
}

// end records the answer.
func (j *measured) end(bad bool) {
	if j == nil {
		return
	}
	j.once.Do(func() {
		j.timer.Stop()
		j.record(bad)
	})
}

func (j *measured) record(bad bool) {
	j.gate.observe(readAnswer{Path: j.path, At: j.gate.now(), Bad: bad})
}

// observe records an answer, and triggers a probe if it leads to one.
func (g *gate) observe(a readAnswer) {
	g.mu.Lock()
	g.health.Observe(a)
	_, suspect := g.health.Suspect()
	g.mu.Unlock()
	if suspect {
		g.fail("reads have no answer within " + slowAfter.String() + ", or errors of the server")
	}
}
