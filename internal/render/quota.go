// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Limits limits the rendering of one chart. DefaultLimits is about a hundred times the needs of
// large charts.
type Limits struct {
	// Steps counts iterations, executed templates and calls of functions. Slow functions count
	// more than once.
	Steps int64
	// Bytes limits the arguments and results of all functions together, Value those of one call.
	Bytes, Value int64
	// Output limits the rendered text, in bytes.
	Output int64
	// Depth limits the nesting of blocks, templates and includes. Each level uses stack, and a
	// stack overflow ends the process.
	Depth int
}

// DefaultLimits returns the limits for all charts. They are the same everywhere, so that a chart is
// rejected in each installation or in none.
func DefaultLimits() Limits {
	return Limits{Steps: 1_000_000, Bytes: 256 << 20, Value: 32 << 20, Output: 32 << 20, Depth: 20_000}
}

// largeBytes is the number of bytes after which a rendering needs a slot in Options.Large.
const largeBytes = 32 << 20

// quota counts the use of limits by one rendering. After a limit is exceeded, all methods return
// the same error, which ends the rendering.
type quota struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one rendering
	left   Limits
	limits Limits
	large  chan struct{}
	// slot is true while the rendering holds a slot in large.
	slot bool
	err  error
}

func newQuota(ctx context.Context, limits Limits, large chan struct{}) *quota {
	return &quota{ctx: ctx, left: limits, limits: limits, large: large}
}

// exceeded stores the error that ends the rendering, and returns the first one that was stored.
func (q *quota) exceeded(format string, args ...any) error {
	if q.err == nil {
		q.err = fmt.Errorf(format, args...)
	}
	return q.err
}

// useSteps counts n steps.
func (q *quota) useSteps(n int64) error {
	if q.err != nil {
		return q.err
	}
	before := q.left.Steps
	if q.left.Steps -= n; q.left.Steps < 0 || n < 0 {
		return q.exceeded("rendering takes more than %d steps", q.limits.Steps)
	}
	// Read the context once in 1024 steps.
	if before>>10 != q.left.Steps>>10 && errors.Is(q.ctx.Err(), context.DeadlineExceeded) {
		return q.exceeded("rendering has not ended in time")
	}
	return nil
}

// useBytes counts n bytes that are or will be allocated. It waits for a slot if the rendering is
// large.
func (q *quota) useBytes(n int64) error {
	if q.err != nil {
		return q.err
	}
	if n > q.limits.Value || n < 0 {
		return q.exceeded("rendering makes a value of more than %d bytes", q.limits.Value)
	}
	if q.left.Bytes -= n; q.left.Bytes < 0 {
		return q.exceeded("rendering takes more than %d bytes of memory", q.limits.Bytes)
	}
	if q.limits.Bytes-q.left.Bytes > largeBytes && !q.slot && q.large != nil {
		select {
		case q.large <- struct{}{}:
			q.slot = true
		case <-q.ctx.Done():
			return q.exceeded("rendering takes much memory, and other renderings that do did not end in time")
		}
	}
	// Bytes take time too.
	return q.useSteps(1 + n>>10)
}

// sizeOf returns the size of a value when it is written, in bytes. A part that occurs twice counts
// twice. It stops at the limits.
func (q *quota) sizeOf(v any) (int64, error) {
	w := sizer{limit: min(q.limits.Value, max(q.left.Bytes, 0)) + 1}
	w.add(v, 0)
	if w.deep {
		return 0, q.exceeded("rendering writes a value that is more than %d levels deep, or contains itself", maxValueDepth)
	}
	return w.sum, nil
}

// release frees the slot. It may be called more than once.
func (q *quota) release() {
	if q.slot {
		<-q.large
		q.slot = false
	}
}

// enter increases the depth by n; exit decreases it.
func (q *quota) enter(n int) error {
	if q.left.Depth -= n; q.left.Depth < 0 {
		return q.exceeded("templates include each other more than %d blocks deep", q.limits.Depth)
	}
	return q.useSteps(1)
}

func (q *quota) exit(n int) { q.left.Depth += n }

// writer collects the output of a template.
type writer struct {
	quota *quota
	strings.Builder
}

func (w *writer) Write(p []byte) (int, error) {
	if w.quota.err != nil {
		return 0, w.quota.err
	}
	if w.quota.left.Output -= int64(len(p)); w.quota.left.Output < 0 {
		return 0, w.quota.exceeded("the chart renders more than %d bytes", w.quota.limits.Output)
	}
	return w.Builder.Write(p)
}

// includeWriter collects the output of a template that is rendered into another.
type includeWriter struct {
	quota *quota
	strings.Builder
}

func (w *includeWriter) Write(p []byte) (int, error) {
	if err := w.quota.useBytes(int64(len(p))); err != nil {
		return 0, err
	}
	if int64(w.Len()) > w.quota.limits.Value {
		return 0, w.quota.exceeded("rendering makes a value of more than %d bytes", w.quota.limits.Value)
	}
	return w.Builder.Write(p)
}
