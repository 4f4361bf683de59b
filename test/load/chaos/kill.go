// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/pintle-dev/pintle/test/load/frame"
)

const (
	// interruptedReleases is the default number of releases of the modes kill and outage.
	interruptedReleases = 50
	// shortestLife and longestLife limit how long a process lives before it is ended. Some end
	// while they start.
	shortestLife = 100 * time.Millisecond
	longestLife  = 5 * time.Second
	// changeEvery is how often each release changes, on average.
	changeEvery = 15 * time.Second
	// pushLimit limits the repetition of a request that changes a release.
	pushLimit = 3 * time.Minute
)

// moment is the end of a process.
type moment struct {
	// after is how long the process lives.
	after time.Duration
	// term reports whether it is ended by SIGTERM, and not by SIGKILL.
	term bool
}

// moments returns the ends of processes, which the seed chooses.
func moments(seed uint64, kills, terms int) []moment {
	random := rand.New(rand.NewPCG(seed, 2))
	all := make([]moment, kills+terms)
	for i := range all {
		all[i] = moment{after: shortestLife + time.Duration(random.Int64N(int64(longestLife-shortestLife))), term: i < terms}
	}
	random.Shuffle(len(all), func(i, j int) { all[i].term, all[j].term = all[j].term, all[i].term })
	return all
}

// policies are deletion policies of hooks. Those that leave Jobs behind are for hooks with another
// name in each revision.
func policies() []string {
	return []string{"before-hook-creation", "hook-succeeded", "hook-failed"}
}

// inputsOf returns the inputs of a commit of the nth member: hooks last one to three seconds, and
// the releases differ in the deletion policy of their hooks.
func inputsOf(random *rand.Rand, n int, message string) inputs {
	return inputs{
		Message: message, Marker: true, Policy: policies()[n%len(policies())],
		Delay: (time.Duration(1+random.IntN(3)) * time.Second).String(),
	}
}

// killMode ends the controller at random moments while releases change.
func (c *chaos) killMode(ctx context.Context) (outcomes []outcome, err error) {
	repeat := fmt.Sprintf("MODE=kill SEED=%d KILLS=%d TERMS=%d RELEASES=%d", c.Seed, c.kills, c.terms, c.size(interruptedReleases))
	all, err := c.fleet(ctx, "kill", c.size(interruptedReleases), repeat)
	if err != nil {
		return nil, err
	}
	return outcomes, c.with(ctx, func() error {
		k, err := c.replica(ctx, "kill")
		if err != nil {
			return err
		}
		c.controllers = append(c.controllers, k)
		faults, err := c.killing(ctx, all)
		if err != nil {
			return err
		}
		if _, err := c.await(ctx, all, c.limits.waiting+conclusion); err != nil {
			return err
		}
		c.unsettled(all, "the last fault")
		outcomes, err = c.concludeInterrupted(ctx, all, faults)
		return err
	})
}

// killing ends the controller again and again, and starts it each time. It returns when it was
// away.
func (c *chaos) killing(ctx context.Context, all []*member) (faults []window, err error) {
	group, ctx := errgroup.WithContext(ctx)
	over := make(chan struct{})
	group.Go(func() error { return c.flow(ctx, all, over) })
	group.Go(func() error {
		defer close(over)
		ends := moments(c.Seed, c.kills, c.terms)
		for i, m := range ends {
			if err := frame.Pause(ctx, m.after); err != nil {
				return err
			}
			if err := c.alive(); err != nil {
				return err
			}
			w, err := kill(ctx, c.controllers[0], m.term)
			if err != nil {
				return err
			}
			if faults = append(faults, w); len(faults)%20 == 0 {
				frame.Say("%d of %d processes have ended", i+1, len(ends))
			}
		}
		return nil
	})
	return faults, group.Wait()
}

// flow changes releases at random until it is over. A third exists at once, the others follow in
// between, and all exist in the end.
func (c *chaos) flow(ctx context.Context, all []*member, over <-chan struct{}) error {
	random := rand.New(rand.NewPCG(c.Seed, 3))
	change := func(i int) error {
		m := all[i]
		return c.push(ctx, m, inputsOf(random, i, fmt.Sprint("change-", len(m.commits)+1)))
	}
	for i := range len(all) / 3 {
		if err := change(i); err != nil {
			return err
		}
	}
	every := time.NewTicker(changeEvery / time.Duration(len(all)))
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
			if err := change(random.IntN(len(all))); err != nil {
				return err
			}
			continue
		case <-over:
		}
		break
	}
	for i, m := range all {
		if len(m.commits) == 0 {
			if err := change(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// push creates a member or gives it other inputs. It repeats the request until the API server has
// answered it.
func (c *chaos) push(ctx context.Context, m *member, in inputs) error {
	hr := helmRelease(m.namespace, in, nil)
	var sent time.Time
	var refused error
	err := wait.PollUntilContextTimeout(ctx, pollEvery, pushLimit, true, func(ctx context.Context) (bool, error) {
		sent = time.Now()
		if len(m.commits) > 0 {
			refused = setInputs(ctx, c.Env.Client, hr, in)
		} else if refused = c.Env.Client.Create(ctx, hr); apierrors.IsAlreadyExists(refused) {
			// The answer of an earlier request was lost.
			refused = nil
		}
		return refused == nil, nil
	})
	if err != nil {
		return errors.Join(err, refused)
	}
	m.commits, m.since = append(m.commits, commit{message: in.Message, at: sent}), time.Time{}
	return nil
}

// unsettled notes the members that have not settled in time after a fault.
func (c *chaos) unsettled(all []*member, fault string) {
	for _, m := range all {
		if m.since.IsZero() {
			m.outcome.settled, m.outcome.failed = false, true
			m.outcome.say("not settled %s after %s", c.limits.waiting+conclusion, fault)
		}
	}
}

// concludeInterrupted evaluates all members when they have settled, or had their time.
func (c *chaos) concludeInterrupted(ctx context.Context, all []*member, faults []window) ([]outcome, error) {
	return c.conclude(ctx, all, func(m *member, f *facts) deviation {
		m.outcome.interrupted = true
		m.outcome.changes, m.outcome.recovery = len(m.commits), recoveryOf(f, m.commits, faults)
		v := compareInterrupted(f, m.commits)
		v.late(m.outcome.recovery, c.limits)
		return v
	})
}
