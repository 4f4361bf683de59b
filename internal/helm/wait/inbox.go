// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pintle-dev/pintle/internal/readiness"
)

// subscription delivers the events of one object into an inbox.
type subscription struct {
	stream *stream
	name   string
	inbox  *inbox
}

// inbox collects the events of the objects of one wait.
type inbox struct {
	// ready has an element if the inbox may have changed.
	ready chan struct{}

	mu      sync.Mutex
	pending map[*subscription]pending
}

// pending is what was received for a subscription.
type pending struct {
	// gap is true if events before the others are missing, lost if no more events follow.
	gap, lost bool
	// events holds the last event of each object that has had the name, oldest first.
	events []event
}

// event is an event of a watch and the object in it, which is the last state of a deleted
// object.
type event struct {
	observation readiness.Observation
	object      *unstructured.Unstructured
}

func newInbox() *inbox {
	return &inbox{ready: make(chan struct{}, 1), pending: map[*subscription]pending{}}
}

// change merges something that was received for a subscription.
func (b *inbox) change(s *subscription, merge func(p *pending)) {
	b.mu.Lock()
	p := b.pending[s]
	merge(&p)
	b.pending[s] = p
	b.mu.Unlock()
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// put adds an event in place of the last one of the same object.
func (b *inbox) put(s *subscription, e event) {
	b.change(s, func(p *pending) {
		last := len(p.events) - 1
		if last >= 0 && p.events[last].observation.UID == e.observation.UID {
			p.events = p.events[:last]
		}
		p.events = append(p.events, e)
	})
}

// take empties the inbox.
func (b *inbox) take() map[*subscription]pending {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.pending
	b.pending = map[*subscription]pending{}
	return all
}
