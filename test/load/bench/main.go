// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package bench is run by `make bench`. It measures the cost of a controller for HelmReleases on
// its own control plane, phase by phase. It works with any controller of this API, so that two can
// be compared.
package bench

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/test/load/frame"
)

// settings are the options of the measurement; a load has the measured parameters.
type settings struct {
	frame.Settings

	idle  time.Duration
	limit time.Duration
	audit bool
	json  string
	check bool
}

// Run measures, or compares earlier results.
func Run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "compare" {
		if len(args) != 3 {
			return errors.New("usage: compare A.json B.json")
		}
		text, err := compare(args[1], args[2])
		fmt.Print(text)
		return err
	}
	s, loads, err := parse(args)
	if err != nil {
		return err
	}
	return run(ctx, s, loads)
}

func parse(args []string) (settings, []load, error) {
	var s settings
	var l load
	var concurrent, size, which string
	err := s.Parse("bench", args, func(flags *flag.FlagSet) {
		flags.DurationVar(&s.idle, "idle", time.Minute, "how long to measure without doing anything")
		flags.DurationVar(&s.limit, "limit", 15*time.Minute, "how long a phase may take")
		flags.BoolVar(&s.audit, "audit", true, "enable the API server's audit log, which is needed to count requests by resource")
		flags.StringVar(&s.json, "json", "", "`file` to write the results to, besides the table")
		flags.BoolVar(&s.check, "check", false, "fail if a figure is over its ceiling")
		flags.IntVar(&l.Releases, "n", 100, "`number` of HelmReleases")
		flags.StringVar(&concurrent, "concurrent", "10", "the controller's --concurrent; several `numbers`, separated by commas, make several sessions")
		flags.BoolVar(&l.Drift, "drift-detection", false, "enable drift detection in the HelmReleases, and measure how soon drift is corrected or reported")
		flags.BoolVar(&l.Policy, "policy", false, "add a ClusterReleasePolicy that selects all HelmReleases and demands nothing")
		flags.IntVar(&l.CRDs, "crds", 0, "`number` of further CRDs")
		flags.IntVar(&l.Unready, "unready", 0, "`percent` of the releases that never become ready")
		flags.DurationVar(&l.UnreadyTimeout.Duration, "unready-timeout", 2*time.Minute, "how long Helm waits for those")
		flags.IntVar(&l.Charts, "charts", 1, "`number` of charts that the releases share")
		flags.StringVar(&size, "chart-size", "", "`bytes` of text in each chart besides its templates, with a unit like MB")
		flags.DurationVar(&l.Interval.Duration, "interval", 0, "also measure reconciliations at this interval")
		flags.StringVar(&which, "suite", "", "all: measure this load and harder ones, one after the other; page: measure the web page")
	})
	if err != nil {
		return s, nil, err
	}
	numbers, err := parseNumbers(concurrent)
	if err != nil {
		return s, nil, fmt.Errorf("-concurrent=%s: %w", concurrent, err)
	}
	if l.Padding, err = parseSize(size); err != nil {
		return s, nil, fmt.Errorf("-chart-size=%s: %w", size, err)
	}
	if which != "" && which != "all" && which != "page" {
		return s, nil, fmt.Errorf("-suite=%s: all, page, or nothing", which)
	}
	if l.Unready == 0 {
		l.UnreadyTimeout.Duration = 0
	}
	var loads []load
	for _, n := range numbers {
		l.Concurrent = n
		switch which {
		case "all":
			loads = append(loads, suite(l, s.check)...)
		case "page":
			loads = append(loads, pageSuite(l))
		default:
			loads = append(loads, l)
		}
	}
	return s, loads, l.validate()
}

// run measures one load after the other. The file is written after each, so that
// a later one that fails costs only itself.
func run(ctx context.Context, s settings, loads []load) error {
	var sessions []session
	tooMuch := 0
	for i, l := range loads {
		frame.Say("session %d of %d: %s", i+1, len(loads), l.text())
		done, err := measure(ctx, s, l)
		if err != nil {
			return err
		}
		fmt.Print(done.text())
		if s.check {
			results := checkCeilings(done)
			tooMuch += over(results)
			fmt.Print(ceilingTable(results))
		}
		sessions = append(sessions, *done)
		if err := write(s.json, sessions); err != nil {
			return err
		}
	}
	if tooMuch > 0 {
		return fmt.Errorf("%d figures are over their ceilings", tooMuch)
	}
	return nil
}

func write(path string, sessions []session) error {
	if path == "" {
		return nil
	}
	content, err := json.MarshalIndent(sessions, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(content, '\n'), 0o644)
}

// measure runs one session on its own control plane.
func measure(ctx context.Context, s settings, l load) (done *session, err error) {
	err = frame.Run(ctx, "bench", &s.Settings, func(ctx context.Context, w *frame.World) error {
		b, err := start(ctx, s, l, w)
		if err != nil {
			return err
		}
		done, err = b.run(ctx)
		return err
	})
	return done, err
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
