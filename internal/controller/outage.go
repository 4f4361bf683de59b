// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"slices"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/release"
)

const (
	// outageGrace is how long reconciliations may fail because of an API server before status names
	// the fault. A restart of the API server takes less.
	outageGrace = 30 * time.Second
	// MaxOutageRetry limits the back-off of such reconciliations and of failed writes, so that the end
	// of an outage is detected soon.
	MaxOutageRetry = 30 * time.Second
)

// Outage decides when the status of one HelmRelease names a fault of the infrastructure: an API
// server that answers with an error of its own, or not at all. The zero value is no outage.
type Outage struct {
	since time.Time
	// reported is the obstacle that status names; nil until grace has passed.
	reported *release.Blocked
}

// IsTransient reports whether err is a fault of the infrastructure. It excludes clusters that the
// breaker reports as unreachable in its own words.
func IsTransient(err error) bool {
	var unreachable *cluster.Unreachable
	return err != nil && !errors.As(err, &unreachable) && apiretry.IsTransient(err)
}

// Obstacle returns the obstacle for err. If err is a fault of the infrastructure, the obstacle is
// brief until grace has passed, and then the same one until the outage ends: the messages of such
// errors differ from one request to the next. Any other error ends the outage.
func (s *Outage) Obstacle(err error, now time.Time) *release.Blocked {
	blocked := blockedBy(err)
	if blocked.Upstream || !IsTransient(err) {
		s.End()
		return blocked
	}
	s.start(now)
	again := *blocked
	again.Transient, again.Terminal, again.Retry = true, false, release.BackoffUpTo(MaxOutageRetry)
	if now.Sub(s.since) < outageGrace {
		again.Brief = true
		return &again
	}
	if s.reported == nil {
		again.Message = fmt.Sprintf("%s (since %s)", again.Message, s.since.UTC().Format(time.RFC3339))
		s.reported = &again
	}
	return s.reported
}

// blockedBy returns err as an obstacle.
func blockedBy(err error) *release.Blocked {
	var blocked *release.Blocked
	if errors.As(err, &blocked) {
		return blocked
	}
	return release.BlockedBy(helmv2.ReasonStateError, err, "Reconciliation failed")
}

// Filter returns the result of a comparison. If objects could not be compared because of an API
// server, the comparison must be repeated. Until grace has passed, the result does not contain the
// errors of those objects.
func (s *Outage) Filter(found release.Drift, now time.Time) release.Drift {
	transient := func(e release.ObjectError) bool { return e.Transient }
	if found.Repeat = slices.ContainsFunc(found.Errors, transient); !found.Repeat {
		s.End()
		return found
	}
	s.start(now)
	if now.Sub(s.since) < outageGrace {
		found.Errors = slices.DeleteFunc(slices.Clone(found.Errors), transient)
	}
	return found
}

// End ends the outage, if there is one.
func (s *Outage) End() { *s = Outage{} }

// Active reports whether there is an outage.
func (s *Outage) Active() bool { return !s.since.IsZero() }

func (s *Outage) start(now time.Time) {
	if !s.Active() {
		s.since = now
	}
}
