// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package worker calls functions in processes that untrusted input may end.
//
// Templates, values and schemas are programs of tenants. A few bytes of them can overflow the stack
// of Go or take gigabytes, and Go ends the whole process then. In a worker process they end one
// call, and the controller goes on.
//
// A worker process is the same executable with another argument. Its main function is Serve, which
// reads calls from standard input and writes responses to standard output, one call at a time. A
// function can call back into the parent process. Every frame has a kind and a length, and the
// parent process checks both: a worker process that a tenant has taken over can send any bytes.
//
// Before the first call, Serve confines its process for the rest of its life:
//
//   - No system call that opens files or sockets, starts processes, signals others, or maps
//     executable or shared memory: seccomp with a list of allowed system calls on amd64 and arm64,
//     for all threads. Refused calls return EPERM. Other architectures have no filter, and Stats
//     counts their processes.
//   - Memory by RLIMIT_DATA, and by RLIMIT_AS in addition to what the process has reserved by then:
//     one large allocation does not count for RLIMIT_DATA. Executables with the race detector, which
//     reserves terabytes, have no limit, and Stats counts their processes. Shared memory, which
//     RLIMIT_DATA does not count, is refused by the filter.
//   - CPU time of all calls by RLIMIT_CPU, open files by RLIMIT_NOFILE, and no core dumps or files.
//   - It is not dumpable: other processes of the same user cannot trace it or read its memory.
//   - Its environment has GOMAXPROCS, GODEBUG and TZ. Standard error is discarded, since it may
//     contain values.
//   - There are no time zones but UTC and the one of TZ, as in the container image.
//
// The parent process enforces the deadline and the CPU time of a call, with SIGKILL. The kernel ends
// worker processes when the parent process ends, and so does the end of standard input.
//
// The reason of a death comes from the exit status, the signal, the CPU time, and what the parent
// process did, never from a text. During a call, a goroutine reads memory usage every 5 ms, and ends
// the process with an exit status for memory or for stacks. If a limit is reached within 5 ms, the Go
// runtime ends the process with one exit status for both, MemoryOrStack.
//
// A death is the fault of its call, with two exceptions. A process that dies before it has begun a
// call, or cannot be started, leaves the call Unavailable. So does a queue in which it waits for too long.
// A process that another one has killed may have nothing to do with its call, see Died.Outside.
//
// What a call works on is known for traced calls only: each Note is sent at once. So callers repeat a
// call that died as a traced one. All other calls cost nothing more.
//
// One process serves calls of several tenants, one after the other. Options.MaxCalls of 1 starts a
// process for each call.
//
//	pool.go      Pool: the queue of calls and the processes
//	idle.go      processes between two calls, and the thread that starts processes
//	memory.go    Share: how the memory of a container is divided among the processes
//	options.go   Options, and when a process is replaced
//	call.go      one call, seen by the parent process
//	process.go   one process, seen by its parent
//	death.go     why a process died, from its exit status
//	protect.go   Protect: the parent process against its worker processes
//	serve.go     Serve: the main function of a worker process
//	race.go      whether the executable has the race detector
//	watch.go     memory usage, its limits during a call, and exit statuses
//	confine.go   the limits that a worker process applies to itself
//	filter.go    the filter of system calls
//	frame.go     frames: the protocol between the two processes
//	local.go     Local: a Caller that runs the handler in this process
//	worker.go    Caller, Handler, and the errors of a call
package worker
