// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// newStandby returns a gauge that has a series only in processes that look for other controllers.
func newStandby() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "pintle_standby",
		Help: "1 while this replica waits because a controller in another namespace holds a Lease of the same name, and 0 otherwise.",
	}, nil)
}

// Standby records whether this replica waits for a controller in another namespace.
func (m *Metrics) Standby(is bool) {
	value := 0.0
	if is {
		value = 1
	}
	m.standby.WithLabelValues().Set(value)
}

// verdictCollector has what a process that only observes would do to each HelmRelease.
type verdictCollector struct {
	desc *prometheus.Desc

	mu       sync.Mutex
	verdicts map[types.NamespacedName]string
}

func newVerdictCollector() *verdictCollector {
	return &verdictCollector{
		desc: prometheus.NewDesc("pintle_observed_release",
			"1 for each HelmRelease that was observed with --observe, by what would be done to it: the verdict.",
			[]string{"name", "namespace", "verdict"}, nil),
		verdicts: map[types.NamespacedName]string{},
	}
}

// Observed records the verdict about a HelmRelease.
func (m *Metrics) Observed(hr types.NamespacedName, verdict string) {
	m.verdicts.mu.Lock()
	defer m.verdicts.mu.Unlock()
	m.verdicts.verdicts[hr] = verdict
}

func (c *verdictCollector) forget(hr types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.verdicts, hr)
}

// Describe implements prometheus.Collector.
func (c *verdictCollector) Describe(descs chan<- *prometheus.Desc) { descs <- c.desc }

// Collect implements prometheus.Collector.
func (c *verdictCollector) Collect(series chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for hr, verdict := range c.verdicts {
		series <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, 1, hr.Name, hr.Namespace, verdict)
	}
}
