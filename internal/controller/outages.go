// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/release"
)

const (
	// outageGrace is how long reconciliations may fail because of an API server before
	// status says so. A restart of the API server takes less.
	outageGrace = 30 * time.Second
	// outageRetry limits the back-off of such reconciliations and of failed writes, so that
	// the end of an outage is noticed soon.
	outageRetry = 30 * time.Second
	// firstErrorRetry is the first pause after a failed write: controller-runtime's.
	firstErrorRetry = 5 * time.Millisecond
)

// outages remembers which HelmReleases cannot be reconciled because an API server answers
// with an error of its own or not at all. It has at most one entry for each HelmRelease.
// It may be used concurrently.
type outages struct {
	mu    sync.Mutex
	known map[types.NamespacedName]*outage
}

type outage struct {
	since time.Time
	// reported is the obstacle that status names; nil before outageGrace has passed.
	reported *release.Blocked
}

// isTransient reports whether err is a fault of the infrastructure. Clusters that do not
// answer are the breaker's, which names them in its own words.
func isTransient(err error) bool {
	var unreachable *cluster.Unreachable
	return err != nil && !errors.As(err, &unreachable) && apiretry.IsTransient(err)
}

// weigh returns the obstacle that status names for err, and ends the outage if err is no
// fault of the infrastructure. It returns one that status does not name until outageGrace
// has passed, and the same one from then on: the texts of such errors differ from one try
// to the next.
func (o *outages) weigh(key types.NamespacedName, err error, now time.Time) *release.Blocked {
	blocked := blockedBy(err)
	if blocked.Upstream || !isTransient(err) {
		o.over(key)
		return blocked
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	present := o.of(key, now)
	again := *blocked
	again.Transient, again.Terminal, again.Retry = true, false, release.BackoffUpTo(outageRetry)
	if now.Sub(present.since) < outageGrace {
		again.Brief = true
		return &again
	}
	if present.reported == nil {
		again.Message = fmt.Sprintf("%s (since %s)", again.Message, present.since.UTC().Format(time.RFC3339))
		present.reported = &again
	}
	return present.reported
}

// ride has a comparison repeated that is incomplete for want of an API server. Until
// outageGrace has passed, found names no transient error: what was known before stands.
func (o *outages) ride(key types.NamespacedName, found *release.Drift, now time.Time) {
	transient := func(e release.ObjectError) bool { return e.Transient }
	if found.Repeat = slices.ContainsFunc(found.Errors, transient); !found.Repeat {
		o.over(key)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if now.Sub(o.of(key, now).since) < outageGrace {
		found.Errors = slices.DeleteFunc(found.Errors, transient)
	}
}

// of returns the outage of a HelmRelease, which begins now if there was none. It is called
// with the lock held.
func (o *outages) of(key types.NamespacedName, now time.Time) *outage {
	if o.known == nil {
		o.known = map[types.NamespacedName]*outage{}
	}
	if o.known[key] == nil {
		o.known[key] = &outage{since: now}
	}
	return o.known[key]
}

// over ends the outage of a HelmRelease, if there is one.
func (o *outages) over(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.known, key)
}
