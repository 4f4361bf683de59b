// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/pintle-dev/pintle/test/harness/faultproxy"
	"github.com/pintle-dev/pintle/test/load/frame"
)

const (
	// grace is how long a release has to stay settled.
	grace = 2 * time.Second
	// lull is how long the controller sends no request for a release before a fault is armed.
	lull = 400 * time.Millisecond
	// learnings is how many runs without faults show the requests of an action.
	learnings = 2
)

// limit is how long after the end of a fault an action may take that was rehearsed.
func (c *chaos) limit(f faultproxy.Fault, a action) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limits.after(f, c.rehearsed[a.name])
}

// counter makes the namespaces of cases differ.
type counter struct{ atomic.Int64 }

func (c *counter) namespace() string { return fmt.Sprintf("case-%05d", c.Add(1)) }

// eachMode fails every request of every action in every way, one at a time.
func (c *chaos) eachMode(ctx context.Context) ([]outcome, error) {
	var names counter
	all, err := c.learn(ctx, &names)
	if err != nil {
		return nil, err
	}
	chosen := only(all, &c.only)
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no case matches ONLY=%s; a case is one of these followed by /%s or another way to fail:\n%s", &c.only, faultproxy.Internal, keys(all))
	}
	if c.sample > 0 {
		chosen = sample(chosen, c.sample, c.Seed)
	}
	frame.Say("%d cases of %d, %d at a time", len(chosen), len(all), c.parallel)
	var together, alone []trial
	for _, t := range order(chosen) {
		if t.alone {
			alone = append(alone, t)
		} else {
			together = append(together, t)
		}
	}
	var mu sync.Mutex
	var outcomes []outcome
	play := func(ctx context.Context, t trial) error {
		o, err := c.try(ctx, t, names.namespace())
		mu.Lock()
		defer mu.Unlock()
		outcomes = append(outcomes, o)
		if n := len(outcomes); n%50 == 0 {
			frame.Say("%d of %d cases are done", n, len(chosen))
		}
		return err
	}
	if err := frame.Each(ctx, c.parallel, together, play); err != nil {
		return outcomes, err
	}
	return outcomes, frame.Each(ctx, 1, alone, play)
}

// learn runs all selected actions without faults, and returns the cases for their requests. The
// short form runs each action once, all concurrently, and so does not record requests without a
// namespace.
func (c *chaos) learn(ctx context.Context, names *counter) ([]trial, error) {
	frame.Say("learning the requests of each action")
	asked := slices.DeleteFunc(actions(), func(a action) bool { return !c.wants(a) })
	parallel, times := 1, learnings
	if c.short {
		parallel, times = len(asked), 1
	}
	var mu sync.Mutex
	var all []trial
	err := frame.Each(ctx, parallel, asked, func(ctx context.Context, a action) error {
		runs := make([][]recordedRequest, times)
		for i := range runs {
			seen, err := c.rehearse(ctx, a, names.namespace())
			if err != nil {
				return err
			}
			runs[i] = seen
		}
		found := trials(a.name, runs...)
		frame.Say("%s: %d requests, %d cases", a.name, len(runs[0]), len(found))
		mu.Lock()
		defer mu.Unlock()
		all = append(all, found...)
		return nil
	})
	return all, err
}

// wants reports whether an action is selected. It is not if ONLY begins with the name of another
// one.
func (c *chaos) wants(a action) bool {
	first, _, _ := strings.Cut(c.only.String(), "/")
	return !slices.ContainsFunc(actions(), func(other action) bool { return other.name == first }) || a.name == first
}

// rehearse runs an action without a fault, alone, and returns its requests.
func (c *chaos) rehearse(ctx context.Context, a action, namespace string) ([]recordedRequest, error) {
	if !c.short {
		c.injector.own(namespace)
		defer c.injector.own("")
	}
	o, err := c.play(ctx, a, trial{action: a.name}, namespace)
	if err != nil {
		return nil, err
	}
	if o.bad() {
		return nil, fmt.Errorf("%s fails without any fault: %v", a.name, o.wrong)
	}
	c.mu.Lock()
	c.rehearsed[a.name] = max(c.rehearsed[a.name], o.settle)
	c.mu.Unlock()
	seen := c.injector.state(namespace).seen
	c.injector.forget(namespace)
	return seen, nil
}

// try runs one case.
func (c *chaos) try(ctx context.Context, t trial, namespace string) (outcome, error) {
	defer c.injector.forget(namespace)
	if t.alone {
		c.injector.own(namespace)
		defer c.injector.own("")
	}
	for _, a := range actions() {
		if a.name == t.action {
			return c.play(ctx, a, t, namespace)
		}
	}
	return outcome{}, fmt.Errorf("there is no action %s", t.action)
}

// play runs an action with at most one fault, and evaluates the result.
func (c *chaos) play(ctx context.Context, a action, t trial, namespace string) (outcome, error) {
	o := outcome{
		id: t.id(), groups: []string{a.name, string(t.fault)}, repeat: fmt.Sprintf("MODE=each ONLY='%s'", t.id()),
	}
	if err := frame.Namespaces(ctx, c.Env, namespace); err != nil {
		return o, err
	}
	hr := helmRelease(namespace, inputs{Message: "one"}, a.configure)
	c.injector.watch(namespace, nil)
	if a.installed {
		if err := c.Env.Client.Create(ctx, hr); err != nil {
			return o, err
		}
		if err := c.prepared(ctx, namespace); err != nil {
			return o, err
		}
	}
	var arm *trial
	if t.fault != faultproxy.None {
		arm = &t
	}
	c.injector.watch(namespace, arm)
	began := time.Now()
	if err := a.do(ctx, c.Env.Client, hr); err != nil {
		return o, err
	}
	f, err := c.settle(ctx, a, t.fault, namespace, began, &o)
	if err != nil {
		return o, err
	}
	evaluate(a.want, t.fault, c.limit(t.fault, a), &f, &o)
	if a.want.gone && !f.exists {
		return o, nil
	}
	return o, suspend(ctx, c.Env.Client, hr)
}

// prepared waits until a release is installed and the controller is idle.
func (c *chaos) prepared(ctx context.Context, namespace string) error {
	var f facts
	err := wait.PollUntilContextTimeout(ctx, pollEvery, c.limits.step, true, func(context.Context) (_ bool, err error) {
		f, err = c.observer.facts(namespace)
		return installedOnce().settled(&f) && time.Since(c.injector.state(namespace).last) > lull, err
	})
	if err != nil {
		return fmt.Errorf("namespace %s: the release is not installed, although no request failed: %w: %s: %s", namespace, err, f.reason, f.text)
	}
	return nil
}

// settle waits until a release has settled and stays so, or the time it has is over. It fills in
// when that was.
func (c *chaos) settle(ctx context.Context, a action, fault faultproxy.Fault, namespace string, began time.Time, o *outcome) (facts, error) {
	var since time.Time
	for {
		f, err := c.observer.facts(namespace)
		if err == nil {
			err = c.Env.Controller.Ended()
		}
		if err != nil {
			return f, err
		}
		now := time.Now()
		if !a.want.settled(&f) {
			since = time.Time{}
		} else if since.IsZero() {
			since = now
		}
		if c.over(a, fault, c.injector.state(namespace), began, since, o) {
			return f, nil
		}
		if err := frame.Pause(ctx, pollEvery); err != nil {
			return f, err
		}
	}
}

// over reports whether a case has ended: its release has settled, or had its time, after the
// fault. It fills in which of them, and when.
func (c *chaos) over(a action, fault faultproxy.Fault, l lane, began, since time.Time, o *outcome) bool {
	if !l.hit.IsZero() && l.ended.IsZero() {
		return false
	}
	now, from, deadline := time.Now(), began, began.Add(c.limits.step)
	if !l.ended.IsZero() {
		from, deadline = l.ended, l.ended.Add(c.limit(fault, a)+a.own+late)
	}
	o.settled = !since.IsZero() && now.Sub(since) >= grace
	o.missed = l.hit.IsZero() && fault != faultproxy.None
	o.settle = max(0, since.Sub(from)-a.own)
	return o.settled || since.IsZero() && now.After(deadline)
}

// evaluate fills in the deviations.
func evaluate(w want, fault faultproxy.Fault, limit time.Duration, f *facts, o *outcome) {
	o.deviation = w.compare(f)
	switch {
	case !o.settled:
		o.failed = true
		o.say("not settled: exists %t, Ready %t %s: %s", f.exists, f.ready, f.reason, f.text)
	case fault != faultproxy.None && !o.missed && o.settle > limit:
		o.failed = true
		o.say("settled %.1f s after the end of the fault, the limit being %.1f s", o.settle.Seconds(), limit.Seconds())
	}
}
