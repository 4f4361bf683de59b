// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/cancel"
	"github.com/pintle-dev/pintle/internal/readiness"
	"github.com/pintle-dev/pintle/internal/release"
)

const (
	// silentAfter is the time without events after which a watched object is read: a watch can
	// stop without an error.
	silentAfter = 30 * time.Second
	// lateAfter is the duration of a short wait.
	lateAfter = 5 * time.Second
)

// loop is one wait.
type loop struct {
	condition

	ctx     context.Context //nolint:containedctx // a loop lives as long as one call
	options *Options
	results *results
	// pending are the objects that have not been current yet.
	pending []*object
	inbox   *inbox
	// waited is the duration of the wait so far.
	waited    time.Duration
	diagnosis diagnosis
}

var errTimeout = errors.New("timeout waiting for")

// wait returns when every object was current once, or when one has failed.
//
// The answer to the write of an object is its first state. After that, the object is watched if
// possible, and polled otherwise.
func (l *loop) wait(timeout time.Duration) error {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	l.start()
	defer l.end()
	if done, err := l.done(); done {
		return l.diagnosis.explain(err, l.pending, 0)
	}
	if l.options.Idle != nil {
		resume := l.options.Idle()
		defer resume()
	}
	l.watch(l.pending)
	if done, err := l.done(); done {
		return l.diagnosis.explain(err, l.pending, 0)
	}
	err := l.until(deadline.C)
	if errors.Is(err, errTimeout) {
		return l.diagnosis.explain(err, l.pending, timeout)
	}
	return l.diagnosis.explain(err, l.pending, 0)
}

// start checks every object for the first time.
func (l *loop) start() {
	var unknown []*object
	for _, o := range l.pending {
		if r, ok := l.results.take(o.info); ok && l.check != nil {
			o.observe(r.observation, r.live, l.condition)
		}
		if o.known.MustRead() {
			unknown = append(unknown, o)
		}
	}
	l.read(unknown)
}

func (l *loop) read(all []*object) { eachOf(all, func(o *object) { o.read(l.condition) }) }

// done removes the objects that are current and reports whether the wait is over.
func (l *loop) done() (done bool, err error) {
	l.pending = slices.DeleteFunc(l.pending, func(o *object) bool {
		if o.current() {
			o.subscription.leave()
		}
		return o.current()
	})
	if len(l.pending) == 0 {
		return true, nil
	}
	if _, failures := reasonsOf(l.pending); len(failures) > 0 {
		return true, fmt.Errorf("failed early due to stalled resources: [%s]", strings.Join(failures, ", "))
	}
	return false, nil
}

func (l *loop) end() {
	for _, o := range l.pending {
		o.subscription.leave()
	}
}

// watch subscribes to objects from their last known versions, as far as that is possible, and
// reads those that may have changed since.
func (l *loop) watch(all []*object) {
	if l.check == nil {
		return
	}
	// The first subscription decides where a watch starts.
	var unwatched []*object
	for _, o := range all {
		if o.subscription == nil && o.live != nil {
			unwatched = append(unwatched, o)
		}
	}
	slices.SortStableFunc(unwatched, func(a, b *object) int {
		return readiness.Compare(a.live.GetResourceVersion(), b.live.GetResourceVersion())
	})
	var missed []*object
	for _, o := range unwatched {
		var again bool
		o.subscription, again = l.options.Watches.join(l.ctx, l.options.Getter, o.info, o.live, l.inbox)
		if again {
			missed = append(missed, o)
		}
	}
	l.read(missed)
}

// until returns when the wait is over, or cancelled, or has timed out.
func (l *loop) until(deadline <-chan time.Time) error {
	var late <-chan time.Time
	if l.late != nil {
		timer := time.NewTimer(lateAfter)
		defer timer.Stop()
		late = timer.C
	}
	examine := l.diagnosis.start(l.pending)
	defer l.diagnosis.end()
	cancelled := l.ctx.Done()
	pause := l.pause()
	next := time.NewTimer(pause)
	defer func() { next.Stop() }()
	for {
		select {
		case <-next.C:
			l.waited += pause
			l.poll(pause)
			pause = l.pause()
			next.Reset(pause)
		case <-l.inbox.ready:
			l.receive()
			if sooner := l.pause(); sooner < pause {
				pause = sooner
				next.Reset(pause)
			}
		case <-late:
			late = nil
			l.late()
		case <-examine:
			if err := l.diagnosis.examineSilent(l.pending); err != nil {
				return err
			}
		case <-cancelled:
			var err error
			if cancelled, err = l.cancellation(); err != nil {
				return err
			}
		case <-deadline:
			reasons, _ := reasonsOf(l.pending)
			return fmt.Errorf("%w: [%s]", errTimeout, strings.Join(reasons, ", "))
		}
		l.diagnosis.examineFailing(l.pending)
		if done, err := l.done(); done {
			return err
		}
	}
}

// cancellation returns the error of a wait that was cancelled. A hook of an outdated action runs to
// its end, and so does the wait before a hook of an install: it then returns a channel that is closed
// when the action must end. The channel may be nil.
func (l *loop) cancellation() (again <-chan struct{}, err error) {
	ending := cancel.Ending(l.ctx)
	switch outdated := errors.Is(context.Cause(l.ctx), release.ErrOutdated); {
	case !outdated, ending != l.ctx && ending.Err() != nil:
		return nil, ErrCancelled
	case l.endsWhenOutdated:
		return nil, fmt.Errorf("%w: %w", ErrCancelled, release.ErrOutdated)
	case ending == l.ctx:
		return nil, nil //nolint:nilnil // nothing else cancels the action
	}
	return ending.Done(), nil
}

// pause returns how long to wait for events until the next read of any object.
func (l *loop) pause() time.Duration {
	if slices.ContainsFunc(l.pending, func(o *object) bool { return !o.watched() }) {
		return l.interval(l.waited)
	}
	return silentAfter
}

// poll reads the objects without watch, tries to watch them from then on, and reads the watched
// objects without events for a long time.
func (l *loop) poll(pause time.Duration) {
	var all []*object
	for _, o := range l.pending {
		o.silent += pause
		if !o.watched() || o.silent >= silentAfter {
			all = append(all, o)
		}
	}
	l.read(all)
	l.watch(slices.DeleteFunc(all, (*object).current))
}

// receive merges the events that have arrived, and reads the objects whose state the events do not
// contain.
func (l *loop) receive() {
	all := l.inbox.take()
	var unknown []*object
	lost := false
	for _, o := range l.pending {
		n, ok := all[o.subscription]
		if o.subscription == nil || !ok {
			continue
		}
		if n.gap {
			o.known.Observe(readiness.Observation{Source: readiness.Gap})
		}
		for _, e := range n.events {
			if !o.settled() {
				o.observe(e.observation, e.object, l.condition)
			}
		}
		if n.lost {
			o.subscription, lost = nil, true
		}
		if o.known.MustRead() && !o.settled() {
			unknown = append(unknown, o)
		}
	}
	l.read(unknown)
	if lost {
		l.watch(l.pending)
	}
}
