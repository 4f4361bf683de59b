// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// writes stores the version of each object that the last write replaced. The cache may return that
// version for a moment, and a reconciliation of it could not write its result. The zero value
// is ready for use, by any number of goroutines.
type writes struct {
	mu       sync.Mutex
	replaced map[types.NamespacedName]string
}

// record takes the object as it was before the write.
func (w *writes) record(before client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.replaced == nil {
		w.replaced = map[types.NamespacedName]string{}
	}
	w.replaced[client.ObjectKeyFromObject(before)] = before.GetResourceVersion()
}

// isStale reports whether obj is a version that is known to be replaced.
func (w *writes) isStale(obj client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.replaced[client.ObjectKeyFromObject(obj)] == obj.GetResourceVersion()
}

func (w *writes) forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.replaced, key)
}
