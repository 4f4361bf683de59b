// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/worker"
)

// busy is a worker that is free after a time.
type busy struct {
	worker.Caller

	after   time.Duration
	tenants chan string
}

func (b busy) Call(ctx context.Context, c worker.Call, answer worker.Answer) ([]byte, error) {
	b.tenants <- c.Tenant
	time.Sleep(b.after)
	return b.Caller.Call(ctx, c, answer)
}

// TestSlotWithoutWorker: an action that waits for a worker releases its slot, and the worker serves
// the namespace of the HelmRelease.
func TestSlotWithoutWorker(t *testing.T) {
	withCRDs := note()
	withCRDs["crds/thing.yaml"] = thingCRD
	for _, tc := range []struct {
		files    map[string]string
		after    time.Duration
		released int64
	}{
		{note(), 0, 0},
		{note(), renderPatience + 200*time.Millisecond, 1},
		// CRDs are read by a call of their own.
		{withCRDs, renderPatience + 200*time.Millisecond, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			callers := busy{workers(), tc.after, make(chan string, 9)}
			w.runner.remote = remote.New(callers)
			j := job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", tc.files), "1.0.0", nil)
			j.Spec.Install = &helmv2.Install{CRDs: helmv2.CRDsSkip}
			j.Origin.Namespace = "team"
			var released, resumed atomic.Int64
			j.Idle = func() func() {
				released.Add(1)
				return func() { resumed.Add(1) }
			}
			if out := w.runner.Run(t.Context(), w.conn, j); out.Err != nil {
				t.Fatal(out.Err)
			}
			if released.Load() != tc.released || resumed.Load() != tc.released {
				t.Errorf("after %s: released %d times, acquired %d times", tc.after, released.Load(), resumed.Load())
			}
			if tenant := <-callers.tenants; tenant != "team" {
				t.Errorf("the worker serves %q", tenant)
			}
		})
	}
}

// TestSlotOfSlowServer: an action that waits for the answer of another cluster releases its slot.
func TestSlotOfSlowServer(t *testing.T) {
	for _, own := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			conn := w.conn // to another cluster
			if own {
				var err error
				if conn, err = cluster.NewConnections(w.Config(), cluster.Options{Now: time.Now}).For(cluster.Identity{}); err != nil {
					t.Fatal(err)
				}
			}
			slow := true
			w.Created = func(map[string]any) {
				if slow {
					time.Sleep(2500 * time.Millisecond)
				}
				slow = false
			}
			j := job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", note()), "1.0.0", nil)
			var released atomic.Int64
			j.Idle = func() func() {
				released.Add(1)
				return func() {}
			}
			if out := w.runner.Run(t.Context(), conn, j); out.Err != nil {
				t.Fatal(out.Err)
			}
			if (released.Load() > 0) == own {
				t.Errorf("own cluster %t: released %d times", own, released.Load())
			}
		})
	}
}

// TestSlotOfNextRendering: a chart that is rendered again releases its slot while it waits for a
// worker, or for an answer.
func TestSlotOfNextRendering(t *testing.T) {
	for name, tc := range map[string]struct {
		worker, answer time.Duration
		released       bool
	}{
		"Free": {}, "Worker": {worker: renderPatience + 200*time.Millisecond, released: true},
		"Answer": {answer: renderPatience + 200*time.Millisecond, released: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			j := unaffected(job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", reading(seen)), "1.0.0", nil))
			w.must(withValues(j))
			w.runner.remote = remote.New(busy{workers(), tc.worker, make(chan string, 9)})
			w.Refuse = func(_, path string) int {
				if strings.Contains(path, "/secrets") && path != seenPath {
					time.Sleep(tc.answer)
				}
				return 0
			}
			var released, resumed atomic.Int64
			j.Idle = func() func() {
				released.Add(1)
				return func() { resumed.Add(1) }
			}
			if _, err := w.runner.Rerender(t.Context(), w.conn, withValues(j), 1); err != nil {
				t.Fatal(err)
			}
			if (released.Load() > 0) != tc.released || resumed.Load() != released.Load() {
				t.Errorf("%s: released %d times, acquired %d times", name, released.Load(), resumed.Load())
			}
		})
	}
}
