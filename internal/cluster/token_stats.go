// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import "sync/atomic"

// TokenStats are counts of the tokens for other clusters.
type TokenStats struct {
	// Cached is the number of valid tokens in memory.
	Cached int
	// Succeeded counts requests that got a token, and Failed those that got none. Evicted
	// counts valid tokens that were dropped because they were not used.
	Succeeded, Failed, Evicted uint64
}

// tokenCounts are shared by the token sources of one Connections.
type tokenCounts struct{ answered, failed, evicted atomic.Uint64 }

func (t *tokenCounts) count(err error) {
	if err != nil {
		t.failed.Add(1)
		return
	}
	t.answered.Add(1)
}

// TokenStats returns the current number of tokens and the counts since the start.
func (c *Connections) TokenStats() TokenStats { return c.gates.tokenStats() }

func (s *gates) tokenStats() TokenStats {
	stats := TokenStats{Succeeded: s.counts.answered.Load(), Failed: s.counts.failed.Load(), Evicted: s.counts.evicted.Load()}
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[*tokenSource]bool{}
	for _, g := range s.byDigest {
		if t := g.tokenSource(); t != nil && !seen[t] {
			seen[t] = true
			if t.cached() != "" {
				stats.Cached++
			}
		}
	}
	return stats
}

// TokenState reports whether requests to the cluster need a token, and whether a valid one is
// cached. If not, the next request fetches one.
func (c *Connection) TokenState() (cached, needed bool) {
	if c.gate == nil || c.gate.tokens == nil {
		return false, false
	}
	return c.gate.tokens.cached() != "", true
}

// tokenSource returns the token source of a gate; nil if it has none. The gate of a cloud and those
// of the clusters that it located share one.
func (g *gate) tokenSource() *tokenSource {
	if g.tokens == nil && g.locator != nil {
		return g.locator.tokens
	}
	return g.tokens
}
