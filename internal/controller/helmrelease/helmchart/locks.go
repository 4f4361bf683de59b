// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmchart

import (
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// keyLocks has a mutex for each key that is locked or waited for. The zero value is ready for use.
type keyLocks struct {
	mu    sync.Mutex
	byKey map[client.ObjectKey]*keyLock
}

type keyLock struct {
	sync.Mutex

	// users is the number of goroutines that hold the lock or wait for it.
	users int
}

// lock waits for the mutex of a key, and returns the function that unlocks it.
func (l *keyLocks) lock(key client.ObjectKey) (unlock func()) {
	l.mu.Lock()
	if l.byKey == nil {
		l.byKey = map[client.ObjectKey]*keyLock{}
	}
	k := l.byKey[key]
	if k == nil {
		k = &keyLock{}
		l.byKey[key] = k
	}
	k.users++
	l.mu.Unlock()
	k.Lock()
	return func() {
		k.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.byKey, key)
		}
	}
}
