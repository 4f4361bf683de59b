// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// keyLocks has a lock for each key that is locked or waited for. The zero value is ready for use.
type keyLocks struct {
	mu    sync.Mutex
	byKey map[client.ObjectKey]*keyLock
}

type keyLock struct {
	// held has one element while the lock is held.
	held chan struct{}
	// users is the number of goroutines that hold the lock or wait for it.
	users int
}

// lock waits for the lock of a key, and returns the function that unlocks it. The error is the cause
// of ctx.
func (l *keyLocks) lock(ctx context.Context, key client.ObjectKey) (unlock func(), err error) {
	k := l.use(key)
	select {
	case k.held <- struct{}{}:
		return func() { <-k.held; l.leave(key, k) }, nil
	case <-ctx.Done():
		l.leave(key, k)
		return nil, context.Cause(ctx)
	}
}

func (l *keyLocks) use(key client.ObjectKey) *keyLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byKey == nil {
		l.byKey = map[client.ObjectKey]*keyLock{}
	}
	k := l.byKey[key]
	if k == nil {
		k = &keyLock{held: make(chan struct{}, 1)}
		l.byKey[key] = k
	}
	k.users++
	return k
}

func (l *keyLocks) leave(key client.ObjectKey, k *keyLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(l.byKey, key)
	}
}
