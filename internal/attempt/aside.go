// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
)

// Aside is work for a release that writes nothing. It gets a slot as actions do, and has no outcome.
type Aside struct {
	// Cluster is another cluster that is read; empty for the controller's own.
	Cluster string
	// Work works under the conditions of a Task. A panic becomes an error.
	Work func(ctx context.Context, idle func() (resume func())) error
	// Ended is called with the error of Work, unless that was cancelled. It must not block.
	Ended func(error)
}

// Aside does work in the background, and enqueues the release at its end, even after a
// cancellation. It returns false and does nothing if key has such work or an attempt, or if the
// pool is not started or is stopping. An attempt that starts meanwhile cancels the work.
func (p *Pool) Aside(ctx context.Context, key types.NamespacedName, a Aside) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.attempts[key] != nil || p.asides[key] != nil || p.base == nil {
		return false
	}
	ctx, end := context.WithCancelCause(context.WithoutCancel(ctx))
	base := p.base
	stop := context.AfterFunc(base, func() { end(context.Cause(base)) })
	p.asides[key] = end
	p.running.Go(func() {
		defer end(nil)
		defer stop()
		err := p.work(ctx, key.Namespace, a)
		if ctx.Err() == nil {
			a.Ended(err)
		}
		p.mu.Lock()
		delete(p.asides, key)
		p.mu.Unlock()
		p.enqueue(key)
	})
	return true
}

// EndAside cancels the work aside of key.
func (p *Pool) EndAside(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endAside(key, context.Canceled)
}

// endAside cancels the work aside of key with a cause. The caller holds mu.
func (p *Pool) endAside(key types.NamespacedName, cause error) {
	if end := p.asides[key]; end != nil {
		end(cause)
	}
}

// work works in a slot.
func (p *Pool) work(ctx context.Context, namespace string, a Aside) (err error) {
	others := Info{Cluster: a.Cluster}.tenants()
	if err := p.take(ctx, namespace, others); err != nil {
		return err
	}
	defer p.slots.Release(namespace, others...)
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the work panicked: %v", cause)
			logr.FromContextOrDiscard(ctx).Error(err, "Work panicked", "stack", string(debug.Stack()))
		}
	}()
	return a.Work(ctx, func() func() { return p.idle(namespace, others) })
}
