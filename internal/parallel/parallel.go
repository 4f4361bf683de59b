// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package parallel calls a function for many objects at once. A panic for one object is the error
// of this object, since a panic on a goroutine of its own would end the process with all releases.
package parallel

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/go-logr/logr"
)

// Do calls do with the numbers from 0 to n-1, at most limit at the same time, and returns when all
// calls have returned. The errors are in the order of the numbers, with nil for each call that
// succeeded. A panic becomes a *PanicError and is logged with its stack. Do does not look at ctx
// apart from its logger: all calls are made.
func Do(ctx context.Context, n, limit int, do func(i int) error) []error {
	errs := make([]error, n)
	var running sync.WaitGroup
	slots := make(chan struct{}, limit)
	for i := range n {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			errs[i] = call(ctx, i, do)
		})
	}
	running.Wait()
	return errs
}

func call(ctx context.Context, i int, do func(i int) error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &PanicError{Cause: cause}
			logr.FromContextOrDiscard(ctx).Error(err, "Panicked", "stack", string(debug.Stack()))
		}
	}()
	return do(i)
}

// PanicError is the error of a call that panicked.
type PanicError struct{ Cause any }

// Error returns the text of an error of the Go runtime, and otherwise only the type of the cause:
// its text may contain anything, also a Secret.
func (e *PanicError) Error() string {
	if err, ok := e.Cause.(runtime.Error); ok {
		return "panic: " + err.Error()
	}
	return fmt.Sprintf("panic: %T", e.Cause)
}
