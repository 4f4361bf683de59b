// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package metrics defines the Prometheus metrics of the controller.
//
// Counters and histograms are updated by the controllers, after the status write that they
// count. Gauges of parts, and the series of each HelmRelease, are collected when the metrics
// are scraped. Labels never hold names of objects, except in the series of HelmReleases that
// are removed together with their object.
//
//	metrics.go   Metrics: counters and histograms, and the methods that update them
//	stats.go     a collector of the sizes and counts that parts of the controller report
//	workers.go   metrics of the processes that parse and render charts
//	releases.go  a collector with the series of each HelmRelease
//	switch.go    metrics of a replica that waits, and of a process that only observes
package metrics
