// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"strconv"
	"time"

	"github.com/go-logr/logr"
)

// Command is the first argument of a worker process.
const Command = "render-worker"

// Options configure a Pool. Zero values stand for the defaults.
type Options struct {
	// Executable is started with Args, and must call Serve. The default is this executable,
	// /proc/self/exe, even if its file was replaced. The default of Args is Command.
	Executable string
	Args       []string
	// Size is the maximum number of processes, by default DefaultSize. Share returns one for the
	// memory of a container.
	Size int
	// IdleTimeout is the time after which idle processes end, except the last one, by default a
	// minute.
	IdleTimeout time.Duration
	// MemoryLimit is the maximum of the memory of the Go runtime in a process, in bytes, by default
	// DefaultMemoryLimit. StackLimit is the part of it for goroutine stacks, by default an eighth.
	// Stacks grow by doubling, so half of StackLimit can be used in any case.
	MemoryLimit, StackLimit int64
	// CPULimit is the maximum CPU time of a call, by default a minute.
	CPULimit time.Duration
	// QueueTimeout is the maximum time in the queue, by default two minutes.
	QueueTimeout time.Duration
	// MaxCalls is the number of calls after which a process is replaced, by default 200.
	MaxCalls int
	// Processors is GOMAXPROCS of a process, by default 2.
	Processors int
	// TimeZone is the environment variable TZ of a process. If it is empty, its time zone is UTC.
	TimeZone string
	// Maximum sizes of payloads in bytes, by default 64 MiB for requests, 40 MiB for responses, 1 MiB
	// for the requests of callbacks and 16 MiB for their responses. They are at most 1 GiB.
	MaxRequest, MaxResponse, MaxAsk, MaxAnswer uint32
	// Now is the clock of Waited and of Unavailable.Since. Without it, both have no time.
	Now func() time.Time
	// Waited is called with the time that a call has spent in the queue. Nil is not called.
	Waited func(time.Duration)
	Log    logr.Logger
}

// maxPayload is the maximum of all sizes of payloads in bytes.
const maxPayload = 1 << 30

// withDefaults returns the options with defaults in place of zero values.
func (o Options) withDefaults() Options {
	orElse(&o.Executable, "/proc/self/exe")
	if o.Args == nil {
		o.Args = []string{Command}
	}
	orElse(&o.Size, DefaultSize)
	orElse(&o.IdleTimeout, time.Minute)
	orElse(&o.MemoryLimit, DefaultMemoryLimit)
	orElse(&o.StackLimit, o.MemoryLimit/8)
	orElse(&o.CPULimit, time.Minute)
	orElse(&o.QueueTimeout, 2*time.Minute)
	if o.Now == nil {
		o.Now = func() time.Time { return time.Time{} }
	}
	if o.Waited == nil {
		o.Waited = func(time.Duration) {}
	}
	orElse(&o.MaxCalls, 200)
	orElse(&o.Processors, 2)
	for _, size := range []struct {
		bytes *uint32
		most  uint32
	}{{&o.MaxRequest, 64 * mebibyte}, {&o.MaxResponse, 40 * mebibyte}, {&o.MaxAsk, mebibyte}, {&o.MaxAnswer, 16 * mebibyte}} {
		orElse(size.bytes, size.most)
		*size.bytes = min(*size.bytes, maxPayload)
	}
	return o
}

func orElse[T comparable](value *T, byDefault T) {
	var zero T
	if *value == zero {
		*value = byDefault
	}
}

// settings returns the limits that a process applies to itself. CPU time is limited for all calls
// together, since the parent process limits that of one call.
func (o Options) settings() settings {
	return settings{
		Memory: o.MemoryLimit, Stack: o.StackLimit,
		CPUSeconds: int64(o.CPULimit*time.Duration(o.MaxCalls)/time.Second) + 1,
		Sizes:      sizes{Request: o.MaxRequest, Response: o.MaxResponse, Ask: o.MaxAsk, Answer: o.MaxAnswer},
	}
}

// environment returns all environment variables of a process. The runtime otherwise opens the files
// of the cgroup that limit its CPU time, and keeps them open.
func (o Options) environment() []string {
	return []string{"GOMAXPROCS=" + strconv.Itoa(o.Processors), "GODEBUG=containermaxprocs=0,updatemaxprocs=0", "TZ=" + o.TimeZone}
}

// recycle reports whether a process is replaced after a call that left it with data, the memory that
// it was given, in bytes. Memory of earlier calls counts against the limit even if the kernel has it
// back, and a large allocation may not fit into it.
func (o Options) recycle(calls int, data int64) bool {
	return calls >= o.MaxCalls || data > o.MemoryLimit/2
}
