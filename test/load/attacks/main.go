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
	"slices"
	"time"

	"github.com/pintle-dev/pintle/test/load/attacks/corpus"
	"github.com/pintle-dev/pintle/test/load/frame"
)

// settings are the flags of a run.
type settings struct {
	frame.Settings

	only   frame.Pattern
	rounds int
	short  bool
	table  string
}

// Run runs the load.
func Run(ctx context.Context, args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	return frame.Run(ctx, "attacks", &s.Settings, func(ctx context.Context, w *frame.World) error { return run(ctx, s, w) })
}

func parse(args []string) (settings, error) {
	var s settings
	err := s.Parse("attacks", args, func(flags *flag.FlagSet) {
		s.SeedVar(flags)
		flags.Var(&s.only, "only", "regular `expression` that the names of attacks have to match as a whole")
		flags.IntVar(&s.rounds, "rounds", 5, "`number` of times that ten attacks run at once")
		flags.BoolVar(&s.short, "short", false, "only the worst attacks, and one round of ten at once")
		flags.StringVar(&s.table, "table", "", "`file` for the results too")
	})
	if s.short {
		s.rounds = min(s.rounds, 1)
	}
	switch {
	case err != nil:
		return s, err
	case s.rounds < 0:
		return s, errors.New("the number of rounds must not be negative")
	case len(s.attacks()) == 0:
		return s, fmt.Errorf("ONLY=%s: no attack has such a name", &s.only)
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
	if s.short && s.only.String() == "" {
		all = corpus.Worst()
	}
	return slices.DeleteFunc(all, func(a corpus.Attack) bool { return !s.only.Matches(a.Name) })
}
