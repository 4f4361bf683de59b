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

// inBatch returns in a process that is scheduled as a batch job, and so is all that
// it starts: a process that wakes up waits for its turn instead of interrupting another.
// A session is a handful of busy processes that send each other small messages, on
// few processors, and interruptions are more than a tenth of what it costs there.
//
// The policy is a thread's, and a new thread has that of the one which made it. So
// this begins the program anew from a thread that has it.
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
