// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package metrics defines what the controller counts. It is called from one
// place, after the write it counts, and labels nothing with names of objects.
package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pintle-dev/pintle/internal/release"
)

// Metrics counts visits and attempts. It may be used concurrently; the zero
// value may not.
type Metrics struct {
	visits   *prometheus.CounterVec
	attempts *prometheus.CounterVec
	duration *prometheus.HistogramVec

	mu        sync.Mutex
	suspended map[string]struct{}
}

// Reasons a visit ends without a rule.
const (
	VisitBlocked  = "Blocked"
	VisitFinished = "Finished"
	VisitAtRest   = "AtRest"
)

// New registers the metrics with r.
func New(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		suspended: map[string]struct{}{},
		visits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pintle_helm_release_visits_total",
			Help: "Visits to HelmReleases by the rule that applied.",
		}, []string{"rule"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pintle_helm_release_actions_total",
			Help: "Helm actions by kind and result: success, failure or cancelled.",
		}, []string{"action", "result"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "pintle_helm_release_action_duration_seconds",
			Help:    "Time Helm actions took, waiting included.",
			Buckets: prometheus.ExponentialBuckets(0.1, 2, 14),
		}, []string{"action"}),
	}
	suspended := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "pintle_helm_releases_suspended",
		Help: "HelmReleases that are suspended, by spec or by annotation.",
	}, m.countSuspended)
	for _, c := range []prometheus.Collector{m.visits, m.attempts, m.duration, suspended} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Visit counts a visit; rule is a name of a rule or one of the reasons above.
func (m *Metrics) Visit(rule string) { m.visits.WithLabelValues(rule).Inc() }

// Suspended notes whether a HelmRelease is suspended; key tells it from others,
// and is no label.
func (m *Metrics) Suspended(key string, is bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if is {
		m.suspended[key] = struct{}{}
		return
	}
	delete(m.suspended, key)
}

func (m *Metrics) countSuspended() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return float64(len(m.suspended))
}

// Attempt counts an attempt that has ended and was recorded.
func (m *Metrics) Attempt(o release.Outcome) {
	result := "success"
	switch {
	case o.Cancelled:
		result = "cancelled"
	case o.Err != nil:
		result = "failure"
	}
	action := release.Name(o.Action)
	m.attempts.WithLabelValues(action, result).Inc()
	m.duration.WithLabelValues(action).Observe(o.Ended.Sub(o.Started).Truncate(time.Millisecond).Seconds())
}
