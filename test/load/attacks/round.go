// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"context"
	"fmt"
	"sync"

	"github.com/pintle-dev/pintle/test/load/attacks/corpus"
	"github.com/pintle-dev/pintle/test/load/frame"
)

// atOnce is the number of attacks of a round.
const atOnce = 10

// oneByOne runs attacks one after the other.
func (a *arena) oneByOne(ctx context.Context, attacks []corpus.Attack, note func(outcome)) error {
	for _, attack := range attacks {
		o, err := a.duel(ctx, attack, hostile, "")
		if err != nil {
			return named(attack, err)
		}
		note(o)
	}
	return nil
}

// together runs attacks at the same time, in turn in the given namespaces.
func (a *arena) together(ctx context.Context, attacks []corpus.Attack, namespaces []string, round string, note func(outcome)) error {
	var mu sync.Mutex
	return frame.Times(ctx, atOnce, len(attacks), func(ctx context.Context, i int) error {
		o, err := a.duel(ctx, attacks[i], namespaces[i%len(namespaces)], fmt.Sprintf("%s-%d", round, i))
		if err != nil {
			return named(attacks[i], err)
		}
		mu.Lock()
		defer mu.Unlock()
		note(o)
		return nil
	})
}
