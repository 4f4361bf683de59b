// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/options"
	"github.com/pintle-dev/pintle/internal/render/handler"
	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/worker"
)

// serveAsWorker serves calls and ends the process if it was started as a worker.
func serveAsWorker() {
	if len(os.Args) < 2 || os.Args[1] != worker.Command {
		return
	}
	// Helm logs values that it cannot merge to the standard logger. They may be secret.
	log.SetOutput(io.Discard)
	os.Exit(worker.Serve(context.Background(), handler.ForProcess()))
}

// newWorkers returns the pool of worker processes that parse and render charts. They share the memory
// limit of this process, which is lowered by what they may take.
func newWorkers(o *options.Options, m *metrics.Metrics) (*worker.Pool, error) {
	if err := worker.Protect(); err != nil {
		return nil, fmt.Errorf("protecting the process from its workers: %w", err)
	}
	limit := memoryLimit()
	shares, ok := worker.Share(limit, runtime.NumCPU())
	if !ok {
		// Together with the controller, a worker that takes all of its share may exceed the limit.
		shares = worker.Shares{Size: 1, MemoryLimit: 128 << 20}
		ctrl.Log.Info("the memory limit is small for the controller and a process that renders charts", "bytes", limit)
	}
	if shares.Parent > 0 {
		debug.SetMemoryLimit(shares.Parent)
	}
	workers := worker.New(worker.Options{
		Size: shares.Size, MemoryLimit: shares.MemoryLimit,
		MaxRequest: maxRequest(o.ArtifactMaxBytes), MaxAnswer: remote.MaxAnswer,
		TimeZone: os.Getenv("TZ"), Log: ctrl.Log.WithName("workers"), Now: time.Now, Waited: m.WorkerWaited,
	})
	m.Collect(func(s *metrics.Stats) { s.Workers = statsOf(workers.Stats()) })
	return workers, nil
}

// statsOf returns the metrics of worker processes.
func statsOf(s worker.Stats) metrics.Workers {
	w := metrics.Workers{
		Busy: s.Busy, Idle: s.Idle, Queued: s.Queued, Started: s.Started, NotStarted: s.NotStarted, Recycled: s.Recycled,
		Deaths: map[string]int64{},
	}
	for limit, n := range s.Deaths {
		w.Deaths[string(limit)] = n
	}
	return w
}

// memoryLimit returns the memory limit of the Go runtime in bytes, or 0 without one. GOMEMLIMIT
// sets it to the limit of the container.
func memoryLimit() int64 {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return 0
	}
	return limit
}

// maxRequest returns the maximum size of a request with an archive of the given maximum size. The
// rest are values and lists of APIs.
func maxRequest(archive int64) uint32 {
	const rest = 32 << 20
	return uint32(min(archive+rest, math.MaxUint32))
}
