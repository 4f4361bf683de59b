// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "time"

const (
	// slowAfter is the time after which an answer counts as slow.
	slowAfter = 10 * time.Second
	// A slow or failed answer counts as much as two others. So a server that answers every other
	// read in time is suspected in the end, and one whose every third read is a long list is not.
	badPoints  = 2
	goodPoints = 1
	// suspectAt is the number of points at which a server is suspected: three bad answers without
	// a good one.
	suspectAt = 3 * badPoints
	// healthMemory is the time without an answer after which earlier answers no longer count.
	healthMemory = 5 * time.Minute
)

// readAnswer is an answer to a read, or the lack of one.
type readAnswer struct {
	// Path is the path of the read.
	Path string
	// At is when the answer was complete, or counted as bad.
	At time.Time
	// Bad is true if the answer was slow, or an error of the server.
	Bad bool
}

// health assesses an API server by its answers to reads. A server may answer requests for its
// version at once, and all others slowly or with errors. The zero value stands for a server without
// answers. It sends no requests and has no clock.
type health struct {
	points int
	at     time.Time
	path   string
}

// Observe records an answer.
func (h *health) Observe(a readAnswer) {
	if a.At.Sub(h.at) >= healthMemory {
		h.points = 0
	}
	h.at = a.At
	if a.Bad {
		h.points, h.path = min(suspectAt, h.points+badPoints), a.Path
	} else {
		h.points = max(0, h.points-goodPoints)
	}
}

// Suspect returns the path of the last bad answer, if a probe by a read of that path must decide
// whether the server can be used.
func (h *health) Suspect() (path string, is bool) {
	if h.points < suspectAt {
		return "", false
	}
	return h.path, true
}

// RecordProbe records that the server has answered such a probe in time. One more bad answer leads
// to another probe.
func (h *health) RecordProbe() { h.points = min(h.points, suspectAt-badPoints) }
