// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/internal/release"
)

// Reservations are the objects that running actions are about to create or adopt. If two actions
// find the same object free, only one of them may create it. The API server cannot distinguish
// them, since both apply with the same field manager. It may be used concurrently.
type Reservations struct {
	mu sync.Mutex
	by map[reservedObject]reserver
}

// reservedObject identifies an object and its cluster.
type reservedObject struct {
	host string
	objectKey
}

// reserver is an action.
type reserver struct {
	host, uid string
	target    release.Target
}

// reserve reserves the objects of a list for an action. It returns those that another action has
// reserved, with the release of that action.
func (r *Reservations) reserve(holder reserver, list kube.ResourceList) (others map[*resource.Info]release.Target) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[reservedObject]reserver{}
	}
	others = map[*resource.Info]release.Target{}
	for _, info := range list {
		at := reservedObject{holder.host, keyOf(info)}
		if other, taken := r.by[at]; taken && other != holder {
			others[info] = other.target
			continue
		}
		r.by[at] = holder
	}
	return others
}

// release ends all reservations of an action.
func (r *Reservations) release(holder reserver) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for at, by := range r.by {
		if by == holder {
			delete(r.by, at)
		}
	}
}
