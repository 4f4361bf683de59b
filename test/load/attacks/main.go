// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package attacks is run by `make attacks`. It runs the attacks of package corpus against a
// controller with the flags and the share of memory that config/manager would give it in a
// container of 768 MiB, first one by one, then ten at once. Beside them, healthy releases are
// upgraded.
package attacks

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/pintle-dev/pintle/test/load/attacks/corpus"
)

// settings are those of a run.
type settings struct {
	bin        string
	controller string
	args       string
	only       string
	seed       uint64
	rounds     int
	short      bool
	table      string
}

// Run runs the load.
func Run(ctx context.Context, args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	return run(ctx, s)
}

func parse(args []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("attacks", flag.ExitOnError)
	flags.StringVar(&s.bin, "bin", "bin/cluster", "`folder` that make cluster-build filled")
	flags.StringVar(&s.controller, "controller", "bin/pintle", "the controller's `executable`, without the race detector, which the kernel does not limit")
	flags.StringVar(&s.args, "args", "", "further `flags` for the controller, separated by spaces")
	flags.StringVar(&s.only, "only", "", "regular `expression` that the names of attacks have to match as a whole")
	flags.Uint64Var(&s.seed, "seed", 0, "`number` that chooses the attacks that run at once; 0 takes another one every time")
	flags.IntVar(&s.rounds, "rounds", 5, "`number` of times that ten attacks run at once")
	flags.BoolVar(&s.short, "short", false, "only the worst attacks, and one round of ten at once")
	flags.StringVar(&s.table, "table", "", "`file` for the results too")
	_ = flags.Parse(args)
	if s.short {
		s.rounds = min(s.rounds, 1)
	}
	if s.seed == 0 {
		s.seed = uint64(time.Now().UnixNano())
	}
	switch {
	case s.rounds < 0:
		return s, errors.New("the number of rounds must not be negative")
	case flags.NArg() > 0:
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if _, err := regexp.Compile(s.only); err != nil {
		return s, fmt.Errorf("ONLY=%s: %w", s.only, err)
	}
	if len(s.attacks()) == 0 {
		return s, fmt.Errorf("ONLY=%s: no attack has such a name", s.only)
	}
	return s, nil
}

// allowed returns how long something may take that may take d. The short form is a part of other
// tests, which use the processors at the same time: it checks what happens, and hardly when.
func (s settings) allowed(d time.Duration) time.Duration {
	if s.short {
		return 4 * d
	}
	return d
}

// attacks returns the selected attacks.
func (s settings) attacks() []corpus.Attack {
	all := corpus.All()
	if s.short && s.only == "" {
		all = corpus.Worst()
	}
	if s.only == "" {
		return all
	}
	pattern := regexp.MustCompile("^(?:" + s.only + ")$")
	var selected []corpus.Attack
	for _, a := range all {
		if pattern.MatchString(a.Name) {
			selected = append(selected, a)
		}
	}
	return selected
}

func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
