// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// runner is how suites are run.
type runner struct {
	// reruns lets failed tests of suites with a cluster run once more.
	reruns bool
	// quarantined are tests whose failures are reported and do not count.
	quarantined map[string]bool
}

// result is the outcome of a suite.
type result struct {
	name      string
	err       error
	wall, cpu time.Duration
	// passed and failed are numbers of tests; zero if they are not known.
	passed, failed int
	// notes are lines for the report, such as tests that failed and passed when run once more.
	notes []string
}

func (s suite) run(name string, r runner) result {
	began, before := time.Now(), processorTime()
	out := result{name: name}
	for _, do := range s.steps {
		do(r, &out)
	}
	reap()
	out.wall, out.cpu = time.Since(began), processorTime()-before
	return out
}

// step is a part of a suite. A step runs even if another failed before.
type step func(runner, *result)

// command is a step that runs a command of the shell in the root of the repository.
func command(line string) step {
	return func(_ runner, out *result) {
		fmt.Println(line)
		if err := start(exec.Command("sh", "-c", line)).wait(); err != nil {
			out.err = errors.Join(out.err, err)
		}
	}
}

// process is a started command.
type process struct {
	cmd *exec.Cmd
	err error
}

// start starts a command with the output and the environment of all suites, and the environment
// variables that it has itself. The kernel ends it with this process.
func start(cmd *exec.Cmd) process {
	if cmd.Stdout == nil {
		cmd.Stdout = os.Stdout
	}
	cmd.Stderr = os.Stderr
	cmd.Env = slices.Concat(os.Environ(), controlPlane("cluster"), cmd.Env)
	return process{cmd, cmd.Start()}
}

func (p process) wait() error {
	if p.err != nil {
		return p.err
	}
	return p.cmd.Wait()
}

// controlPlane are the environment variables of tests that use the control plane in a folder of bin.
func controlPlane(folder string) []string {
	return []string{"KUBEBUILDER_ASSETS=" + inBin(folder), "PINTLE_CLUSTER_BIN=" + inBin(folder)}
}

// inBin returns the path of what `make` has built.
func inBin(name string) string {
	root, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	return filepath.Join(root, "bin", name)
}

// becomeSubreaper makes this process the parent of processes whose own parent has ended, such as
// the processes of a test cluster, so that their processor time counts.
func becomeSubreaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// reap waits for children that have ended. Other children continue.
func reap() {
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
			return
		}
	}
}

// processorTime is the time in user and system mode of all children that have ended.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
