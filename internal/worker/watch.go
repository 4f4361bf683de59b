// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"fmt"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Exit statuses of a worker process. 2 is that of fatal errors of the Go runtime, for which it has
// no other.
const (
	exitFatal    = 2
	exitMemory   = 81
	exitStack    = 82
	exitPanic    = 83
	exitProtocol = 84
	exitSetup    = 85
)

const (
	// watchInterval is the time between two readings of memory usage during a call.
	watchInterval = 5 * time.Millisecond
	// maxStacks is how many times the stack limit a goroutine stack may reach between two readings.
	maxStacks = 4
)

// usage is memory of this process in bytes.
type usage struct {
	// mapped is all memory of the Go runtime, and released the part that the kernel has back.
	mapped, released int64
	// stacks is the memory of goroutine stacks.
	stacks int64
}

// readUsage returns the present memory usage.
func readUsage() usage {
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"},
	}
	metrics.Read(samples)
	value := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
	return usage{mapped: value(0), released: value(1), stacks: value(2)}
}

// exceeded returns the exit status for a usage above the limits, 0 for all others. The kernel and
// the runtime enforce the same limits, but with one exit status for both.
func (u usage) exceeded(s settings) int {
	switch {
	case u.stacks > s.Stack:
		return exitStack
	case u.mapped-u.released > s.Memory/8*7:
		return exitMemory
	}
	return 0
}

// watch ends the process if its usage exceeds the limits, until the returned function is called.
func watch(s settings) (stop func()) {
	done := make(chan struct{})
	go func() {
		ticker := time.NewTicker(watchInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
			}
			if status := readUsage().exceeded(s); status != 0 {
				os.Exit(status)
			}
		}
	}()
	return func() { close(done) }
}

// releaseMemory returns the memory of a call to the kernel, if it is a large part of the limit. A
// process that waits for its next call otherwise keeps it.
func releaseMemory(s settings) {
	if u := readUsage(); u.mapped-u.released > s.Memory/4 {
		debug.FreeOSMemory()
	}
}

// memoryOf returns the address space of a process, and its writable private memory, in bytes. RLIMIT_AS
// and RLIMIT_DATA limit them. The process is a directory of /proc.
func memoryOf(process string) (addresses, data int64, err error) {
	raw, err := os.ReadFile("/proc/" + process + "/statm")
	if err != nil {
		return 0, 0, err
	}
	return parseStatm(string(raw), int64(os.Getpagesize()))
}

// parseStatm parses the content of /proc/PID/statm, which has numbers of pages.
func parseStatm(content string, pageSize int64) (addresses, data int64, err error) {
	var size, all, shared, text, library, private int64
	if _, err := fmt.Sscan(content, &size, &all, &shared, &text, &library, &private); err != nil {
		return 0, 0, fmt.Errorf("statm: %w", err)
	}
	return size * pageSize, private * pageSize, nil
}
