// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"
)

// ending is how a worker process ended, as the kernel reports it.
type ending struct {
	// status is the exit status, -1 after a signal.
	status int
	signal syscall.Signal
	cpu    time.Duration
}

// endingOf returns how a process ended. state is nil if that is not known.
func endingOf(state *os.ProcessState) ending {
	if state == nil {
		return ending{status: -1}
	}
	e := ending{status: state.ExitCode(), cpu: state.UserTime() + state.SystemTime()}
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		e.signal = w.Signal()
	}
	return e
}

// death returns why a worker process died. killed is the reason for which the parent process killed
// it, nil if it did not. maxCPU is the CPU time after which the kernel kills the process.
//
// The Go runtime ends the process with one exit status for a lack of memory, a stack overflow, and
// panics of goroutines that nothing recovers.
func (e ending) death(killed *Died, maxCPU time.Duration) *Died {
	if e.signal == syscall.SIGKILL && killed != nil {
		return killed
	}
	died := &Died{Limit: Unexpected, Text: fmt.Sprintf("exit status %d", e.status)}
	switch e.status {
	case exitFatal:
		died.Limit = MemoryOrStack
	case exitMemory:
		died.Limit = Memory
	case exitStack:
		died.Limit = Stack
	case exitPanic:
		died.Limit = Panicked
	case exitProtocol:
		died.Limit = Protocol
	case -1:
		died.Text = fmt.Sprintf("signal %d (%s)", int(e.signal), e.signal)
		// The kernel sends SIGXCPU, which the Go runtime ignores, and SIGKILL at the same limit.
		switch {
		case e.signal == syscall.SIGKILL && e.cpu >= maxCPU:
			died.Limit = CPU
		case e.fromOutside():
			died.Limit = Killed
		}
	}
	return died
}

// fromOutside reports whether another process, or the kernel without memory, sends the signal to end
// a process. The Go runtime turns SIGQUIT into an exit status. All others are faults of the process.
func (e ending) fromOutside() bool {
	return slices.Contains([]syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}, e.signal)
}
