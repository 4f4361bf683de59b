// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Workers are the counts of the processes that parse and render charts.
type Workers struct {
	// Busy and Idle are the present numbers of processes with and without a call, and Queued the
	// number of waiting calls.
	Busy, Idle, Queued int64
	// Started, NotStarted and Recycled count processes: those that were started, failures to start
	// one, and those that were replaced after a call without error.
	Started, NotStarted, Recycled int64
	// Deaths counts processes that ended during a call, by the reason.
	Deaths map[string]int64
}

// workerDescs describe Workers.
type workerDescs struct{ processes, queued, starts, recycles, deaths *prometheus.Desc }

func newWorkerDescs(desc func(name, help string, labels ...string) *prometheus.Desc) workerDescs {
	return workerDescs{
		processes: desc("render_workers", "Number of processes that parse and render charts, by state: busy or idle.", "state"),
		queued:    desc("render_calls_queued", "Number of calls that wait for a process that parses and renders charts."),
		starts:    desc("render_worker_starts_total", "Number of starts of processes that parse and render charts, by result: success or failure.", "result"),
		recycles:  desc("render_worker_recycles_total", "Number of processes that were replaced after a call, since they had served many calls or kept much memory."),
		deaths:    desc("render_worker_deaths_total", "Number of processes that ended during a call, by the limit that ended them, or another reason.", "limit"),
	}
}

// all returns all descriptions.
func (d workerDescs) all() []*prometheus.Desc {
	return []*prometheus.Desc{d.processes, d.queued, d.starts, d.recycles, d.deaths}
}

// collect sends the metrics of w.
func (d workerDescs) collect(w Workers, send func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string)) {
	send(d.processes, prometheus.GaugeValue, float64(w.Busy), "busy")
	send(d.processes, prometheus.GaugeValue, float64(w.Idle), "idle")
	send(d.queued, prometheus.GaugeValue, float64(w.Queued))
	send(d.starts, prometheus.CounterValue, float64(w.Started), "success")
	send(d.starts, prometheus.CounterValue, float64(w.NotStarted), "failure")
	send(d.recycles, prometheus.CounterValue, float64(w.Recycled))
	for limit, n := range w.Deaths {
		send(d.deaths, prometheus.CounterValue, float64(n), limit)
	}
}

// newWorkerWaits returns the histogram of the time in the queue of calls.
func newWorkerWaits() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    "pintle_render_call_wait_seconds",
		Help:    "Time for which calls waited for a process that parses and renders charts, including those that had none in the end.",
		Buckets: prometheus.ExponentialBuckets(0.01, 4, 8),
	})
}

// WorkerWaited observes the time for which a call waited for a process.
func (m *Metrics) WorkerWaited(d time.Duration) { m.workerWaits.Observe(d.Seconds()) }
