// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package chaos is run by `make chaos`. It makes requests of the controller fail, takes the API
// server, etcd or the lease away, or ends the controller, and checks that each release reaches the
// same result. The facts come from the API server itself: revisions, hooks, objects, counted
// failures, and the time at which the release settled.
package chaos

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/test/load/frame"
)

const (
	modeEach   = "each"
	modeRandom = "random"
	modeOutage = "outage"
	modeKill   = "kill"
)

func modeNames() []string { return []string{modeEach, modeRandom, modeOutage, modeKill} }

// settings are the flags of a run.
type settings struct {
	frame.Settings

	concurrent int
	mode       string
	only       frame.Pattern
	sample     int
	parallel   int
	rounds     int
	releases   int
	kills      int
	terms      int
	outages    int
	short      bool
}

// Run runs the load.
func Run(ctx context.Context, args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	return frame.Run(ctx, "chaos", &s.Settings, func(ctx context.Context, w *frame.World) error { return run(ctx, s, w) })
}

func parse(args []string) (settings, error) {
	var s settings
	err := s.Parse("chaos", args, func(flags *flag.FlagSet) {
		s.SeedVar(flags)
		flags.IntVar(&s.concurrent, "concurrent", 100, "the controller's --concurrent; more than there are cases side by side, so that none waits for another")
		flags.StringVar(&s.mode, "mode", "", "each, random, outage or kill; all of them if empty")
		flags.Var(&s.only, "only", "regular `expression` that the names of the cases of mode each, or of the faults of mode outage, have to match as a whole")
		flags.IntVar(&s.sample, "sample", 0, "`number` of cases of mode each to choose by the seed; 0 takes all")
		flags.IntVar(&s.parallel, "parallel", 20, "`number` of cases of mode each that run side by side")
		flags.IntVar(&s.rounds, "rounds", 6, "`number` of rounds of mode random")
		flags.IntVar(&s.releases, "releases", 0, "`number` of releases of the modes random, kill and outage; 0 takes 20 for the first and 50 for the others")
		flags.IntVar(&s.kills, "kills", 100, "`number` of times that mode kill ends the controller by SIGKILL")
		flags.IntVar(&s.terms, "terms", 20, "`number` of times that mode kill ends the controller by SIGTERM")
		flags.IntVar(&s.outages, "outages", 10, "`number` of times that mode outage kills the API server, and that it takes the lease away")
		flags.BoolVar(&s.short, "short", false, "a part of everything that takes less than five minutes")
	})
	if s.short {
		s.sample, s.rounds, s.releases = shortSample, shortRounds, shortReleases
		s.kills, s.terms, s.outages = shortKills, shortTerms, shortOutages
	}
	only := s.only.String() != ""
	if s.mode == "" && only {
		s.mode = modeEach
	}
	switch {
	case err != nil:
		return s, err
	case s.mode != "" && !slices.Contains(modeNames(), s.mode):
		return s, fmt.Errorf("MODE=%s: one of %v, or nothing for all", s.mode, modeNames())
	case only && s.mode != modeEach && s.mode != modeOutage:
		return s, fmt.Errorf("ONLY is for MODE=each and MODE=outage")
	case s.concurrent < 1 || s.parallel < 1 || s.rounds < 1 || s.outages < 1 || s.releases < 0 || s.sample < 0 || s.kills < 0 || s.terms < 0:
		return s, errors.New("numbers must be positive")
	}
	return s, nil
}

// Sizes of the short form.
const (
	shortSample   = 50
	shortRounds   = 2
	shortReleases = 8
	shortKills    = 6
	shortTerms    = 2
	shortOutages  = 1
)

// size returns the number of releases, if a mode has a default one.
func (s settings) size(number int) int {
	if s.releases > 0 {
		return s.releases
	}
	return number
}

func run(ctx context.Context, s settings, w *frame.World) error {
	frame.Say("seed %d", s.Seed)
	c, err := start(ctx, s, w)
	if err != nil {
		return err
	}
	began := time.Now()
	outcomes, err := c.modes(ctx)
	fmt.Printf("%s\n\nseed %d, %s\n", failures(outcomes), s.Seed, time.Since(began).Round(time.Second))
	bad := 0
	for _, o := range outcomes {
		if o.bad() {
			bad++
		}
	}
	if err == nil && bad > 0 {
		err = fmt.Errorf("%d of %d cases went wrong", bad, len(outcomes))
	}
	return err
}

// modes runs the selected modes, and prints a table for each.
func (c *chaos) modes(ctx context.Context) ([]outcome, error) {
	var all []outcome
	for _, m := range []struct {
		name, title string
		run         func(context.Context) ([]outcome, error)
	}{
		{modeOutage, "outage", c.outageMode},
		{modeOutage, "outage of components", c.faultsMode},
		{modeKill, "kill", c.killMode},
		{modeRandom, "random, 5 % fail", func(ctx context.Context) ([]outcome, error) { return c.randomMode(ctx, bearable) }},
		{modeRandom, "random, 20 % fail", func(ctx context.Context) ([]outcome, error) { return c.randomMode(ctx, 0.2) }},
		{modeEach, "each", c.eachMode},
	} {
		if c.mode != "" && c.mode != m.name {
			continue
		}
		frame.Say("%s", m.title)
		outcomes, err := m.run(ctx)
		all = append(all, outcomes...)
		// Results before an error are printed too.
		if len(outcomes) > 0 {
			fmt.Printf("\n%s\n", table(m.title, outcomes))
		}
		if err != nil {
			return all, fmt.Errorf("%s: %w", m.title, err)
		}
	}
	return all, nil
}
