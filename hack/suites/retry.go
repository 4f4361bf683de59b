// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The executables of the controller in bin.
const (
	plain = "pintle"
	raced = "pintle-race"
)

// test is a step that runs the tests of a package with a cluster. A test that fails is run once more
// and reported as flaky if it passes, unless reruns are off. Nothing is run once more if the process
// did not end with the status of failed tests: it panicked, its time was up, or it leaked a Secret.
type test struct {
	pkg string
	// controller is the executable of the controller; empty if the tests run it in their process.
	controller string
	// cluster is the folder of the control plane in bin; empty for the one of most suites.
	cluster string
	race    bool
	flags   []string
}

// failedTests is the exit status of a test executable whose tests failed. A panic and the end of the
// time are 2, a leaked Secret is 3, and a race is 66.
const failedTests = 1

func (t test) step(r runner, out *result) {
	first, err := t.play(nil)
	out.passed += first.passed
	if err == nil {
		return
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != failedTests || len(first.failed) == 0 {
		out.failed += max(1, len(first.failed))
		out.err = errors.Join(out.err, fmt.Errorf("%s: %w %s", t.pkg, err, strings.Join(first.failed, " ")))
		return
	}
	failed := slices.DeleteFunc(slices.Clone(first.failed), func(name string) bool { return r.quarantined[name] })
	for _, name := range first.failed {
		if r.quarantined[name] {
			out.notes = append(out.notes, "quarantined: "+name)
		}
	}
	if len(failed) > 0 && r.reruns {
		second, err := t.play(failed)
		for _, name := range failed {
			if err == nil || !slices.Contains(second.failed, name) && len(second.failed) > 0 {
				out.notes = append(out.notes, "flaky: "+name)
				out.passed++
			}
		}
		if failed = second.failed; err != nil && len(failed) == 0 {
			failed = []string{err.Error()}
		}
	}
	if len(failed) > 0 {
		out.failed += len(failed)
		out.err = errors.Join(out.err, errors.New(strings.Join(failed, " ")))
	}
}

// outcome is what a test process printed about its top-level tests.
type outcome struct {
	passed int
	failed []string
}

// play builds and runs the tests, or only some of them.
func (t test) play(only []string) (outcome, error) {
	binary := filepath.Join("bin", strings.ReplaceAll(t.pkg, "/", "-")+".test")
	build := []string{"test", "-c", "-o", binary, "./" + t.pkg}
	if t.race {
		build = slices.Insert(build, 2, "-race")
	}
	compile := exec.Command("go", build...)
	if t.race {
		compile.Env = []string{"CGO_ENABLED=1"}
	}
	if err := start(compile).wait(); err != nil {
		return outcome{}, fmt.Errorf("build: %w", err)
	}
	path, err := filepath.Abs(binary)
	if err != nil {
		return outcome{}, err
	}
	args := append([]string{"-test.v=test2json", "-test.timeout=" + limit.String()}, t.flags...)
	if only != nil {
		// The last -test.run counts, and no name of a test needs quoting.
		args = append(args, "-test.run=^("+strings.Join(only, "|")+")$")
	}
	run := exec.Command(path, args...)
	run.Dir = t.pkg
	run.Env = []string{"GORACE=halt_on_error=1"}
	if t.cluster != "" {
		run.Env = append(run.Env, controlPlane(t.cluster)...)
	}
	if t.controller != "" {
		controller, err := filepath.Abs(filepath.Join("bin", t.controller))
		if err != nil {
			return outcome{}, err
		}
		run.Env = append(run.Env, "PINTLE_CONTROLLER="+controller)
	}
	// The other end of the pipe is of the converter, and no test can keep it open.
	read, write, err := os.Pipe()
	if err != nil {
		return outcome{}, err
	}
	run.Stdout = write
	tests := start(run)
	_ = write.Close()
	convert := exec.Command("go", "tool", "test2json", "-t")
	convert.Stdin = read
	events, err := convert.StdoutPipe()
	if err != nil {
		return outcome{}, err
	}
	converter := start(convert)
	found, err := follow(events, os.Stdout)
	return found, errors.Join(tests.wait(), err, converter.wait())
}

// limit ends a suite that hangs, with a dump of its goroutines.
const limit = 40 * time.Minute

// event is one of test2json.
type event struct {
	Action, Test, Output string
}

// follow reads the events of a test process. It prints the output of tests that failed, and output
// of no test.
func follow(from io.Reader, to io.Writer) (outcome, error) {
	var found outcome
	output := map[string][]string{}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return found, err
		}
		top, _, inner := strings.Cut(e.Test, "/")
		switch e.Action {
		case "output":
			if top != "" {
				output[top] = append(output[top], e.Output)
			} else if e.Output != "PASS\n" && e.Output != "FAIL\n" {
				_, _ = fmt.Fprint(to, e.Output)
			}
		case "pass", "skip", "fail":
			if top == "" || inner {
				continue
			}
			switch e.Action {
			case "pass":
				found.passed++
			case "fail":
				found.failed = append(found.failed, top)
				_, _ = fmt.Fprint(to, strings.Join(output[top], ""))
			}
			delete(output, top)
		}
	}
	// These did not end: the process did.
	for _, name := range slices.Sorted(maps.Keys(output)) {
		_, _ = fmt.Fprint(to, strings.Join(output[name], ""))
	}
	return found, lines.Err()
}
