// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "sync/atomic"

// TokenStats tells of the tokens that authenticate us in other clusters.
type TokenStats struct {
	// Cached are the tokens that are there and will be used.
	Cached int
	// Succeeded counts how often a request was given a token, and Failed how often there
	// was none to be had; Evicted, tokens that were dropped while they held, because
	// nobody used them.
	Succeeded, Failed, Evicted uint64
}

// tokenCounts is what the bearers of one Connections share.
type tokenCounts struct{ answered, failed, evicted atomic.Uint64 }

func (t *tokenCounts) count(err error) {
	if err != nil {
		t.failed.Add(1)
		return
	}
	t.answered.Add(1)
}

// TokenStats returns what there is now, and what has happened since the start.
func (c *Connections) TokenStats() TokenStats {
	s := TokenStats{Succeeded: c.counts.answered.Load(), Failed: c.counts.failed.Load(), Evicted: c.counts.evicted.Load()}
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := map[*bearer]bool{}
	for _, g := range c.gates {
		if b := g.token(); b != nil && !seen[b] {
			seen[b] = true
			if b.held() != "" {
				s.Cached++
			}
		}
	}
	return s
}

// TokenState reports whether the connection leads to a cluster that takes tokens, and
// whether one is there already. Others have to ask for one first.
func (c *Connection) TokenState() (held, takes bool) {
	if c.gate == nil || c.gate.bearer == nil {
		return false, false
	}
	return c.gate.bearer.held() != "", true
}

// token returns who has the tokens of a gate, nil if nobody does. The gate before a
// cloud and those before what was found there have the same.
func (g *gate) token() *bearer {
	if g.bearer == nil && g.via != nil {
		return g.via.bearer
	}
	return g.bearer
}
