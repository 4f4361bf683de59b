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
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

type settings struct {
	bin        string
	controller string
	args       string
	releases   int
	concurrent int
	seed       uint64
	duration   time.Duration
	pause      time.Duration
	limit      time.Duration
}

// Run changes releases and checks them.
func Run(ctx context.Context, args []string) error {
	var s settings
	flags := flag.NewFlagSet("soak", flag.ExitOnError)
	flags.StringVar(&s.bin, "bin", "bin/cluster", "`folder` that make cluster-build filled")
	flags.StringVar(&s.controller, "controller", "bin/pintle", "the controller's `executable`")
	flags.StringVar(&s.args, "args", "", "further `flags` for the controller, separated by spaces")
	flags.IntVar(&s.releases, "n", 300, "`number` of HelmReleases, at least 8")
	flags.IntVar(&s.concurrent, "concurrent", 10, "the controller's --concurrent")
	flags.Uint64Var(&s.seed, "seed", 0, "`number` that determines the sequence of changes; 0 selects a random one")
	flags.DurationVar(&s.duration, "duration", 20*time.Minute, "how long to change things, at least 1m; it takes longer than that by some minutes")
	flags.DurationVar(&s.pause, "pause", 250*time.Millisecond, "mean time between two changes")
	flags.DurationVar(&s.limit, "limit", 5*time.Minute, "how long everything may take to be as wanted")
	_ = flags.Parse(args)
	return run(ctx, s)
}

func run(ctx context.Context, s settings) (err error) {
	if s.releases < 8 || s.duration < time.Minute || s.pause <= 0 || s.concurrent < 1 {
		return errors.New("at least 8 releases, a minute, a pause and one at a time")
	}
	if s.seed == 0 {
		s.seed = uint64(time.Now().UnixNano())
	}
	id := strconv.Itoa(os.Getpid())
	dir, err := filepath.Abs(filepath.Join("bin", "soak", id))
	if err != nil {
		return err
	}
	k, err := start(ctx, s, dir)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 90*time.Second)
		defer cancel()
		err = errors.Join(err, k.env.Stop(ctx))
	}()
	wrong, err := k.run(ctx)
	if ctx.Err() == nil {
		err = errors.Join(err, k.env.Check(ctx))
	}
	fmt.Print(k.text())
	if err == nil && len(wrong) == 0 {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	kept, keepErr := k.keep(context.WithoutCancel(ctx), dir+"-failed", wrong)
	if err != nil {
		return errors.Join(fmt.Errorf("%w\nseed %d; logs are in %s", err, s.seed, kept), keepErr)
	}
	return errors.Join(fmt.Errorf("%d things are wrong; seed %d; all of them, and logs, are in %s\n%s",
		len(wrong), s.seed, kept, strings.Join(wrong[:min(maxPrinted, len(wrong))], "\n")), keepErr)
}

// keep writes the state of a failed run into a folder, and returns its path.
func (k *soak) keep(ctx context.Context, dir string, wrong []string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "no folder", err
	}
	content, err := os.ReadFile(k.env.Controller.LogPath)
	errs := []error{err}
	errs = append(errs, os.WriteFile(filepath.Join(dir, "controller.log"), content, 0o600),
		os.WriteFile(filepath.Join(dir, "wrong.txt"), []byte(strings.Join(wrong, "\n")+"\n"), 0o600))
	// Helm's storage contains values; those of this test are not secret.
	found, err := look(ctx, k.env)
	if err != nil {
		return dir, errors.Join(append(errs, err)...)
	}
	for name, what := range map[string]any{"helmreleases.yaml": found.releases, "stored.yaml": found.stored} {
		content, err := yaml.Marshal(what)
		errs = append(errs, err, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	return dir, errors.Join(errs...)
}

func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
