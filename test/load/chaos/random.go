// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/test/load/frame"
)

const (
	// cutEvery is in how many rounds watches are cut.
	cutEvery = 3
	// cutAfter is how long after the commits of a round that happens.
	cutAfter = time.Second
	// randomReleases is the default number of releases.
	randomReleases = 20
	// bearable is the highest rate at which releases settle while requests fail.
	bearable = 0.05
)

// member is a release of a fleet, and its commits so far.
type member struct {
	namespace string
	commits   []commit
	outcome   outcome
	// since is when it settled; zero while it has not.
	since time.Time
}

// last is the expected final state of a member.
func (m *member) last() want { return want{message: m.commits[len(m.commits)-1].message} }

// fleet makes members, and their namespaces.
func (c *chaos) fleet(ctx context.Context, name string, n int, repeat string) ([]*member, error) {
	var all []*member
	var names []string
	for i := range n {
		namespace := fmt.Sprintf("%s-%02d", name, i+1)
		names = append(names, namespace)
		all = append(all, &member{namespace: namespace, outcome: outcome{id: namespace, groups: []string{name}, repeat: repeat, settled: true}})
		c.injector.watch(namespace, nil)
	}
	return all, frame.Namespaces(ctx, c.Env, names...)
}

// commit gives all members other inputs, or creates them.
func (c *chaos) commit(ctx context.Context, all []*member, in inputs) error {
	return frame.Each(ctx, frame.Concurrency, all, func(ctx context.Context, m *member) error {
		m.commits, m.since = append(m.commits, commit{message: in.Message, at: time.Now()}), time.Time{}
		hr := helmRelease(m.namespace, in, nil)
		if len(m.commits) == 1 {
			return c.Env.Client.Create(ctx, hr)
		}
		return setInputs(ctx, c.Env.Client, hr, in)
	})
}

// await waits until all members have settled and stayed so, or a time has passed. It returns
// how many have not.
func (c *chaos) await(ctx context.Context, all []*member, limit time.Duration) (int, error) {
	deadline := time.Now().Add(limit)
	for {
		now, left, young := time.Now(), 0, 0
		for _, m := range all {
			f, err := c.observer.facts(m.namespace)
			if err != nil {
				return 0, err
			}
			switch {
			case !m.last().settled(&f):
				m.since = time.Time{}
				left++
			case m.since.IsZero():
				m.since = now
				young++
			case now.Sub(m.since) < grace:
				young++
			}
		}
		if err := c.alive(); err != nil {
			return left, err
		}
		if left+young == 0 || left > 0 && now.After(deadline) {
			for _, m := range all {
				m.commits[len(m.commits)-1].settled = !m.since.IsZero()
			}
			return left, nil
		}
		if err := frame.Pause(ctx, pollEvery); err != nil {
			return left, err
		}
	}
}

// randomMode has releases change while requests fail at random.
func (c *chaos) randomMode(ctx context.Context, rate float64) ([]outcome, error) {
	name := fmt.Sprintf("random-%.0f", rate*100)
	all, err := c.fleet(ctx, name, c.size(randomReleases), fmt.Sprintf("MODE=random SEED=%d", c.Seed))
	if err != nil {
		return nil, err
	}
	defer c.injector.atRandom(nil)
	rounds := c.rounds
	if c.short && rate > bearable {
		rounds = 1
	}
	for round := 1; round <= rounds; round++ {
		began := time.Now()
		c.injector.atRandom(&schedule{seed: c.Seed + uint64(round), rate: rate})
		if err := c.commit(ctx, all, inputs{Message: fmt.Sprint("round ", round)}); err != nil {
			return nil, err
		}
		if round%cutEvery == 0 {
			if err := frame.Pause(ctx, cutAfter); err != nil {
				return nil, err
			}
			frame.Say("%s: %d watches are cut", name, c.proxy.CutWatches())
		}
		left, err := c.await(ctx, all, c.limits.storm)
		if err != nil {
			return nil, err
		}
		frame.Say("%s: round %d of %d: %d releases have not settled after %s", name, round, rounds, left, time.Since(began).Round(time.Second))
		for _, m := range all {
			if rate <= bearable {
				m.arrived(began, c.limits.storm, fmt.Sprintf("round %d, while requests failed", round))
			}
		}
	}
	c.injector.atRandom(nil)
	calm := time.Now()
	if _, err := c.await(ctx, all, c.limits.calm); err != nil {
		return nil, err
	}
	return c.concludeCalm(ctx, all, calm, c.limits.calm)
}

// arrived fills in how long a member took, and whether that was too long.
func (m *member) arrived(began time.Time, limit time.Duration, when string) {
	took := m.since.Sub(began)
	if m.since.IsZero() || took > limit {
		m.outcome.failed = true
		m.outcome.settled = m.outcome.settled && !m.since.IsZero()
		m.outcome.say("not settled within %s: %s", limit, when)
	}
	m.outcome.settle = max(m.outcome.settle, took)
}

// concludeCalm evaluates all members after a time without faults.
func (c *chaos) concludeCalm(ctx context.Context, all []*member, calm time.Time, limit time.Duration) ([]outcome, error) {
	return c.conclude(ctx, all, func(m *member, f *facts) deviation {
		m.arrived(calm, limit, "after all faults")
		return compareCommits(f, m.commits)
	})
}

// conclude evaluates all members.
func (c *chaos) conclude(ctx context.Context, all []*member, compare func(*member, *facts) deviation) ([]outcome, error) {
	var outcomes []outcome
	for _, m := range all {
		f, err := c.observer.facts(m.namespace)
		if err != nil {
			return nil, err
		}
		v := compare(m, &f)
		v.failed = v.failed || m.outcome.failed
		v.wrong = append(m.outcome.wrong, v.wrong...)
		if len(v.wrong) > 0 {
			v.say("in the end: Ready %t %s: %s", f.ready, f.reason, f.text)
		}
		m.outcome.deviation, m.outcome.faults = v, c.injector.state(m.namespace).faults
		outcomes = append(outcomes, m.outcome)
		c.injector.forget(m.namespace)
	}
	return outcomes, frame.Each(ctx, frame.Concurrency, all, func(ctx context.Context, m *member) error {
		return suspend(ctx, c.Env.Client, helmRelease(m.namespace, inputs{}, nil))
	})
}
