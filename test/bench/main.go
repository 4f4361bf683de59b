// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Command bench is what `make bench` runs: it measures what a controller of
// HelmReleases costs, on a control plane of its own, phase by phase. It is for
// any controller of this API, so that two can be compared.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type settings struct {
	bin        string
	controller string
	args       string
	releases   int
	concurrent string
	idle       time.Duration
	drift      bool
	limit      time.Duration
	json       string
}

func main() {
	var s settings
	flag.StringVar(&s.bin, "bin", "bin/cluster", "`folder` that make cluster-build filled")
	flag.StringVar(&s.controller, "controller", "bin/pintle", "the controller's `executable`")
	flag.StringVar(&s.args, "args", "", "further `flags` for the controller, separated by spaces")
	flag.IntVar(&s.releases, "n", 100, "`number` of HelmReleases")
	flag.StringVar(&s.concurrent, "concurrent", "10", "the controller's --concurrent; several `numbers`, separated by commas, make several sessions")
	flag.DurationVar(&s.idle, "idle", 20*time.Second, "how long to measure without doing anything")
	flag.BoolVar(&s.drift, "drift-detection", false, "enable drift detection in the HelmReleases")
	flag.DurationVar(&s.limit, "limit", 30*time.Minute, "how long a phase may take")
	flag.StringVar(&s.json, "json", "", "`file` to write the results to, besides the table")
	flag.Parse()

	// Whatever ends us, a closed terminal or pipe included, must leave time to clean up.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	err := run(ctx, s)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) error {
	if s.releases < 1 {
		return errors.New("-n: at least 1")
	}
	numbers, err := parseNumbers(s.concurrent)
	if err != nil {
		return fmt.Errorf("-concurrent=%s: %w", s.concurrent, err)
	}
	var sessions []session
	for _, concurrent := range numbers {
		done, err := measure(ctx, s, concurrent)
		if err != nil {
			return err
		}
		fmt.Print(done.text())
		sessions = append(sessions, done)
	}
	if s.json == "" {
		return nil
	}
	content, err := json.MarshalIndent(sessions, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(s.json, append(content, '\n'), 0o644)
}

// measure runs one session on a control plane of its own.
func measure(ctx context.Context, s settings, concurrent int) (_ session, err error) {
	dir, err := filepath.Abs(filepath.Join("bin", "bench", strconv.Itoa(os.Getpid())))
	if err != nil {
		return session{}, err
	}
	b, err := start(ctx, s, concurrent, dir)
	if err != nil {
		return session{}, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 90*time.Second)
		defer cancel()
		err = errors.Join(err, b.env.Stop(ctx))
	}()
	return b.run(ctx)
}

// parseNumbers reads positive numbers that are separated by commas.
func parseNumbers(text string) ([]int, error) {
	var numbers []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, err
		}
		if n < 1 {
			return nil, fmt.Errorf("%d is less than 1", n)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
