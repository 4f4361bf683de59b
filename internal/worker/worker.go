// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Caller calls functions in a process that untrusted input may end.
type Caller interface {
	// Call calls a function and returns its response. While the function runs, answer returns the
	// results of its callbacks, one at a time. If answer is nil, callbacks are refused. It must
	// return when its context ends.
	//
	// The error is *Failure if the function returned an error or a response of too many bytes, *Died
	// if the process ended or was ended, *TooLarge if the request has too many bytes, and *Unavailable
	// if there was no process for the call. If ctx ends while the call is queued, the error is the
	// cause of ctx.
	Call(ctx context.Context, c Call, answer Answer) ([]byte, error)
}

// Call is one call of a function.
type Call struct {
	// Function is the name of the function, Request its input.
	Function string
	Request  []byte
	// Tenant is charged for the time of the call. Queued calls of tenants that have used less go
	// first.
	Tenant string
	// Timeout limits the time for which the function runs; zero is no limit. Neither the time in
	// the queue counts, nor the start of a process. It ends no callback.
	Timeout time.Duration
	// Traced runs the call in a new process, whose death has the last Note of the function. It is
	// for calls that are repeated after a death.
	Traced bool
}

// Answer returns the result of a callback in the parent process.
type Answer = func(ctx context.Context, name string, request []byte) ([]byte, error)

// Ask sends a callback to the parent process and returns its result. It is safe for concurrent use,
// and callbacks are sent one at a time. After the handler has returned, it returns ErrFinished. An
// error of the parent's Answer is *Failure.
type Ask = func(name string, request []byte) ([]byte, error)

// tracerKey is the key of the tracer in the context of a handler.
type tracerKey struct{}

// tracer takes the notes of a traced call.
type tracer func(note string)

// Note records what the handler begins to work on, for the error of a call that dies. ctx is the
// context of the handler. The note is a noun phrase, such as "template web/templates/a.yaml", and
// must not contain values. It has no effect in calls that are not traced.
func Note(ctx context.Context, note string) {
	if t, ok := ctx.Value(tracerKey{}).(tracer); ok {
		t(note)
	}
}

// Traced reports whether the call of a handler is traced.
func Traced(ctx context.Context) bool {
	_, ok := ctx.Value(tracerKey{}).(tracer)
	return ok
}

// Handler serves calls in the worker process. It must recover panics of goroutines that it starts:
// they end the process, and the caller takes them for a lack of memory.
type Handler func(ctx context.Context, name string, request []byte, ask Ask) ([]byte, error)

// ErrFinished is the error of a callback after its call has ended.
var ErrFinished = errors.New("the call has ended")

// Failure is an error that a function returned. It has crossed a process boundary, so only its text
// is left.
type Failure struct {
	Text string
}

func (f *Failure) Error() string { return f.Text }

// TooLarge is a payload that exceeds its limit. It was not sent, and the worker process goes on. The
// other process receives the text.
type TooLarge struct {
	// Payload is "request", "response", "callback" or "answer", or "name" of a call or callback.
	Payload string
	// Size and Max are in bytes.
	Size, Max int64
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("a %s of %d bytes exceeds the limit of %d bytes", e.Payload, e.Size, e.Max)
}

// checkSize returns a *TooLarge if a payload exceeds its limit.
func checkSize(payload string, size int, most uint32) error {
	if uint64(size) > uint64(most) {
		return &TooLarge{Payload: payload, Size: int64(size), Max: int64(most)}
	}
	return nil
}

// Unavailable is the error of a call that had no process, whatever its request is. The call may
// succeed later.
type Unavailable struct {
	// Cause is the reason. It is equal for equal reasons, and contains nothing of the request.
	Cause string
	// Since is the beginning of the call.
	Since time.Time
	// Err is the error of the start of a process, or ErrClosed. It may be nil, and is never *Died.
	Err error
}

func (u *Unavailable) Error() string { return "no worker process is available: " + u.Cause }

// Unwrap returns Err.
func (u *Unavailable) Unwrap() error { return u.Err }

// Limit is the reason why a worker process ended during a call. The values are metric labels.
type Limit string

const (
	// Memory is the memory limit of the process.
	Memory Limit = "memory"
	// Stack is the size of the goroutine stacks, which is exceeded by deep recursion.
	Stack Limit = "stack"
	// MemoryOrStack is a fatal error of the Go runtime. It has one exit status for both limits.
	MemoryOrStack Limit = "memory_or_stack"
	// CPU is the CPU time of one call.
	CPU Limit = "cpu"
	// Deadline is the timeout of the call, or the deadline of its context.
	Deadline Limit = "deadline"
	// Cancelled is the cancellation of the call's context.
	Cancelled Limit = "cancelled"
	// Protocol is an invalid message of the process, or one that exceeds its maximum size.
	Protocol Limit = "protocol"
	// Panicked is a panic in the function.
	Panicked Limit = "panic"
	// Killed is a signal of another process or of the kernel, for no limit of the call.
	Killed Limit = "killed"
	// Unexpected is any other end of the process: an exit status, or a signal for a fault.
	Unexpected Limit = "unexpected"
)

// Died is the end of the worker process during a call.
type Died struct {
	Limit Limit
	// Text describes the end in a few words, such as "exit status 3". It contains no text of the
	// worker process.
	Text string
	// Note is the last Note of a traced call. It is one line, and not trustworthy.
	Note string
	// Err is context.DeadlineExceeded for Deadline, and the cause of the context for Cancelled.
	Err error
	// MaxMemory and MaxStack are the limits of the process in bytes, and MaxCPU is that of the call.
	// They are zero if the limits are not known.
	MaxMemory, MaxStack int64
	MaxCPU              time.Duration
}

func (d *Died) Error() string {
	return fmt.Sprintf("the worker process ended (%s): %s", d.Limit, d.Text)
}

// Outside reports whether the process was killed by another process or the kernel, for no limit of
// the call. The kernel may lack memory because of the call, or because of other processes.
func (d *Died) Outside() bool { return d.Limit == Killed }

// Unwrap returns Err, so that errors.Is finds context.DeadlineExceeded.
func (d *Died) Unwrap() error { return d.Err }
