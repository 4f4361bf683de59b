// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package leader

import "time"

// Lease is the content of a Lease in another namespace.
type Lease struct {
	Namespace string
	// Holder is the identity of the controller that holds the Lease; empty if none does.
	Holder string
	// Acquired and Renewed are times of the clock of the holder. They are compared only with each
	// other.
	Acquired, Renewed time.Time
	// Duration is how long the Lease is held after a renewal.
	Duration time.Duration
}

// Observed is a Lease and the time at which this process found that content first, by the clock of
// this process.
type Observed struct {
	Lease

	Since time.Time
}

// maxDuration limits the duration of a Lease of another namespace, whose author may not be trusted.
const maxDuration = 10 * time.Minute

// isHeld reports whether the Lease was renewed within its duration, as far as this process can
// know.
func (o Observed) isHeld(now time.Time) bool {
	return o.Holder != "" && now.Before(o.Since.Add(min(o.Duration, maxDuration)))
}

// isRenewed reports whether the holder has renewed the Lease since it acquired the Lease. A
// controller that waits writes its Lease with equal times.
func (o Observed) isRenewed() bool { return o.Renewed.After(o.Acquired) }

// Decision is whether a controller may lead.
type Decision struct {
	// Lead is true if no other Lease is held.
	Lead bool
	// Keep is true if a controller that holds its own Lease keeps the Lease while it waits.
	Keep bool
	// For is the Lease that the controller waits for; zero if it leads.
	For Lease
}

// DecideStandby returns whether the controller of namespace own may lead. The others are the Leases of
// the same name in other namespaces. The decision to lead is valid only if the controller has written
// its own Lease before it read the others: of two controllers, the second writer then finds the
// Lease of the first.
//
// If each of two controllers finds the Lease of the other, the one whose namespace sorts first
// keeps its Lease, and the other one releases its own.
func DecideStandby(own string, others []Observed, now time.Time) Decision {
	d := Decision{Lead: true, Keep: true}
	for _, o := range others {
		if !o.isHeld(now) {
			continue
		}
		if d.Lead {
			d.Lead, d.For = false, o.Lease
		}
		if d.Keep && (o.isRenewed() || o.Namespace < own) {
			d.Keep, d.For = false, o.Lease
		}
	}
	return d
}

// observations has the observed Lease of each namespace.
type observations map[string]Observed

// update returns the present Leases. A Lease whose content has changed was observed now.
func (all observations) update(present []Lease, now time.Time) []Observed {
	var list []Observed
	found := map[string]bool{}
	for _, lease := range present {
		found[lease.Namespace] = true
		if before, known := all[lease.Namespace]; !known || before.Lease != lease {
			all[lease.Namespace] = Observed{Lease: lease, Since: now}
		}
		list = append(list, all[lease.Namespace])
	}
	for namespace := range all {
		if !found[namespace] {
			delete(all, namespace)
		}
	}
	return list
}
