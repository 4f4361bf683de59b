// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/internal/release"
)

// reservations are the objects that running jobs are about to make or adopt. What
// two jobs find free at the same moment only one of them may make: the API server
// cannot tell them apart when they apply, as both do so under the same name. It may
// be used concurrently.
type reservations struct {
	mu sync.Mutex
	by map[place]reserver
}

// place is where an object is, in which cluster.
type place struct {
	host string
	objectKey
}

// reserver is a job.
type reserver struct {
	host, uid string
	target    release.Target
}

// reserve gives the objects of a list to a job, but for those that another one has,
// which it returns.
func (r *reservations) reserve(holder reserver, list kube.ResourceList) (others map[*resource.Info]release.Target) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[place]reserver{}
	}
	others = map[*resource.Info]release.Target{}
	for _, info := range list {
		at := place{holder.host, keyOfInfo(info)}
		if other, taken := r.by[at]; taken && other != holder {
			others[info] = other.target
			continue
		}
		r.by[at] = holder
	}
	return others
}

// release gives back what a job has.
func (r *reservations) release(holder reserver) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for at, by := range r.by {
		if by == holder {
			delete(r.by, at)
		}
	}
}
