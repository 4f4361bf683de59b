// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Command suites runs test suites one after the other, also after a failure, and prints the result,
// duration and processor time of each. The Makefile calls it in the root of the repository.
//
// Files, top-down:
//
//	main.go     the command line and the report
//	table.go    the suites, and which of them belong to changed files
//	run.go      runs a suite and measures it
//	retry.go    runs failed tests once more
//	changed.go  the files that the last commits changed
//	quarantine.go  tests whose failures do not count for now
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "suites:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("suites", flag.ExitOnError)
	record := flags.String("record", "", "`page` that gets the date, the commit and the results")
	reruns := flags.Bool("reruns", true, "run failed tests of suites with a cluster once more")
	strict := flags.Bool("strict", false, "fail if a test is in quarantine for too long")
	changed := flags.Bool("changed", false, "only print the long suites that belong to changed files")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *changed {
		names, err := changedSuites()
		fmt.Println(strings.Join(names, " "))
		return err
	}
	quarantined, err := readQuarantine("hack/quarantine.txt", time.Now(), *strict)
	if err != nil {
		return err
	}
	if err := becomeSubreaper(); err != nil {
		return err
	}
	var results []result
	for _, name := range flags.Args() {
		s, ok := table()[name]
		if !ok {
			return fmt.Errorf("there is no suite %q", name)
		}
		fmt.Printf("=== %s\n", name)
		results = append(results, s.run(name, runner{reruns: *reruns, quarantined: quarantined}))
	}
	report := summary(results)
	fmt.Print("\n", report)
	if *record != "" {
		if err := recordIn(*record, report); err != nil {
			return err
		}
	}
	for _, r := range results {
		if r.err != nil {
			return errors.New("tests failed")
		}
	}
	return nil
}

// summary is a line for each suite, and one for all.
func summary(results []result) string {
	var b strings.Builder
	var wall, cpu time.Duration
	passed, failed := 0, 0
	for _, r := range results {
		outcome := "ok"
		if r.err != nil {
			outcome = "FAILED: " + r.err.Error()
		}
		fmt.Fprintf(&b, "%-16s %5.0f s %6.0f s of processor time  %s\n", r.name, r.wall.Seconds(), r.cpu.Seconds(), outcome)
		for _, note := range r.notes {
			fmt.Fprintf(&b, "  %s\n", note)
		}
		wall, cpu, passed, failed = wall+r.wall, cpu+r.cpu, passed+r.passed, failed+r.failed
	}
	fmt.Fprintf(&b, "%-16s %5.0f s %6.0f s of processor time\n%d passed, %d failed\n", "all", wall.Seconds(), cpu.Seconds(), passed, failed)
	return b.String()
}

const recordStart, recordEnd = "<!-- results -->\n", "<!-- end -->\n"

// recordIn replaces the results of the last run in a page.
func recordIn(path, report string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(page), recordStart)
	_, after, closed := strings.Cut(rest, recordEnd)
	if !found || !closed {
		return fmt.Errorf("%s has no place for the results between %q and %q", path, recordStart, recordEnd)
	}
	commit, err := exec.Command("git", "describe", "--always", "--dirty", "--exclude=*").Output()
	if err != nil {
		return fmt.Errorf("git describe: %w", err)
	}
	text := fmt.Sprintf("```text\n%s, commit %s\n%s```\n", time.Now().UTC().Format("2 January 2006"), strings.TrimSpace(string(commit)), report)
	return os.WriteFile(path, []byte(before+recordStart+text+recordEnd+after), 0o644)
}
