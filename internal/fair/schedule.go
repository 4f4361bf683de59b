// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package fair

import "time"

// request is a request for a slot.
type request struct {
	tenant string
	// resumed is true if its owner had a slot before, released it, and needs one to end.
	resumed bool
	// others are further tenants that the slot is for. That with the most usage counts.
	others []string
}

// state is what a decision depends on.
type state struct {
	// size is the number of slots, free that of free ones.
	size, free int
	// reserve is the usage above which a tenant does not get the last free slot, 0 for none.
	reserve time.Duration
	// usages are those of the tenants with slots or recent usage.
	usages map[string]usage
	// queue are the waiting requests in their order.
	queue []request
}

// next returns the index of the request that gets the next slot, -1 if none does. Resumed requests
// are first, and then the tenant that has used the least. Requests of a tenant, and those of tenants
// with equal usage, keep their order.
//
// A tenant with much usage would soon have all slots, and keep them for long. If there are others,
// it does not get the last one.
func (s state) next(now time.Time) int {
	if s.free <= 0 {
		return -1
	}
	best, least := -1, time.Duration(0)
	for i, r := range s.queue {
		if r.resumed {
			return i
		}
		used := s.used(r, now)
		if s.lastIsReserved(used) {
			continue
		}
		if best < 0 || used < least {
			best, least = i, used
		}
	}
	return best
}

// used returns the recent usage of the tenants of a request.
func (s state) used(r request, now time.Time) time.Duration {
	used := s.usages[r.tenant].until(now).used
	for _, t := range r.others {
		used = max(used, s.usages[t].until(now).used)
	}
	return used
}

// lastIsReserved reports whether the only free slot is kept for other tenants than one with this usage.
func (s state) lastIsReserved(used time.Duration) bool {
	if s.reserve == 0 || s.size < 2 || s.free > 1 || used <= s.reserve {
		return false
	}
	return len(s.usages) > 1 // a tenant with usage is one of them
}
