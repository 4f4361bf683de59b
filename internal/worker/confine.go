// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

// settings are the limits of a worker process. The parent process sends them.
type settings struct {
	Sizes sizes
	// Memory is the maximum of memory of the Go runtime in bytes.
	Memory int64
	// Stack is the maximum of all goroutine stacks in bytes.
	Stack int64
	// CPUSeconds is the CPU time of the process, for all of its calls.
	CPUSeconds int64
}

// report is what a worker process reports when it is ready.
type report struct {
	// Filter is true if system calls are filtered.
	Filter bool
	// MemoryLimit is true if the kernel limits memory. The race detector reserves terabytes, so
	// executables with it have no limit.
	MemoryLimit bool
}

// maxDescriptors is the limit of open files: three standard descriptors, two pipes, two of the
// runtime, and two more of the C library.
const maxDescriptors = 9

// confine applies the limits to this process, for its remaining life. Whatever needs files must
// happen before.
func confine(s settings) (report, error) {
	r := report{MemoryLimit: !raceDetector}
	// It reads the local time zone, which the runtime otherwise does at its first use. No other time
	// zone is available in templates, as in the container image, which has no zone files.
	_ = time.Unix(0, 0).Local().Format(time.RFC3339)
	debug.SetMemoryLimit(memoryTarget(s.Memory))
	debug.SetMaxStack(int(maxStacks * s.Stack))
	limits := map[int]uint64{
		unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_NOFILE: maxDescriptors, unix.RLIMIT_CPU: uint64(s.CPUSeconds),
	}
	if r.MemoryLimit {
		most, err := dataLimit(s.Memory)
		if err != nil {
			return r, err
		}
		limits[unix.RLIMIT_DATA] = most
		if limits[unix.RLIMIT_AS], err = addressLimit(s.Memory); err != nil {
			return r, err
		}
	}
	for resource, most := range limits {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return r, fmt.Errorf("resource limit %d: %w", resource, err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return r, fmt.Errorf("PR_SET_DUMPABLE: %w", err)
	}
	var err error
	r.Filter, err = install()
	return r, err
}

// memoryTarget returns the memory limit of the garbage collector, which works harder the closer it
// comes to it. A call that exceeds it has the rest until watch or the kernel ends the process.
func memoryTarget(memory int64) int64 { return memory / 4 * 3 }

// dataLimit returns the value of RLIMIT_DATA for a limit of the memory of the Go runtime. Executable
// and runtime reserve much more memory than they use: 70 MiB, of which 1 MiB is resident.
func dataLimit(memory int64) (uint64, error) {
	_, data, err := memoryOf("self")
	if err != nil {
		return 0, err
	}
	return uint64(memory + max(0, data-readUsage().mapped)), nil
}

// reservation is address space that the Go runtime reserves in addition to what it uses: arenas of
// 64 MiB, and as much again to align them.
const reservation = 128 << 20

// addressLimit returns the value of RLIMIT_AS for a limit of the memory of the Go runtime. The kernel
// does not check RLIMIT_DATA when the runtime makes reserved memory writable at once, so a single
// large allocation would exceed it.
func addressLimit(memory int64) (uint64, error) {
	addresses, _, err := memoryOf("self")
	if err != nil {
		return 0, err
	}
	return uint64(addresses + memory + reservation), nil
}
