// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// writesAge is how long a write is remembered. The cache is behind by much less.
const writesAge = 10 * time.Minute

// writes stores the version of each object that the last write replaced. The cache may return that
// version for a moment, and a reconciliation of it could not write its result. It may be used by any
// number of goroutines.
type writes struct {
	now func() time.Time

	mu       sync.Mutex
	replaced map[types.NamespacedName]replacedVersion
}

type replacedVersion struct {
	version string
	at      time.Time
}

// record takes the object as it was before the write.
func (w *writes) record(before client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.replaced == nil {
		w.replaced = map[types.NamespacedName]replacedVersion{}
	}
	now := w.now()
	maps.DeleteFunc(w.replaced, func(_ types.NamespacedName, r replacedVersion) bool { return now.Sub(r.at) > writesAge })
	w.replaced[client.ObjectKeyFromObject(before)] = replacedVersion{before.GetResourceVersion(), now}
}

// isStale reports whether obj is a version that is known to be replaced.
func (w *writes) isStale(obj client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, found := w.replaced[client.ObjectKeyFromObject(obj)]
	return found && r.version == obj.GetResourceVersion()
}
