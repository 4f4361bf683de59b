// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// ErrOtherLeads is the error of acquiring a Lease while a Lease of the same name is held in another
// namespace.
var ErrOtherLeads = errors.New("another controller holds a Lease of the same name in another namespace")

// withdrawTimeout limits the release of the Lease when the process ends.
const withdrawTimeout = 5 * time.Second

// StandbyOptions configure a StandbyLock. All are required.
type StandbyOptions struct {
	// Namespace is the namespace of the own Lease.
	Namespace string
	// List returns the Leases of the same name in all namespaces.
	List func(ctx context.Context) ([]Lease, error)
	// Retry is the pause before the other Leases are read again.
	Retry time.Duration
	Now   func() time.Time
	Log   logr.Logger
	// Waiting is called when the lock starts to wait for a Lease, or for another one. Ended is
	// called when a wait is over.
	Waiting func(Lease)
	Ended   func()
}

// StandbyLock is a lock for leader election. It is acquired only while no other Lease of its name is
// held. Once acquired, it is renewed whatever the others do. The elector uses it from one goroutine.
type StandbyLock struct {
	resourcelock.Interface

	o    StandbyOptions
	seen observations
	// leads is true once the lock is acquired.
	leads bool
	// mayHold is true if the own Lease may have this process as its holder.
	mayHold bool
	// waitsFor is the Lease that was reported last; zero if none was.
	waitsFor Lease
	// unlisted is true once it was logged that the others may not be read.
	unlisted bool
}

// NewStandbyLock returns a StandbyLock around lock.
func NewStandbyLock(lock resourcelock.Interface, o StandbyOptions) *StandbyLock {
	return &StandbyLock{Interface: lock, o: o, seen: observations{}}
}

// Get implements resourcelock.Interface. Before the lock is acquired, it returns only while no
// other Lease is held: the elector would log an error at each retry.
func (l *StandbyLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if !l.leads {
		if err := l.await(ctx); err != nil {
			return nil, nil, err
		}
	}
	return l.Interface.Get(ctx)
}

// Create implements resourcelock.Interface.
func (l *StandbyLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.acquire(ctx, record, l.Interface.Create)
}

// Update implements resourcelock.Interface.
func (l *StandbyLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if l.leads || record.HolderIdentity != l.Identity() {
		return l.Interface.Update(ctx, record)
	}
	return l.acquire(ctx, record, l.Interface.Update)
}

// acquire writes the own Lease, then reads the others, and returns nil if this process may lead.
func (l *StandbyLock) acquire(ctx context.Context, record resourcelock.LeaderElectionRecord, write func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	// Equal times mean that the holder does not lead yet.
	record.AcquireTime = record.RenewTime
	// A write without an answer may have been carried out.
	l.mayHold = true
	if err := write(ctx, record); err != nil {
		return err
	}
	d, err := l.decide(ctx)
	if err != nil {
		return err
	}
	if d.Lead {
		l.leads = true
		l.report(Lease{})
		return nil
	}
	l.report(d.For)
	if !d.Keep {
		err = l.withdraw(ctx)
	}
	return errors.Join(ErrOtherLeads, err)
}

// await waits until no other Lease is held. It releases the own Lease if another controller leads.
// While the API server does not answer, it waits, too.
func (l *StandbyLock) await(ctx context.Context) error {
	for {
		d, err := l.decide(ctx)
		switch {
		case err != nil:
			l.o.Log.Info("cannot read the Leases of other namespaces, trying again", "cause", err.Error(), "after", l.o.Retry.String())
		case d.Lead:
			l.report(Lease{})
			return nil
		default:
			l.report(d.For)
		}
		if err == nil && !d.Keep {
			if err := l.withdraw(ctx); err != nil {
				l.o.Log.Info("cannot release the own Lease, trying again", "cause", err.Error())
			}
		}
		select {
		case <-time.After(l.o.Retry):
		case <-ctx.Done():
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
			defer cancel()
			return errors.Join(ctx.Err(), l.withdraw(ending))
		}
	}
}

// decide reads the Leases of other namespaces. Without the right to, this process may lead.
func (l *StandbyLock) decide(ctx context.Context) (Decision, error) {
	all, err := l.o.List(ctx)
	if apierrors.IsForbidden(err) {
		if !l.unlisted {
			l.unlisted = true
			l.o.Log.Info("no right to list Leases: controllers in other namespaces are not looked for", "cause", err.Error())
		}
		return Decision{Lead: true}, nil
	}
	if err != nil {
		return Decision{}, fmt.Errorf("list the Leases of other namespaces: %w", err)
	}
	var others []Lease
	for _, lease := range all {
		if lease.Namespace != l.o.Namespace {
			others = append(others, lease)
		}
	}
	// After the answer: a Lease must not count as unchanged for longer than it is.
	now := l.o.Now()
	return DecideStandby(l.o.Namespace, l.seen.update(others, now), now), nil
}

// withdraw releases the own Lease if this process holds it.
func (l *StandbyLock) withdraw(ctx context.Context) error {
	if !l.mayHold {
		return nil
	}
	record, _, err := l.Interface.Get(ctx)
	if apierrors.IsNotFound(err) {
		l.mayHold = false
		return nil
	}
	if err != nil {
		return err
	}
	if record.HolderIdentity == l.Identity() {
		now := metav1.NewTime(l.o.Now())
		err = l.Interface.Update(ctx, resourcelock.LeaderElectionRecord{
			LeaderTransitions: record.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
		})
	}
	l.mayHold = err != nil
	return err
}

// report calls Waiting or Ended if the holder of the awaited Lease is another one than before.
func (l *StandbyLock) report(now Lease) {
	before := l.waitsFor
	l.waitsFor = now
	switch {
	case before.Namespace == now.Namespace && before.Holder == now.Holder:
	case now.Holder != "":
		l.o.Waiting(now)
	default:
		l.o.Ended()
	}
}
