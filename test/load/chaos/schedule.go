// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/pintle-dev/pintle/test/harness/faultproxy"
)

// schedule decides which requests fail, and how. The decision depends on the seed and on the
// request alone, and not on the order in which requests of different releases arrive.
type schedule struct {
	seed uint64
	// rate is the share of requests that fail.
	rate float64
}

// weight returns how often a fault is chosen, compared with others.
func weight(f faultproxy.Fault) float64 {
	switch f {
	case faultproxy.Internal, faultproxy.Lost:
		return 3
	case faultproxy.TooMany, faultproxy.Unavailable, faultproxy.Reset, faultproxy.Slow:
		return 2
	case faultproxy.Silent:
		return 0.1
	case faultproxy.None:
		return 0
	case faultproxy.TooManyRetryAfter, faultproxy.BadGateway, faultproxy.GatewayTimeout, faultproxy.Conflict, faultproxy.InternalDone:
	}
	return 1
}

// fault returns how a request fails of which there were some with the same key before.
func (s schedule) fault(r faultproxy.Request, occurrence int) faultproxy.Fault {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %s %d", r.Namespace, r.Key(), occurrence) // a hash takes everything
	random := rand.New(rand.NewPCG(s.seed, h.Sum64()))
	if random.Float64() >= s.rate {
		return faultproxy.None
	}
	ways := faultproxy.FaultsFor(r)
	sum := 0.0
	for _, f := range ways {
		sum += weight(f)
	}
	at := random.Float64() * sum
	for _, f := range ways {
		if at -= weight(f); at < 0 {
			return f
		}
	}
	return faultproxy.None
}
