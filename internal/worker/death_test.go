// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"syscall"
	"testing"
	"time"
)

func TestDeath(t *testing.T) {
	deadline := &Died{Limit: Deadline, Text: "late"}
	for _, tc := range []struct {
		reason string
		ending ending
		killed *Died
		want   Died
	}{
		{"a fatal error of Go", ending{status: exitFatal}, nil, Died{Limit: MemoryOrStack, Text: "exit status 2"}},
		{"memory", ending{status: exitMemory}, nil, Died{Limit: Memory, Text: "exit status 81"}},
		{"stack", ending{status: exitStack}, nil, Died{Limit: Stack, Text: "exit status 82"}},
		{"a panic", ending{status: exitPanic}, nil, Died{Limit: Panicked, Text: "exit status 83"}},
		{"an invalid frame of the parent", ending{status: exitProtocol}, nil, Died{Limit: Protocol, Text: "exit status 84"}},
		{"success", ending{status: 0}, nil, Died{Limit: Unexpected, Text: "exit status 0"}},
		{"the parent killed it", ending{status: -1, signal: syscall.SIGKILL}, deadline, *deadline},
		{"it ended before the parent could kill it", ending{status: exitMemory}, deadline, Died{Limit: Memory, Text: "exit status 81"}},
		{"another process killed it", ending{status: -1, signal: syscall.SIGKILL, cpu: 9 * time.Second}, nil, Died{Limit: Killed, Text: "signal 9 (killed)"}},
		{"another process ended it", ending{status: -1, signal: syscall.SIGTERM}, nil, Died{Limit: Killed, Text: "signal 15 (terminated)"}},
		{"the kernel killed it at the limit of CPU time", ending{status: -1, signal: syscall.SIGKILL, cpu: 10 * time.Second}, nil, Died{Limit: CPU, Text: "signal 9 (killed)"}},
		{"a fault", ending{status: -1, signal: syscall.SIGBUS, cpu: 10 * time.Second}, deadline, Died{Limit: Unexpected, Text: "signal 7 (bus error)"}},
	} {
		if got := tc.ending.death(tc.killed, 10*time.Second); *got != tc.want {
			t.Errorf("%s: got %+v", tc.reason, *got)
		}
	}
}

func TestExceeded(t *testing.T) {
	s := settings{Memory: 800, Stack: 100}
	for _, tc := range []struct {
		reason string
		usage  usage
		want   int
	}{
		{"nothing", usage{}, 0},
		{"memory up to seven eighths", usage{mapped: 700}, 0},
		{"more memory", usage{mapped: 701}, exitMemory},
		{"released memory does not count", usage{mapped: 900, released: 200}, 0},
		{"stacks up to their limit", usage{mapped: 700, stacks: 100}, 0},
		{"larger stacks", usage{mapped: 800, stacks: 101}, exitStack},
	} {
		if got := tc.usage.exceeded(s); got != tc.want {
			t.Errorf("%s: got %d", tc.reason, got)
		}
	}
}

func TestParseStatm(t *testing.T) {
	addresses, data, err := parseStatm("1000 300 200 50 0 400 0\n", 4096)
	if addresses != 1000*4096 || data != 400*4096 || err != nil {
		t.Errorf("got %d, %d, %v", addresses, data, err)
	}
	if _, _, err := parseStatm("1000 300", 4096); err == nil {
		t.Error("a short line has no error")
	}
	if addresses, data, err := memoryOf("self"); addresses <= 0 || data <= 0 || err != nil {
		t.Errorf("this process: got %d, %d, %v", addresses, data, err)
	}
}
