// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// turn is for how long a process may run while others wait, in nanoseconds. Kernels
// before 6.12 do not let it be chosen, and ignore it.
const turn = 30_000_000

// inBatch returns in a process with scheduling policy SCHED_BATCH, which its children inherit: a
// woken process waits for its turn instead of preempting another. A session is a handful of busy
// processes that exchange small messages on few processors, and preemptions cost more than a tenth
// of the time.
//
// The policy belongs to a thread, and new threads inherit it. So inBatch executes the program again
// from a thread with the policy.
func inBatch() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return fmt.Errorf("read how the process is scheduled: %w", err)
	}
	if attr.Policy == unix.SCHED_BATCH {
		return nil
	}
	attr.Policy, attr.Runtime = unix.SCHED_BATCH, turn
	if err := unix.SchedSetAttr(0, attr, 0); err != nil {
		return fmt.Errorf("have the process be scheduled as a batch job: %w", err)
	}
	path, err := os.Executable()
	if err != nil {
		return err
	}
	return fmt.Errorf("begin %s anew: %w", path, syscall.Exec(path, os.Args, os.Environ()))
}
