// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Stats are what parts of the controller can tell of themselves.
type Stats struct {
	Caches []Cache
	// InProgress are the Helm actions that were begun and have not ended; of all
	// Slots, SlotsUsed are taken by those of them that do not merely wait.
	InProgress, Slots, SlotsUsed int
	// Watches of kinds of live objects, and releases whose wake-ups are held back now;
	// Wakes counts wake-ups, Held those that came later for that reason.
	Watches, Throttled int
	Triggers, Delayed        uint64
	// Tokens for other clusters that are there, and what became of requests for one.
	Tokens                                      int
	TokensAnswered, TokensFailed, TokensEvicted uint64
}

// Cache is what is kept in memory under a name, of which there are a few.
type Cache struct {
	Name    string
	Entries int
	// Bytes is an estimate; negative if there is none.
	Bytes int64
}

// figures asks the parts when metrics are read.
type figures struct {
	entries, bytes, inProgress, slots, used, watches, fuses, wakes, held, tokens, asked, evicted *prometheus.Desc

	mu    sync.Mutex
	parts []func(*Stats)
}

func newFigures() *figures {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("pintle_"+name, help, labels, nil)
	}
	return &figures{
		entries:    desc("cache_entries", "What is kept in memory, counted, by cache.", "cache"),
		bytes:      desc("cache_bytes", "What is kept in memory, in bytes as far as it can be told, by cache.", "cache"),
		inProgress: desc("helm_release_actions_in_progress", "Helm actions that were announced and have not ended, those included that wait: for a slot, for objects to be ready."),
		slots:      desc("helm_release_action_slots", "How many Helm actions can work at the same time; see --concurrent."),
		used:       desc("helm_release_action_slots_used", "How many Helm actions work; those that wait for objects to be ready do not."),
		watches:    desc("live_object_watches", "Watches of kinds of live objects, of all clusters, and of objects that releases wait for."),
		fuses:      desc("live_object_throttled_releases", "HelmReleases whose live objects change so often that they are woken later."),
		wakes:      desc("live_object_triggers_total", "How often a HelmRelease was woken because a live object had changed."),
		held:       desc("live_object_delayed_triggers_total", "How many of those came later because there had been too many."),
		// As the reference calls them.
		tokens:  prometheus.NewDesc("gotk_token_cached_items", "Tokens for other clusters that are kept.", nil, nil),
		asked:   prometheus.NewDesc("gotk_token_cache_requests_total", "Requests for a token for another cluster, by status: success or failure.", []string{"status"}, nil),
		evicted: prometheus.NewDesc("gotk_token_cache_evictions_total", "Tokens for other clusters that were dropped while they held.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (c *figures) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.entries, c.bytes, c.inProgress, c.slots, c.used, c.watches, c.fuses, c.wakes, c.held, c.tokens, c.asked, c.evicted} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *figures) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	parts := c.parts
	c.mu.Unlock()
	var f Stats
	for _, part := range parts {
		part(&f)
	}
	send := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	for _, cache := range f.Caches {
		send(c.entries, prometheus.GaugeValue, float64(cache.Entries), cache.Name)
		if cache.Bytes >= 0 {
			send(c.bytes, prometheus.GaugeValue, float64(cache.Bytes), cache.Name)
		}
	}
	send(c.inProgress, prometheus.GaugeValue, float64(f.InProgress))
	send(c.slots, prometheus.GaugeValue, float64(f.Slots))
	send(c.used, prometheus.GaugeValue, float64(f.SlotsUsed))
	send(c.watches, prometheus.GaugeValue, float64(f.Watches))
	send(c.fuses, prometheus.GaugeValue, float64(f.Throttled))
	send(c.wakes, prometheus.CounterValue, float64(f.Triggers))
	send(c.held, prometheus.CounterValue, float64(f.Delayed))
	send(c.tokens, prometheus.GaugeValue, float64(f.Tokens))
	send(c.asked, prometheus.CounterValue, float64(f.TokensAnswered), "success")
	send(c.asked, prometheus.CounterValue, float64(f.TokensFailed), "failure")
	send(c.evicted, prometheus.CounterValue, float64(f.TokensEvicted))
}

// Collect has a part of the controller fill in its figures whenever metrics are read.
// It may be called at any time, and part is called concurrently.
func (m *Metrics) Collect(part func(*Stats)) {
	m.figures.mu.Lock()
	defer m.figures.mu.Unlock()
	m.figures.parts = append(m.figures.parts[:len(m.figures.parts):len(m.figures.parts)], part)
}
