// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const (
	// FieldOwner is the field manager of all writes of the controllers themselves.
	FieldOwner = client.FieldOwner(helmv2.FieldManager)
	// StaleRetry is the pause until the cache has caught up with a write.
	StaleRetry = 20 * time.Millisecond
	// longestStaleRetry is the longest such pause. The watch of the cache may be interrupted.
	longestStaleRetry = time.Second
)

// Stale is a version of an object that was replaced by a write, and that the cache may still
// return. A reconciliation of it cannot write its result. The zero value is no version. It is not
// safe for concurrent use.
type Stale struct {
	version string
	since   time.Time
}

// Found records that a version is stale, from now on or from when it was recorded first.
func (s *Stale) Found(version string, now time.Time) {
	if s.version != version {
		s.version, s.since = version, now
	}
}

// Is reports whether a version is the recorded one.
func (s *Stale) Is(version string) bool { return s.version != "" && s.version == version }

// Pause returns when to read the object again: after as long as the version has been stale, but at
// least after StaleRetry, and at most after a second.
func (s *Stale) Pause(now time.Time) time.Duration {
	return min(max(now.Sub(s.since), StaleRetry), longestStaleRetry)
}
