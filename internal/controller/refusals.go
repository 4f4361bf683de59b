// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

// refusals remembers which releases were refused for their size, so that none is
// tried again as it was. Nothing of it survives the process, which costs each of them
// one attempt. The zero value is ready for use.
type refusals struct {
	mu    sync.Mutex
	known map[types.NamespacedName]*release.Oversized
}

// note takes note of an attempt that has ended and was recorded.
func (r *refusals) note(key types.NamespacedName, o release.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case o.Oversized():
		if r.known == nil {
			r.known = map[types.NamespacedName]*release.Oversized{}
		}
		r.known[key] = status.SizeExceeded(o)
	case o.Stored():
		delete(r.known, key)
	}
}

// of returns the refusal that may still hold, nil if there is none.
func (r *refusals) of(key types.NamespacedName) *release.Oversized {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[key]
}

func (r *refusals) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, key)
}
