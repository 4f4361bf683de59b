// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package frame is what all loads share: flags, the control plane with its controller, the result
// of a run, measurements of processes, and tables.
package frame

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"
)

// Settings are the settings of all loads.
type Settings struct {
	bin        string
	Controller string
	// Args are further flags for the controller, separated by spaces.
	Args string
	// Seed determines all random choices. It is 0 in a load that makes none.
	Seed uint64
}

// Parse parses the arguments of a load. own adds its flags to the common ones.
func (s *Settings) Parse(name string, args []string, own func(*flag.FlagSet)) error {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.StringVar(&s.bin, "bin", "bin/cluster", "`folder` that make cluster-build filled")
	flags.StringVar(&s.Controller, "controller", "bin/pintle", "the controller's `executable`")
	flags.StringVar(&s.Args, "args", "", "further `flags` for the controller, separated by spaces")
	own(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if flags.Lookup(seedFlag) != nil && s.Seed == 0 {
		s.Seed = uint64(time.Now().UnixNano())
	}
	return nil
}

const seedFlag = "seed"

// SeedVar adds the flag of the seed.
func (s *Settings) SeedVar(flags *flag.FlagSet) {
	flags.Uint64Var(&s.Seed, seedFlag, 0, "`number` that determines all random choices; 0 takes another one every time")
}

// Pattern is the value of a flag that selects names. The zero value selects all.
type Pattern struct {
	text  string
	whole *regexp.Regexp
}

// String returns the regular expression.
func (p *Pattern) String() string { return p.text }

// Set sets the regular expression.
func (p *Pattern) Set(text string) (err error) {
	p.text, p.whole = text, nil
	if text != "" {
		p.whole, err = regexp.Compile("^(?:" + text + ")$")
	}
	return err
}

// Matches reports whether a whole name matches.
func (p *Pattern) Matches(name string) bool { return p.whole == nil || p.whole.MatchString(name) }

// Say prints a message about the progress.
func Say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
