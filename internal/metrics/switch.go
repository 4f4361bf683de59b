// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// Switch has the metrics of a switch between controllers. Its methods may be called concurrently.
type Switch struct {
	standby *prometheus.GaugeVec
	results *resultCollector
}

func newSwitch() *Switch {
	return &Switch{
		// It has a series only in processes that look for other controllers.
		standby: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "pintle_standby",
			Help: "1 while this replica waits because a controller in another namespace holds a Lease of the same name, and 0 otherwise.",
		}, nil),
		results: &resultCollector{
			desc: prometheus.NewDesc("pintle_observed_release",
				"1 for each HelmRelease that was observed with --observe, by what would be done to it: the result.",
				[]string{"name", "namespace", "result"}, nil),
			all: map[types.NamespacedName]string{},
		},
	}
}

// Standby records whether this replica waits for a controller in another namespace.
func (s *Switch) Standby(is bool) {
	value := 0.0
	if is {
		value = 1
	}
	s.standby.WithLabelValues().Set(value)
}

// Observed records what would be done to a HelmRelease.
func (s *Switch) Observed(hr types.NamespacedName, result string) {
	s.results.mu.Lock()
	defer s.results.mu.Unlock()
	s.results.all[hr] = result
}

func (s *Switch) forget(hr types.NamespacedName) {
	s.results.mu.Lock()
	defer s.results.mu.Unlock()
	delete(s.results.all, hr)
}

// resultCollector has what a process that only observes would do to each HelmRelease.
type resultCollector struct {
	desc *prometheus.Desc

	mu  sync.Mutex
	all map[types.NamespacedName]string
}

// Describe implements prometheus.Collector.
func (c *resultCollector) Describe(descs chan<- *prometheus.Desc) { descs <- c.desc }

// Collect implements prometheus.Collector.
func (c *resultCollector) Collect(series chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for hr, result := range c.all {
		series <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, 1, hr.Name, hr.Namespace, result)
	}
}
