// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package soak is run by `make soak`. It changes many HelmReleases and their dependencies at
// random, and restarts the controller repeatedly. It checks that all releases reach their wanted
// state, and that the controller's memory and goroutines do not grow.
package soak

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/test/load/frame"
)

type settings struct {
	frame.Settings

	releases   int
	concurrent int
	duration   time.Duration
	pause      time.Duration
	limit      time.Duration
}

// Run changes releases and checks them.
func Run(ctx context.Context, args []string) error {
	var s settings
	err := s.Parse("soak", args, func(flags *flag.FlagSet) {
		s.SeedVar(flags)
		flags.IntVar(&s.releases, "n", 300, "`number` of HelmReleases, at least 8")
		flags.IntVar(&s.concurrent, "concurrent", 10, "the controller's --concurrent")
		flags.DurationVar(&s.duration, "duration", 20*time.Minute, "how long to change things, at least 1m; it takes longer than that by some minutes")
		flags.DurationVar(&s.pause, "pause", 250*time.Millisecond, "mean time between two changes")
		flags.DurationVar(&s.limit, "limit", 5*time.Minute, "how long everything may take to be as wanted")
	})
	if err != nil {
		return err
	}
	if s.releases < 8 || s.duration < time.Minute || s.pause <= 0 || s.concurrent < 1 {
		return errors.New("at least 8 releases, a minute, a pause and one at a time")
	}
	return frame.Run(ctx, "soak", &s.Settings, func(ctx context.Context, w *frame.World) error { return run(ctx, s, w) })
}

func run(ctx context.Context, s settings, w *frame.World) error {
	k, err := start(ctx, s, w)
	if err != nil {
		return err
	}
	wrong, err := k.run(ctx)
	if ctx.Err() == nil {
		err = errors.Join(err, k.Env.Check(ctx))
	}
	fmt.Print(k.text())
	if err == nil && len(wrong) > 0 {
		err = fmt.Errorf("%d things are wrong:\n%s", len(wrong), strings.Join(wrong[:min(maxPrinted, len(wrong))], "\n"))
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	return errors.Join(err, k.keep(ctx, wrong))
}

// keep writes the state of a failed run into the folder with the logs.
func (k *soak) keep(ctx context.Context, wrong []string) error {
	errs := []error{k.Keep("wrong.txt", []byte(strings.Join(wrong, "\n")+"\n"))}
	// Helm's storage contains values; those of this test are not secret.
	found, err := look(ctx, k.Env)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	for name, what := range map[string]any{"helmreleases.yaml": found.releases, "stored.yaml": found.stored} {
		content, err := yaml.Marshal(what)
		errs = append(errs, err, k.Keep(name, content))
	}
	return errors.Join(errs...)
}
