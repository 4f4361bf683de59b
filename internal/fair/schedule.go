// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"cmp"
	"slices"
	"time"
)

// request is a request for a slot.
type request struct {
	// tenant is the tenant whose turn the request takes; empty for none.
	tenant string
	// resumed is true if its owner had a slot before, released it, and needs one to end.
	resumed bool
	// others are further tenants that the slot is for. They have no turns. What they hold and have
	// used counts as if the tenant did.
	others []string
	// since is the number of slots that had been granted when the tenant started to wait for its
	// turn.
	since uint64
}

// state is what a decision depends on.
type state struct {
	// size is the number of slots, free the number of free slots.
	size, free int
	// reserve is the usage above which a tenant does not get the last free slot, 0 for none.
	reserve time.Duration
	// usages has the tenants with slots or recent usage.
	usages map[string]usage
	// queue are the waiting requests in their order.
	queue []request
	// granted is the number of slots that were granted so far.
	granted uint64
}

// enqueue adds a request to the queue. All requests of a tenant wait for the same turn.
func (s *state) enqueue(r request) {
	r.since = s.granted
	for _, other := range s.queue {
		if other.tenant == r.tenant {
			r.since = other.since
		}
	}
	s.queue = append(s.queue, r)
}

// dequeue removes a request that gets a slot. The further requests of its tenant wait for the next
// turn.
func (s *state) dequeue(i int) {
	tenant := s.queue[i].tenant
	s.queue = slices.Delete(s.queue, i, i+1)
	s.free--
	s.granted++
	for i := range s.queue {
		if s.queue[i].tenant == tenant {
			s.queue[i].since = s.granted
		}
	}
}

// next returns the index of the request that gets the next slot, -1 if none does.
//
// Tenants take turns: with k tenants waiting, each gets one of the next k slots. Of tenants that
// started to wait for the same slot, the tenant with the least usage is first. In its turn, a
// tenant gets a slot for its first resumed request, or for its first one if it has resumed none.
//
// A tenant that has all slots but one gets the last one only if no other tenant waits. A tenant with
// much usage would soon have all slots, and keep them for long. If there are others, it does not get
// the last one either.
func (s state) next(now time.Time) int {
	if s.free <= 0 || len(s.queue) == 0 {
		return -1
	}
	best := slices.MinFunc(s.candidates(now), candidate.compare)
	if best.reserved {
		return -1
	}
	return best.index
}

// candidate is a request that may get the next slot.
type candidate struct {
	request

	index int
	// reserved is true if the only free slot is kept for other tenants.
	reserved bool
	// rank is larger if its tenants hold most slots, and by less if the slot is reserved.
	rank int
	used time.Duration
}

// compare returns a negative number if c is before the candidate of another tenant.
func (c candidate) compare(other candidate) int {
	return cmp.Or(cmp.Compare(c.rank, other.rank), cmp.Compare(c.since, other.since), cmp.Compare(c.used, other.used))
}

// candidates returns one request of each tenant, in the order of their tenants in the queue.
func (s state) candidates(now time.Time) []candidate {
	var all []candidate
	at := map[string]int{}
	for i, r := range s.queue {
		c := candidate{request: r, index: i, rank: 2 * s.held(r), used: s.used(r, now)}
		if c.reserved = s.lastIsReserved(c.used); c.reserved {
			c.rank++
		}
		k, found := at[r.tenant]
		switch {
		case !found:
			at[r.tenant] = len(all)
			all = append(all, c)
		case c.rank < all[k].rank, c.rank == all[k].rank && c.resumed && !all[k].resumed:
			all[k] = c
		}
	}
	return all
}

// held returns 2 if the tenant of a request has all slots but one, 1 if one of its further tenants
// has them, and else 0.
func (s state) held(r request) int {
	most := func(tenant string) bool { return s.size > 1 && s.usages[tenant].slots >= s.size-1 }
	switch {
	case most(r.tenant):
		return 2
	case slices.ContainsFunc(r.others, most):
		return 1
	}
	return 0
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
