// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Local is a Caller that runs the handler in this process, without limits. It is for tests, and for
// executables that may not start processes. Errors are the same as those of a process, except that
// panics and fatal errors end this process.
type Local struct {
	Handler Handler
}

// Call implements Caller. The handler must return when its context ends.
func (l Local) Call(parent context.Context, c Call, answer Answer) ([]byte, error) {
	var mu sync.Mutex
	finished, last := false, ""
	ctx := parent
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(parent, c.Timeout)
		defer cancel()
	}
	if c.Traced {
		ctx = context.WithValue(ctx, tracerKey{}, tracer(func(note string) {
			mu.Lock()
			defer mu.Unlock()
			last = noteOf(notePayload(note))
		}))
	}
	response, err := l.Handler(ctx, c.Function, c.Request, func(name string, request []byte) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		if finished {
			return nil, ErrFinished
		}
		return reply(parent, answer, name, request)
	})
	mu.Lock()
	defer mu.Unlock()
	finished = true
	if ctx.Err() != nil {
		died := interrupted(ctx)
		died.Note = last
		return nil, died
	}
	if err != nil {
		return nil, failureOf(err)
	}
	return response, nil
}

// reply calls answer. Its error is *Failure.
func reply(ctx context.Context, answer Answer, name string, request []byte) ([]byte, error) {
	if answer == nil {
		return nil, &Failure{Text: fmt.Sprintf("callback %q is refused", name)}
	}
	response, err := answer(ctx, name, request)
	if err != nil {
		return nil, failureOf(err)
	}
	return response, nil
}

// failureOf returns the text of err as a failure.
func failureOf(err error) *Failure { return &Failure{Text: err.Error()} }

// interrupted returns the error of a call whose context has ended.
func interrupted(ctx context.Context) *Died {
	cause := context.Cause(ctx)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &Died{Limit: Deadline, Text: "the deadline has passed", Err: cause}
	}
	return &Died{Limit: Cancelled, Text: "the call was cancelled", Err: cause}
}
