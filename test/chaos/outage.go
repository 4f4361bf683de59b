// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// away is how long the API server is away, and outageReleases are in the middle of an upgrade
	// then.
	away           = 3 * time.Second
	outageReleases = 20
	// hookDelay is the duration of a hook, and stagger the interval between upgrades, so that the
	// outage meets each phase of an upgrade.
	hookDelay = 500 * time.Millisecond
	stagger   = 100 * time.Millisecond
)

// outageMode takes the API server away in the middle of upgrades.
func (c *chaos) outageMode(ctx context.Context) ([]outcome, error) {
	all, err := c.fleet(ctx, "outage", outageReleases, "MODE=outage")
	if err != nil {
		return nil, err
	}
	if err := c.commit(ctx, all, inputs{Message: "one"}); err != nil {
		return nil, err
	}
	left, err := c.await(ctx, all, patience)
	if err != nil {
		return nil, err
	}
	if left > 0 {
		return nil, fmt.Errorf("%d of %d releases are not installed after %s, although no request failed", left, len(all), patience)
	}
	back, err := c.interrupt(ctx, all)
	if err != nil {
		return nil, err
	}
	if _, err := c.await(ctx, all, stormLimit); err != nil {
		return nil, err
	}
	return c.conclude(ctx, all, back, stormLimit)
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
			if err := pause(ctx, stagger); err != nil {
				return err
			}
		}
		return nil
	})
	group.Go(func() error {
		if err := c.middle(ctx, all); err != nil {
			return err
		}
		say("the API server is away for %s", away)
		err := c.proxy.Outage(ctx, away)
		back = time.Now()
		return err
	})
	return back, group.Wait()
}

// middle waits until half of the second commit's hooks have started.
func (c *chaos) middle(ctx context.Context, all []*member) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		begun := 0
		for _, m := range all {
			f, err := c.observer.facts(m.namespace)
			if err != nil {
				return err
			}
			for _, h := range f.hooks {
				if h.message == "two" {
					begun++
				}
			}
		}
		if begun >= len(all) {
			return nil
		}
		if err := pause(ctx, pollEvery); err != nil {
			return errors.Join(fmt.Errorf("%d hooks have begun, and there are %d upgrades", begun, len(all)), err)
		}
	}
}
