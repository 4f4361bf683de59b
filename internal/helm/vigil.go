// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"helm.sh/helm/v3/pkg/kube"

	"github.com/pintle-dev/pintle/internal/readiness"
	"github.com/pintle-dev/pintle/internal/release"
)

const (
	// unheardAfter is how long an object that is followed may stay silent before it
	// is looked at all the same: a watch can die without a word.
	unheardAfter = 30 * time.Second
	// lateAfter is how long a wait is a short one.
	lateAfter = 5 * time.Second
)

// said tells why objects are not ready, and separately why some will never be.
func said(all []*opinion) (reasons, failures []string) {
	for _, o := range all {
		switch {
		case o.err != nil:
			reasons = append(reasons, fmt.Sprintf("%s: %s", subject(o.info), o.err))
		case o.result.Status == status.FailedStatus:
			failures = append(failures, describe(o.info, o.result))
		case !o.current():
			reasons = append(reasons, describe(o.info, o.result))
		}
	}
	return reasons, failures
}

// vigil is one wait.
type vigil struct {
	watch

	client *client
	// pending are the objects that have not been current yet.
	pending []*opinion
	inbox   *inbox
	// waited is how long the wait has lasted.
	waited    time.Duration
	suspicion suspicion
}

// wait looks at every object until each has been judged current once. Objects
// that will certainly never get there end it early.
//
// What was answered when an object was written is the first look at it. After
// that, an object is followed where that is possible, and looked at now and then
// where it is not.
func (c *client) wait(list kube.ResourceList, timeout time.Duration, w watch) error {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	v := &vigil{watch: w, client: c, pending: opinions(list), inbox: newInbox()}
	v.begin()
	defer v.end()
	if done, err := v.verdict(); done {
		return v.explain(err)
	}
	if c.idle != nil {
		resume := c.idle()
		defer resume()
	}
	v.follow(v.pending)
	if done, err := v.verdict(); done {
		return v.explain(err)
	}
	return v.explain(v.until(deadline.C))
}

// begin judges every object for the first time.
func (v *vigil) begin() {
	var unknown []*opinion
	for _, o := range v.pending {
		if e, ok := v.client.recall(o.info); ok && v.judge != nil {
			o.observe(e.seen, e.live, v.watch)
		}
		if o.known.MustRead() {
			unknown = append(unknown, o)
		}
	}
	v.look(unknown)
}

func (v *vigil) look(at []*opinion) { eachOf(at, func(o *opinion) { o.look(v.watch) }) }

// verdict drops what is current and reports whether the wait is over.
func (v *vigil) verdict() (done bool, err error) {
	v.pending = slices.DeleteFunc(v.pending, func(o *opinion) bool {
		if o.current() {
			o.sub.leave()
		}
		return o.current()
	})
	if len(v.pending) == 0 {
		return true, nil
	}
	if _, failures := said(v.pending); len(failures) > 0 {
		return true, fmt.Errorf("failed early due to stalled resources: [%s]", strings.Join(failures, ", "))
	}
	return false, nil
}

func (v *vigil) end() {
	for _, o := range v.pending {
		o.sub.leave()
	}
}

// follow follows objects from where they were last seen, as far as that is
// possible, and looks again at those that may have moved on since then.
func (v *vigil) follow(all []*opinion) {
	if v.judge == nil {
		return
	}
	// The first to come decides from when on nothing is missed.
	var apart []*opinion
	for _, o := range all {
		if o.sub == nil && o.live != nil {
			apart = append(apart, o)
		}
	}
	slices.SortStableFunc(apart, func(a, b *opinion) int {
		return readiness.Compare(a.live.GetResourceVersion(), b.live.GetResourceVersion())
	})
	var missed []*opinion
	for _, o := range apart {
		var again bool
		o.sub, again = v.client.followers.join(v.client.ctx, v.client.getter, o.info, o.live, v.inbox)
		if again {
			missed = append(missed, o)
		}
	}
	v.look(missed)
}

// until goes on until the wait is over, or cut off.
func (v *vigil) until(deadline <-chan time.Time) error {
	var late <-chan time.Time
	if v.late != nil {
		timer := time.NewTimer(lateAfter)
		defer timer.Stop()
		late = timer.C
	}
	suspicious := v.beginSuspicion()
	defer v.endSuspicion()
	cancelled := v.client.ctx.Done()
	pause := v.pause()
	next := time.NewTimer(pause)
	defer func() { next.Stop() }()
	for {
		select {
		case <-next.C:
			v.waited += pause
			v.lookAround(pause)
			pause = v.pause()
			next.Reset(pause)
		case <-v.inbox.ready:
			v.hear()
			if sooner := v.pause(); sooner < pause {
				pause = sooner
				next.Reset(pause)
			}
		case <-late:
			late = nil
			v.late()
		case <-suspicious:
			if err := v.suspect(); err != nil {
				return err
			}
		case <-cancelled:
			superseded := errors.Is(context.Cause(v.client.ctx), release.ErrOutdated)
			if superseded && v.yields {
				return fmt.Errorf("%w: %w", errCancelled, release.ErrOutdated)
			}
			if !superseded {
				return errCancelled
			}
			// A hook is not left halfway for that.
			cancelled = nil
		case <-deadline:
			reasons, _ := said(v.pending)
			return fmt.Errorf("timeout waiting for: [%s]", strings.Join(reasons, ", "))
		}
		v.lookEarly()
		if done, err := v.verdict(); done {
			return err
		}
	}
}

// pause says how long to wait for news until the next look at anything.
func (v *vigil) pause() time.Duration {
	if slices.ContainsFunc(v.pending, func(o *opinion) bool { return !o.followed() }) {
		return v.pace(v.waited)
	}
	return unheardAfter
}

// lookAround looks at the objects that are not followed, and tries to follow them
// from then on, and at those of which nothing has been heard for long.
func (v *vigil) lookAround(pause time.Duration) {
	var at []*opinion
	for _, o := range v.pending {
		o.unheard += pause
		if !o.followed() || o.unheard >= unheardAfter {
			at = append(at, o)
		}
	}
	v.look(at)
	v.follow(slices.DeleteFunc(at, (*opinion).current))
}

// hear merges the events that have arrived, and reads the objects of which they do not
// tell the state.
func (v *vigil) hear() {
	all := v.inbox.take()
	var ask []*opinion
	lost := false
	for _, o := range v.pending {
		n, ok := all[o.sub]
		if o.sub == nil || !ok {
			continue
		}
		if n.gap {
			o.known.Observe(readiness.Observation{Source: readiness.Gap})
		}
		for _, e := range n.events {
			if !o.settled() {
				o.observe(e.seen, e.object, v.watch)
			}
		}
		if n.lost {
			o.sub, lost = nil, true
		}
		if o.known.MustRead() && !o.settled() {
			ask = append(ask, o)
		}
	}
	v.look(ask)
	if lost {
		v.follow(v.pending)
	}
}
