// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Limits are what the rendering of a chart may take. Those by which charts are
// rendered leave a hundred times as much room as large charts need.
type Limits struct {
	// Steps are iterations, templates that are entered, and calls of functions; what
	// takes long counts more than once.
	Steps int64
	// Bytes are what functions take and return, all together, and Value what one of
	// them may. What many charts render at a time is a small share of it.
	Bytes, Value int64
	// Output is all that is rendered.
	Output int64
	// Depth is how deep blocks, templates and what they include may be in each other:
	// each takes stack, and who runs out of that cannot be saved.
	Depth int
}

// Standard returns the limits by which charts are rendered.
func DefaultLimits() Limits {
	return Limits{Steps: 1_000_000, Bytes: 256 << 20, Value: 32 << 20, Output: 32 << 20, Depth: 20_000}
}

// modest is how many bytes rendering takes before it needs its turn.
const modest = 32 << 20

// meter counts what rendering takes. After a limit is exceeded all that counts
// fails, and the rendering comes to its end.
type meter struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one rendering
	left   Limits
	limits Limits
	large  chan struct{}
	turn   bool
	err    error
}

func newMeter(ctx context.Context, limits Limits, large chan struct{}) *meter {
	return &meter{ctx: ctx, left: limits, limits: limits, large: large}
}

// exceeded ends the rendering.
func (m *meter) exceeded(format string, args ...any) error {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
	return m.err
}

// step counts n steps.
func (m *meter) step(n int64) error {
	if m.err != nil {
		return m.err
	}
	before := m.left.Steps
	if m.left.Steps -= n; m.left.Steps < 0 || n < 0 {
		return m.exceeded("rendering takes more than %d steps", m.limits.Steps)
	}
	// Now and then.
	if before>>10 != m.left.Steps>>10 && errors.Is(m.ctx.Err(), context.DeadlineExceeded) {
		return m.exceeded("rendering has not ended in time")
	}
	return nil
}

// bytes counts n bytes that are about to be made, or were.
func (m *meter) bytes(n int64) error {
	if m.err != nil {
		return m.err
	}
	if n > m.limits.Value || n < 0 {
		return m.exceeded("rendering makes a value of more than %d bytes", m.limits.Value)
	}
	if m.left.Bytes -= n; m.left.Bytes < 0 {
		return m.exceeded("rendering takes more than %d bytes of memory", m.limits.Bytes)
	}
	if m.limits.Bytes-m.left.Bytes > modest && !m.turn && m.large != nil {
		select {
		case m.large <- struct{}{}:
			m.turn = true
		case <-m.ctx.Done():
			return m.exceeded("rendering takes much memory, and did not have its turn in time")
		}
	}
	// A byte takes time, too, if not much.
	return m.step(1 + n>>10)
}

// leave lets the next have its turn.
func (m *meter) leave() {
	if m.turn {
		<-m.large
		m.turn = false
	}
}

// enter goes n blocks deeper.
func (m *meter) enter(n int) error {
	if m.left.Depth -= n; m.left.Depth < 0 {
		return m.exceeded("templates include each other more than %d blocks deep", m.limits.Depth)
	}
	return m.step(1)
}

func (m *meter) exit(n int) { m.left.Depth += n }

// writer takes what is rendered.
type writer struct {
	meter *meter
	strings.Builder
}

func (w *writer) Write(p []byte) (int, error) {
	if w.meter.err != nil {
		return 0, w.meter.err
	}
	if w.meter.left.Output -= int64(len(p)); w.meter.left.Output < 0 {
		return 0, w.meter.exceeded("the chart renders more than %d bytes", w.meter.limits.Output)
	}
	return w.Builder.Write(p)
}

// inner takes what a template renders for another.
type inner struct {
	meter *meter
	strings.Builder
}

func (w *inner) Write(p []byte) (int, error) {
	if err := w.meter.bytes(int64(len(p))); err != nil {
		return 0, err
	}
	if int64(w.Len()) > w.meter.limits.Value {
		return 0, w.meter.exceeded("rendering makes a value of more than %d bytes", w.meter.limits.Value)
	}
	return w.Builder.Write(p)
}

const (
	// node is what a value takes that holds others, deepest how deep they may be in
	// each other: what contains itself has no depth.
	node    = 16
	deepest = 2_000
)

// weigh returns the bytes that a value has if it is written out: what is in it
// twice counts twice.
func (m *meter) weigh(v any) (int64, error) {
	w := weighing{limit: min(m.limits.Value, max(m.left.Bytes, 0)) + 1}
	w.add(v, 0)
	if w.deep {
		return 0, m.exceeded("rendering writes a value that is more than %d levels deep, or contains itself", deepest)
	}
	return w.sum, nil
}

type weighing struct {
	sum, limit int64
	deep       bool
}

func (w *weighing) full(depth int) bool {
	w.deep = w.deep || depth > deepest
	return w.deep || w.sum >= w.limit
}

func (w *weighing) add(v any, depth int) {
	w.sum += node
	if w.full(depth) {
		return
	}
	switch v := v.(type) {
	case nil, bool, int, int64, float64:
	case string:
		w.sum += int64(len(v))
	case map[string]any:
		for key, inner := range v {
			w.sum += int64(len(key))
			if w.add(inner, depth+1); w.full(depth) {
				return
			}
		}
	case []any:
		for _, inner := range v {
			if w.add(inner, depth+1); w.full(depth) {
				return
			}
		}
	case []string:
		for _, s := range v {
			w.sum += node + int64(len(s))
		}
	case []byte:
		// They are written as numbers.
		w.sum += 4 * int64(len(v))
	default:
		w.other(reflect.ValueOf(v), depth)
	}
}

// other weighs what templates rarely have to do with.
func (w *weighing) other(v reflect.Value, depth int) {
	if w.full(depth) {
		return
	}
	// The others hold nothing.
	//exhaustive:ignore
	switch v.Kind() {
	case reflect.String:
		w.sum += int64(v.Len())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			w.child(v.Elem(), depth)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			w.child(v.Field(i), depth)
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			w.sum += 4 * int64(v.Len())
			return
		}
		for i := 0; i < v.Len() && !w.full(depth); i++ {
			w.child(v.Index(i), depth)
		}
	case reflect.Map:
		for entries := v.MapRange(); !w.full(depth) && entries.Next(); {
			w.child(entries.Key(), depth)
			w.child(entries.Value(), depth)
		}
	}
}

func (w *weighing) child(v reflect.Value, depth int) {
	w.sum += node
	if v.IsValid() && v.CanInterface() && v.Kind() != reflect.Struct {
		w.add(v.Interface(), depth+1)
		return
	}
	w.other(v, depth+1)
}
