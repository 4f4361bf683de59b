// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Stats are the sizes and counts that parts of the controller report at a scrape.
type Stats struct {
	Caches []Cache
	// InProgress counts Helm actions that have started and not finished. Slots is the maximum of
	// actions that work at the same time, and SlotsUsed the number of working actions. An action
	// that only waits for readiness uses no slot.
	InProgress, Slots, SlotsUsed int
	// Watches counts watches of kinds of live objects. Throttled counts HelmReleases whose
	// reconciliations are delayed at present because their live objects change too often.
	Watches, Throttled int
	// Triggers counts reconciliations that changes of live objects have triggered. Delayed counts
	// the ones that throttling has delayed.
	Triggers, Delayed uint64
	// Tokens counts cached tokens for other clusters. The other counters are the results of
	// requests for a token, and the tokens that were evicted while they were valid.
	Tokens                                      int
	TokensAnswered, TokensFailed, TokensEvicted uint64
	Workers                                     Workers
}

// Cache is the size of one cache. Name becomes a label value, so it is one of a fixed set.
type Cache struct {
	Name    string
	Entries int
	// Bytes is an estimate; negative if there is none.
	Bytes int64
}

// statsCollector collects Stats from parts of the controller when metrics are scraped.
type statsCollector struct {
	entries, bytes, inProgress, slots, used, watches, throttled *prometheus.Desc
	triggers, delayed, tokens, tokenRequests, tokenEvictions    *prometheus.Desc
	workers                                                     workerDescs

	mu       sync.Mutex
	collects []func(*Stats)
}

func newStatsCollector() *statsCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("pintle_"+name, help, labels, nil)
	}
	return &statsCollector{
		entries:    desc("cache_entries", "Number of cached entries, by cache.", "cache"),
		bytes:      desc("cache_bytes", "Size of cached entries in bytes, by cache. Some sizes are estimates.", "cache"),
		inProgress: desc("helm_release_actions_in_progress", "Number of Helm actions that were announced and have not ended, including those that wait for a slot or for readiness."),
		slots:      desc("helm_release_action_slots", "Maximum number of Helm actions and renderings for drift that work at the same time; see --concurrent."),
		used:       desc("helm_release_action_slots_used", "Number of Helm actions and renderings for drift that work. An action that only waits for readiness uses no slot."),
		watches:    desc("live_object_watches", "Number of watches of live objects, of all clusters, for drift detection and for readiness."),
		throttled:  desc("live_object_throttled_releases", "Number of HelmReleases whose live objects change so often that their reconciliations are delayed."),
		triggers:   desc("live_object_triggers_total", "Number of reconciliations that changes of live objects triggered."),
		delayed:    desc("live_object_delayed_triggers_total", "Number of reconciliations triggered by changes of live objects that throttling delayed."),
		workers:    newWorkerDescs(desc),
		// Names and labels as in helm-controller.
		tokens:         prometheus.NewDesc("gotk_token_cached_items", "Number of cached tokens for other clusters.", nil, nil),
		tokenRequests:  prometheus.NewDesc("gotk_token_cache_requests_total", "Number of requests for a token for another cluster, by status: success or failure.", []string{"status"}, nil),
		tokenEvictions: prometheus.NewDesc("gotk_token_cache_evictions_total", "Number of tokens for other clusters that were evicted while they were valid.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *statsCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range append(c.workers.all(),
		c.entries, c.bytes, c.inProgress, c.slots, c.used, c.watches, c.throttled,
		c.triggers, c.delayed, c.tokens, c.tokenRequests, c.tokenEvictions,
	) {
		ch <- d
	}
}

// read returns what the parts report.
func (c *statsCollector) read() Stats {
	c.mu.Lock()
	collects := c.collects
	c.mu.Unlock()
	var s Stats
	for _, collect := range collects {
		collect(&s)
	}
	return s
}

// Collect implements prometheus.Collector.
func (c *statsCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.read()
	send := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	for _, cache := range s.Caches {
		send(c.entries, prometheus.GaugeValue, float64(cache.Entries), cache.Name)
		if cache.Bytes >= 0 {
			send(c.bytes, prometheus.GaugeValue, float64(cache.Bytes), cache.Name)
		}
	}
	c.workers.collect(s.Workers, send)
	send(c.inProgress, prometheus.GaugeValue, float64(s.InProgress))
	send(c.slots, prometheus.GaugeValue, float64(s.Slots))
	send(c.used, prometheus.GaugeValue, float64(s.SlotsUsed))
	send(c.watches, prometheus.GaugeValue, float64(s.Watches))
	send(c.throttled, prometheus.GaugeValue, float64(s.Throttled))
	send(c.triggers, prometheus.CounterValue, float64(s.Triggers))
	send(c.delayed, prometheus.CounterValue, float64(s.Delayed))
	send(c.tokens, prometheus.GaugeValue, float64(s.Tokens))
	send(c.tokenRequests, prometheus.CounterValue, float64(s.TokensAnswered), "success")
	send(c.tokenRequests, prometheus.CounterValue, float64(s.TokensFailed), "failure")
	send(c.tokenEvictions, prometheus.CounterValue, float64(s.TokensEvicted))
}
