// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package attempt runs the actions of releases in the background: at most one
// per release, a bounded number at a time, and it wakes the release when its
// action ends. Reconciling never waits for Helm.
//
// It does not know what it runs, and it decides nothing.
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
	"github.com/pintle-dev/pintle/internal/release"
)

// Task runs one action. It must return soon after ctx is cancelled, and only
// when nothing it started writes any more. While it does nothing but wait it may
// give its slot back through idle and take one again through the function idle
// returns, which it must call before it ends in whatever way.
type Task func(ctx context.Context, idle func() (resume func())) release.Outcome

// Pool runs tasks. It is a manager Runnable: tasks run from Start until its
// context ends, and Start returns only when all of them have.
type Pool struct {
	slots chan struct{}
	// entry lets one attempt at a time wait for its first slot.
	entry   chan struct{}
	enqueue func(types.NamespacedName)

	mu       sync.Mutex
	base     context.Context //nolint:containedctx // the life of the manager, handed over by Start
	attempts map[types.NamespacedName]*attempt
	running  sync.WaitGroup
}

// Info describes an attempt to those who look at it from outside.
type Info struct {
	Action  release.Action
	Desired release.Desired
	Started time.Time
}

type attempt struct {
	info   Info
	cancel context.CancelCauseFunc
	// outcome is set when the task has returned; the attempt then stays until
	// its outcome is recorded.
	outcome *release.Outcome
}

// NewPool returns a pool of slots slots that calls wake, which must not block,
// whenever an attempt has ended.
func NewPool(slots int, wake func(types.NamespacedName)) *Pool {
	return &Pool{
		slots: make(chan struct{}, slots), entry: make(chan struct{}, 1), enqueue: wake,
		attempts: map[types.NamespacedName]*attempt{},
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: the lease may be
// given away only when every Helm call has returned.
func (p *Pool) NeedLeaderElection() bool { return true }

// Start lets tasks run until ctx ends, then cancels them and waits for them.
func (p *Pool) Start(ctx context.Context) error {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.mu.Lock()
	p.base = base
	p.mu.Unlock()
	<-ctx.Done()
	p.mu.Lock()
	p.base = nil
	p.mu.Unlock()
	cancel()
	p.running.Wait()
	return nil
}

// Begin runs a task in the background. It reports false, and does nothing, if
// an attempt for key runs or has ended without having been recorded, or if the
// pool is not started or already stopping.
func (p *Pool) Begin(ctx context.Context, key types.NamespacedName, info Info, task Task) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, exists := p.attempts[key]; exists || p.base == nil {
		return false
	}
	// The values of ctx, a logger among them, belong to the visit and stay
	// useful; its deadline does not.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(p.base, func() { cancel(context.Canceled) })
	a := &attempt{info: info, cancel: func(cause error) { stop(); cancel(cause) }}
	p.attempts[key] = a
	p.running.Add(1)
	go p.run(ctx, key, a, task)
	return true
}

func (p *Pool) run(ctx context.Context, key types.NamespacedName, a *attempt, task Task) {
	defer p.running.Done()
	defer a.cancel(context.Canceled)
	outcome := p.perform(ctx, a.info, task)
	outcome.Announced = a.info.Started
	p.mu.Lock()
	a.outcome = &outcome
	p.mu.Unlock()
	p.enqueue(key)
}

// perform runs a task in a slot. A panic ends the attempt and not the process,
// which would take all other attempts with it.
func (p *Pool) perform(ctx context.Context, info Info, task Task) (outcome release.Outcome) {
	outcome = release.Outcome{Action: info.Action, Desired: info.Desired}
	if err := p.take(ctx); err != nil {
		outcome.Err, outcome.Cancelled = err, true
		return outcome
	}
	defer func() { <-p.slots }()
	defer func() {
		if cause := recover(); cause != nil {
			outcome.Err = fmt.Errorf("%s panicked: %v", release.Name(info.Action), cause)
			logr.FromContextOrDiscard(ctx).Error(outcome.Err, "Attempt panicked", "stack", string(debug.Stack()))
		}
	}()
	return task(ctx, p.idle)
}

var errNotStarted = errors.New("cancelled before it began")

// take waits for a slot. Those who begin wait for one by one, so that who goes on
// after a wait has at most one of them before him, and not all that are left of a
// thousand.
func (p *Pool) take(ctx context.Context) error {
	select {
	case p.entry <- struct{}{}:
		defer func() { <-p.entry }()
	case <-ctx.Done():
		return errNotStarted
	}
	select {
	case p.slots <- struct{}{}:
		if ctx.Err() == nil && p.started() {
			return nil
		}
		// Both were ready, and select takes either; or the pool is stopping and its
		// end has not reached ctx yet.
		<-p.slots
	case <-ctx.Done():
	}
	return errNotStarted
}

func (p *Pool) started() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.base != nil
}

// idle gives the caller's slot back. Taking it again is not cancelled: the task
// has to go on in order to end.
func (p *Pool) idle() (resume func()) {
	<-p.slots
	return func() { p.slots <- struct{}{} }
}

// Stats returns how many attempts have not ended, how many slots there are, and how
// many of them are taken.
func (p *Pool) Stats() (inProgress, slots, used int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.attempts {
		if a.outcome == nil {
			inProgress++
		}
	}
	return inProgress, cap(p.slots), len(p.slots)
}

// Running returns what runs for key, nil if nothing does.
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

// Ended returns the outcome of an attempt that has ended and is not recorded.
func (p *Pool) Ended(key types.NamespacedName) (release.Outcome, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.attempts[key]
	if a == nil || a.outcome == nil {
		return release.Outcome{}, false
	}
	return *a.outcome, true
}

// Forget drops the outcome of an attempt: it is recorded, or nobody is left to
// record it for. An attempt that still runs is not touched.
func (p *Pool) Forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.attempts[key]; a != nil && a.outcome != nil {
		delete(p.attempts, key)
	}
}

// Cancel asks the attempt for key to end early; it goes on being Running until
// it has. The task finds the cause in its context; of several the first counts.
func (p *Pool) Cancel(key types.NamespacedName, cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.attempts[key]; a != nil {
		a.cancel(cause)
	}
}
