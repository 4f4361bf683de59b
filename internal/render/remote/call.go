// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pintle-dev/pintle/internal/worker"
)

// calls calls the functions of a worker.
type calls struct{ caller worker.Caller }

// leastTimeout is the timeout of a call whose action has a shorter one: a busy node is no fault of
// the chart.
const leastTimeout = 5 * time.Second

// traceTimeout limits a traced call that only shows what ended the call before.
const traceTimeout = 2 * time.Second

// call calls a function, and once more if that ended the worker. The end of ctx does not end the
// call, which has a timeout of its own.
func (c calls) call(ctx context.Context, function, doing string, in Rendering, requests worker.Answer) (response, error) {
	timeout := max(in.Timeout, leastTimeout)
	request, err := encodeRequest(in)
	if err != nil {
		return response{}, err
	}
	limited := context.WithoutCancel(ctx)
	to := worker.Call{Function: function, Request: request, Timeout: timeout, Tenant: in.Tenant}
	message, err := c.caller.Call(limited, to, requests)
	if died, dead := errors.AsType[*worker.Died](err); dead && ctx.Err() == nil {
		message, err = c.trace(limited, died, to, requests)
	}
	if err != nil {
		return response{}, described(doing, timeout, err)
	}
	return decodeResponse(message)
}

// trace repeats a call that ended its worker, in a new one. Functions have no side effects. The
// result of the new call counts, unless it ends its worker, too: then its trace shows what both
// worked on. If another process has killed the first worker, the second one decides. Otherwise the
// limit that ended the first one stands, so the second one gets little time.
func (c calls) trace(ctx context.Context, first *worker.Died, to worker.Call, requests worker.Answer) ([]byte, error) {
	to.Traced = true
	if !first.Outside() {
		to.Timeout = min(to.Timeout, traceTimeout)
	}
	message, err := c.caller.Call(ctx, to, requests)
	second, dead := errors.AsType[*worker.Died](err)
	_, none := errors.AsType[*worker.Unavailable](err)
	if (dead || none) && !first.Outside() {
		same := *first
		if dead {
			same.Note = second.Note
		}
		err = &same
	}
	return message, err
}

// Ended is the end of a worker during a call, as users read it.
type Ended struct {
	// Doing describes the call, Timeout is its timeout.
	Doing   string
	Timeout time.Duration
	Died    *worker.Died
}

// Unwrap returns the error of the call.
func (e *Ended) Unwrap() error { return e.Died }

// Error implements error.
func (e *Ended) Error() string {
	doing, took := e.Doing, ""
	if e.Died.Note != "" {
		doing += ": " + e.Died.Note
	}
	switch d := e.Died; d.Limit {
	case worker.Memory:
		took = mebibytes(d.MaxMemory) + " of memory"
	case worker.Stack:
		took = mebibytes(d.MaxStack) + " of stack"
	case worker.MemoryOrStack:
		took = mebibytes(d.MaxMemory) + " of memory, or more than " + mebibytes(d.MaxStack) + " of stack"
	case worker.CPU:
		took = d.MaxCPU.String() + " of CPU time"
	case worker.Deadline:
		return fmt.Sprintf("%s has not ended in time, which is %s", doing, e.Timeout)
	case worker.Killed:
		return fmt.Sprintf("%s was killed twice: %s; the container or the node may lack memory", doing, d.Text)
	case worker.Cancelled, worker.Protocol, worker.Panicked, worker.Unexpected:
		return fmt.Sprintf("%s ended its process: %s", doing, d.Text)
	}
	return fmt.Sprintf("%s took more than %s, and was ended", doing, took)
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }

// Unavailable is the error of a call that had no worker. It is no fault of the chart, and the call
// may succeed later.
type Unavailable struct {
	// Doing describes the call.
	Doing string
	Err   *worker.Unavailable
}

// Unwrap returns the error of the call.
func (u *Unavailable) Unwrap() error { return u.Err }

// Error implements error.
func (u *Unavailable) Error() string { return u.Doing + " has not begun: " + u.Err.Error() }

// Outage returns the error as that of a server that does not answer, see apiretry.OutageOf.
func (u *Unavailable) Outage() (server string, since time.Time, cause string) {
	return "the rendering of charts", u.Err.Since, u.Err.Error()
}

// described adds the subject to the error of a worker.
func described(doing string, timeout time.Duration, err error) error {
	if died, ok := errors.AsType[*worker.Died](err); ok {
		return &Ended{Doing: doing, Timeout: timeout, Died: died}
	}
	if none, ok := errors.AsType[*worker.Unavailable](err); ok {
		return &Unavailable{Doing: doing, Err: none}
	}
	return err
}
