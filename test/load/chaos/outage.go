// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/load/frame"
)

const (
	// away is how long the API server is away, and outageReleases are in the middle of an upgrade
	// then.
	away           = 3 * time.Second
	outageReleases = 20
	// unreachable is the name of this kind of outage.
	unreachable = "unreachable"
	// hookDelay is the duration of a hook, and stagger the interval between upgrades, so that the
	// outage meets each phase of an upgrade.
	hookDelay = 500 * time.Millisecond
	stagger   = 100 * time.Millisecond

	// stoppedFor is how long the API server is stopped, and etcdStoppedFor how long etcd is.
	stoppedFor     = 45 * time.Second
	etcdStoppedFor = 30 * time.Second
	// startLimit is how long an ended API server may take to be ready again.
	startLimit = 3 * time.Minute
	// latest is the longest time from the middle of the changes of a round to its fault.
	latest = 2 * time.Second
	// overtakenEvery is one of how many releases changes once more after the beginning of a fault.
	overtakenEvery = 5
)

// fault is a kind of outage of mode outage.
type fault struct {
	// name is that of the rows of the table, namespace the prefix of namespaces.
	name, namespace string
	times           int
	// replicas is the number of controllers; more than one elect a leader.
	replicas int
	// strike returns when the fault began and when it was over.
	strike func(ctx context.Context) (window, error)
}

// faults returns all kinds of outages, except the one of outageMode.
func (c *chaos) faults() []fault {
	all := []fault{{"API server killed", "killed", c.outages, 1, c.killAPIServer}}
	if c.short {
		return all
	}
	return append(
		all,
		fault{fmt.Sprintf("API server stopped for %s", stoppedFor), "stopped", 1, 1, func(ctx context.Context) (window, error) {
			return c.stopComponents(ctx, stoppedFor, append(hookRunners(), harness.APIServer)...)
		}},
		fault{fmt.Sprintf("etcd stopped for %s", etcdStoppedFor), "etcd", 1, 1, func(ctx context.Context) (window, error) {
			return c.stopComponents(ctx, etcdStoppedFor, harness.Etcd)
		}},
		fault{"lease lost", "lease", c.outages, 2, c.changeLeader},
	)
}

// onlyFaults returns the faults whose whole names match a regular expression. It is an error if no
// name of mode outage matches.
func onlyFaults(all []fault, pattern *frame.Pattern) ([]fault, error) {
	chosen := slices.DeleteFunc(slices.Clone(all), func(f fault) bool { return !pattern.Matches(f.name) })
	if len(chosen) > 0 || pattern.Matches(unreachable) {
		return chosen, nil
	}
	names := []string{unreachable}
	for _, f := range all {
		names = append(names, f.name)
	}
	return nil, fmt.Errorf("no fault matches ONLY=%s: %s", pattern, list(names))
}

// hookRunners are the components that run hooks. They are stopped while the API server is away:
// otherwise their backoff would delay the hooks when it is back.
func hookRunners() []string {
	return []string{harness.ControllerManager, harness.Scheduler, harness.Kwok}
}

// faultsMode has each kind of outage occur in the middle of changes.
func (c *chaos) faultsMode(ctx context.Context) (outcomes []outcome, err error) {
	chosen, err := onlyFaults(c.faults(), &c.only)
	if err != nil {
		return nil, err
	}
	for _, f := range chosen {
		frame.Say("%s, %d times", f.name, f.times)
		some, err := c.faultMode(ctx, f)
		outcomes = append(outcomes, some...)
		if err != nil {
			return outcomes, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return outcomes, nil
}

// faultMode has one kind of outage occur.
func (c *chaos) faultMode(ctx context.Context, f fault) (outcomes []outcome, err error) {
	all, err := c.fleet(ctx, f.namespace, c.size(interruptedReleases), fmt.Sprintf("MODE=outage SEED=%d OUTAGES=%d RELEASES=%d", c.Seed, c.outages, c.size(interruptedReleases)))
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		m.outcome.groups = []string{f.name}
	}
	return outcomes, c.with(ctx, func() error {
		if err := c.replicas(ctx, f); err != nil {
			return err
		}
		random := rand.New(rand.NewPCG(c.Seed, 4))
		if err := c.change(ctx, random, all, "installed"); err != nil {
			return err
		}
		left, err := c.await(ctx, all, c.limits.step)
		if err == nil && left > 0 {
			err = fmt.Errorf("%d of %d releases are not installed after %s, although nothing failed", left, len(all), c.limits.step)
		}
		if err != nil {
			return err
		}
		c.revive = true
		var faults []window
		for i := range f.times {
			w, err := c.round(ctx, f, random, all, i+1)
			if err != nil {
				return err
			}
			faults = append(faults, w)
			left, err := c.await(ctx, all, c.limits.waiting+conclusion)
			if err != nil {
				return err
			}
			c.unsettled(all, fmt.Sprintf("fault %d", i+1))
			frame.Say("%s: %d of %d, away for %s, all settled %s later except %d", f.name, i+1, f.times,
				w.back.Sub(w.from).Round(100*time.Millisecond), time.Since(w.back).Round(100*time.Millisecond), left)
		}
		outcomes, err = c.concludeInterrupted(ctx, all, faults)
		return err
	})
}

// replicas starts the controllers for a kind of outage. The first one leads.
func (c *chaos) replicas(ctx context.Context, f fault) error {
	var args []string
	if f.replicas > 1 {
		args = election()
	}
	for i := range f.replicas {
		k, err := c.replica(ctx, fmt.Sprintf("%s-%d", f.namespace, i+1), args...)
		if err != nil {
			return err
		}
		c.controllers = append(c.controllers, k)
		if i == 0 && f.replicas > 1 {
			if _, err := c.leader(ctx, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// change gives each of some members other inputs, one after the other.
func (c *chaos) change(ctx context.Context, random *rand.Rand, all []*member, message string) error {
	for i, m := range all {
		if err := c.push(ctx, m, inputsOf(random, i, message)); err != nil {
			return err
		}
		if err := frame.Pause(ctx, stagger/2); err != nil {
			return err
		}
	}
	return nil
}

// round changes all members, and has a fault begin in the middle. Some members change once more
// then.
func (c *chaos) round(ctx context.Context, f fault, random *rand.Rand, all []*member, n int) (w window, err error) {
	first, second := fmt.Sprintf("round-%d", n), fmt.Sprintf("round-%d-overtaken", n)
	after := time.Duration(random.Int64N(int64(latest)))
	begun := make(chan struct{})
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := c.change(ctx, random, all, first); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-begun:
		}
		var some []*member
		for i := 0; i < len(all); i += overtakenEvery {
			some = append(some, all[i])
		}
		return c.change(ctx, random, some, second)
	})
	group.Go(func() error {
		if err := c.middle(ctx, all, first); err != nil {
			return err
		}
		if err := frame.Pause(ctx, after); err != nil {
			return err
		}
		close(begun)
		var err error
		w, err = f.strike(ctx)
		return err
	})
	return w, group.Wait()
}

// killAPIServer kills the API server, and starts it again at once.
func (c *chaos) killAPIServer(ctx context.Context) (window, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	w := window{from: time.Now()}
	err := c.Env.SignalComponents(syscall.SIGSTOP, hookRunners()...)
	if err == nil {
		err = c.Env.KillComponents(ctx, harness.APIServer)
	}
	if err == nil {
		err = c.Env.RestartComponents(ctx)
	}
	// No hook ends, and so no Job is deleted, before the observer sees it.
	if err == nil {
		err = c.observer.caughtUp(ctx, c.Env.Client, replicasNamespace)
	}
	w.back = time.Now()
	return w, errors.Join(err, c.Env.SignalComponents(syscall.SIGCONT, hookRunners()...))
}

// stopComponents stops components for some time. It returns when the API server answers again.
func (c *chaos) stopComponents(ctx context.Context, d time.Duration, names ...string) (w window, err error) {
	w.from = time.Now()
	if err := c.Env.SignalComponents(syscall.SIGSTOP, names...); err != nil {
		return w, err
	}
	err = errors.Join(frame.Pause(ctx, d), c.Env.SignalComponents(syscall.SIGCONT, names...))
	if err != nil {
		return w, err
	}
	err = wait.PollUntilContextCancel(ctx, pollEvery, true, func(ctx context.Context) (bool, error) {
		return c.Env.Client.Get(ctx, client.ObjectKey{Name: sourceNamespace}, &corev1.Namespace{}) == nil, nil
	})
	w.back = time.Now()
	return w, err
}

// changeLeader stops the leading controller until the other one leads, and then continues it. The
// one that lost its lease ends, and is started again.
func (c *chaos) changeLeader(ctx context.Context) (w window, err error) {
	before, err := c.leader(ctx, "")
	if err != nil {
		return w, err
	}
	old := c.controllers[0]
	w.from = time.Now()
	if err := old.Signal(syscall.SIGSTOP); err != nil {
		return w, err
	}
	_, err = c.leader(ctx, before)
	w.back = time.Now()
	if err := errors.Join(err, old.Signal(syscall.SIGCONT)); err != nil {
		return w, err
	}
	slices.Reverse(c.controllers)
	if err := c.ended(ctx, old); err != nil {
		return w, err
	}
	return w, old.Start()
}

// outageMode makes the API server unreachable in the middle of upgrades.
func (c *chaos) outageMode(ctx context.Context) ([]outcome, error) {
	if !c.only.Matches(unreachable) {
		return nil, nil
	}
	all, err := c.fleet(ctx, "outage", outageReleases, "MODE=outage")
	if err != nil {
		return nil, err
	}
	if err := c.commit(ctx, all, inputs{Message: "one"}); err != nil {
		return nil, err
	}
	left, err := c.await(ctx, all, c.limits.step)
	if err != nil {
		return nil, err
	}
	if left > 0 {
		return nil, fmt.Errorf("%d of %d releases are not installed after %s, although no request failed", left, len(all), c.limits.step)
	}
	back, err := c.interrupt(ctx, all)
	if err != nil {
		return nil, err
	}
	if _, err := c.await(ctx, all, c.limits.storm); err != nil {
		return nil, err
	}
	return c.concludeCalm(ctx, all, back, c.limits.storm)
}

// interrupt upgrades all members and takes the API server away in the middle. It returns when
// that was over.
func (c *chaos) interrupt(ctx context.Context, all []*member) (time.Time, error) {
	var back time.Time
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		for i := range all {
			if err := c.commit(ctx, all[i:i+1], inputs{Message: "two", Delay: hookDelay.String()}); err != nil {
				return err
			}
			if err := frame.Pause(ctx, stagger); err != nil {
				return err
			}
		}
		return nil
	})
	group.Go(func() error {
		if err := c.middle(ctx, all, "two"); err != nil {
			return err
		}
		frame.Say("the API server is away for %s", away)
		err := c.proxy.Outage(ctx, away)
		back = time.Now()
		return err
	})
	return back, group.Wait()
}

// middle waits until half of a commit's hooks have started.
func (c *chaos) middle(ctx context.Context, all []*member, message string) error {
	begun := 0
	err := wait.PollUntilContextTimeout(ctx, pollEvery, c.limits.step, true, func(context.Context) (bool, error) {
		begun = 0
		for _, m := range all {
			f, err := c.observer.facts(m.namespace)
			if err != nil {
				return false, err
			}
			for _, h := range f.hooks {
				if h.message == message {
					begun++
				}
			}
		}
		return begun >= len(all), nil
	})
	if err != nil {
		return fmt.Errorf("%d hooks have begun, and there are %d upgrades: %w", begun, len(all), err)
	}
	return nil
}
