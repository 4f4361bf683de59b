// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package attempt runs the actions of releases in the background. There is at most one attempt per
// release and a limited number at a time. The pool enqueues a release when its attempt ends, so a
// reconciliation never waits for Helm.
//
// The package makes no decisions and does not depend on the contents of a task.
//
// Files:
//
//	pool.go    Pool, its slots, and the life of an attempt
//	aside.go   other work for a release, in the same slots
//	turn.go    Turns, the slots of reconciliations
package attempt

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cancel"
	"github.com/pintle-dev/pintle/internal/fair"
	"github.com/pintle-dev/pintle/internal/release"
)

// Task runs one action. It must return soon after ctx is cancelled, and only after all its writes
// have ended. While it only waits, it may release its slot with idle. It must acquire a slot again
// with the function that idle returns, before it returns or panics.
type Task func(ctx context.Context, idle func() (resume func())) release.Outcome

// Pool runs tasks. It is a manager Runnable: tasks run from Start until its context ends. Start
// returns after all of them have returned. All methods may be called concurrently.
type Pool struct {
	size int
	// slots are shared by namespaces and other clusters.
	slots   *fair.Semaphore
	enqueue func(types.NamespacedName)

	mu       sync.Mutex
	base     context.Context //nolint:containedctx // the lifetime of the manager, set by Start
	attempts map[types.NamespacedName]*attempt
	// asides cancel the work aside of releases.
	asides  map[types.NamespacedName]context.CancelCauseFunc
	running sync.WaitGroup
}

// Info describes an attempt.
type Info struct {
	Action  release.HelmAction
	Desired release.Desired
	Started time.Time
	// Cluster is another cluster that the action works on; empty for the controller's own.
	Cluster string
}

// tenants returns who uses a slot beside the namespace.
func (i Info) tenants() []string {
	if i.Cluster == "" {
		return nil
	}
	// A blank cannot be in the name of a namespace.
	return []string{"cluster " + i.Cluster}
}

type attempt struct {
	info   Info
	cancel context.CancelCauseFunc
	// end releases the resources of the context.
	end func()
	// outcome is set when the task has returned. The attempt then stays until its outcome is
	// recorded.
	outcome *release.Outcome
}

// NewPool returns a pool with the given number of slots. It calls enqueue when an attempt has
// ended; enqueue must not block. now is the clock by which namespaces share the slots.
func NewPool(slots int, now func() time.Time, enqueue func(types.NamespacedName)) *Pool {
	return &Pool{
		size: slots, slots: fair.New(fair.Options{Size: slots, Now: now}), enqueue: enqueue,
		attempts: map[types.NamespacedName]*attempt{}, asides: map[types.NamespacedName]context.CancelCauseFunc{},
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. The lease may be released only
// after every Helm call has returned.
func (p *Pool) NeedLeaderElection() bool { return true }

// Start runs tasks until ctx ends, then cancels them with release.ErrShutdown and waits for them.
func (p *Pool) Start(ctx context.Context) error {
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	p.mu.Lock()
	p.base = base
	p.mu.Unlock()
	<-ctx.Done()
	p.mu.Lock()
	p.base = nil
	p.mu.Unlock()
	cancel(release.ErrShutdown)
	p.running.Wait()
	return nil
}

// Begin runs a task in the background. It returns false and does nothing if key has an attempt that
// runs or is not recorded, or if the pool is not started or is stopping.
func (p *Pool) Begin(ctx context.Context, key types.NamespacedName, info Info, task Task) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, exists := p.attempts[key]; exists || p.base == nil {
		return false
	}
	// The task keeps the values of ctx, such as the logger, and not its deadline.
	ctx, end := cancel.New(context.WithoutCancel(ctx))
	base := p.base
	stop := context.AfterFunc(base, func() { end(context.Cause(base)) })
	a := &attempt{info: info, cancel: end, end: func() { stop(); end(context.Canceled) }}
	p.attempts[key] = a
	p.endAside(key, context.Canceled)
	p.running.Add(1)
	go p.run(ctx, key, a, task)
	return true
}

func (p *Pool) run(ctx context.Context, key types.NamespacedName, a *attempt, task Task) {
	defer p.running.Done()
	defer a.end()
	outcome := p.perform(ctx, key.Namespace, a.info, task)
	outcome.Announced = a.info.Started
	p.mu.Lock()
	a.outcome = &outcome
	p.mu.Unlock()
	p.enqueue(key)
}

// perform runs a task in a slot of a namespace. A panic ends the attempt only and not the process with all other
// attempts.
func (p *Pool) perform(ctx context.Context, namespace string, info Info, task Task) (outcome release.Outcome) {
	outcome = release.Outcome{Action: info.Action, Desired: info.Desired}
	others := info.tenants()
	if err := p.take(ctx, namespace, others); err != nil {
		outcome.Err, outcome.Cancelled = err, true
		return outcome
	}
	defer p.slots.Release(namespace, others...)
	defer func() {
		if cause := recover(); cause != nil {
			outcome.Err = fmt.Errorf("%s panicked: %v", release.Name(info.Action), cause)
			logr.FromContextOrDiscard(ctx).Error(outcome.Err, "Attempt panicked", "stack", string(debug.Stack()))
		}
	}()
	return task(ctx, func() func() { return p.idle(namespace, others) })
}

var errNotStarted = errors.New("cancelled before the action started")

// take acquires a first slot.
func (p *Pool) take(ctx context.Context, namespace string, others []string) error {
	if p.slots.Acquire(ctx, namespace, others...) != nil {
		return errNotStarted
	}
	// A stopping pool may not have cancelled ctx yet.
	if p.started() {
		return nil
	}
	p.slots.Release(namespace, others...)
	return errNotStarted
}

// started reports whether the pool accepts and starts tasks.
func (p *Pool) started() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.base != nil
}

// idle releases the slot of the caller. resume acquires a slot again, before the first ones of its
// namespace. It cannot be cancelled, because the task needs it to end.
func (p *Pool) idle(namespace string, others []string) (resume func()) {
	p.slots.Release(namespace, others...)
	return func() { p.slots.Resume(namespace, others...) }
}

// Stats returns the number of attempts that have not ended, of slots, and of used slots.
func (p *Pool) Stats() (inProgress, slots, used int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.attempts {
		if a.outcome == nil {
			inProgress++
		}
	}
	return inProgress, p.size, p.slots.Used()
}

// Busy reports whether key has an attempt that runs or is not recorded, or work aside.
func (p *Pool) Busy(key types.NamespacedName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.attempts[key] != nil || p.asides[key] != nil
}

// Running returns the running attempt for key; nil if there is none.
func (p *Pool) Running(key types.NamespacedName) *release.Running {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.attempts[key]
	if a == nil || a.outcome != nil {
		return nil
	}
	return &release.Running{
		Action:     helmv2.ReleaseAction(release.Name(a.info.Action)),
		Generation: a.info.Desired.Generation,
		Started:    a.info.Started,
		Desired:    a.info.Desired,
	}
}

// Outcome returns the outcome of an attempt that has ended and is not recorded.
func (p *Pool) Outcome(key types.NamespacedName) (release.Outcome, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.attempts[key]
	if a == nil || a.outcome == nil {
		return release.Outcome{}, false
	}
	return *a.outcome, true
}

// Forget drops the outcome of an ended attempt after it was recorded or its HelmRelease was
// removed. A running attempt is not changed.
func (p *Pool) Forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.attempts[key]; a != nil && a.outcome != nil {
		delete(p.attempts, key)
	}
}

// Cancel cancels the context of the attempt for key with a cause, see cancel.New, and its work aside.
// The attempt stays Running until its task returns.
func (p *Pool) Cancel(key types.NamespacedName, cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endAside(key, cause)
	if a := p.attempts[key]; a != nil {
		a.cancel(cause)
	}
}
