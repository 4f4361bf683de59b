// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package handler

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	helmchart "helm.sh/helm/v3/pkg/chart"

	"github.com/pintle-dev/pintle/internal/chart/archive"
)

const (
	// maxChartBytes limits the estimated size of all cached charts. A worker has much more memory.
	maxChartBytes = 24 << 20
	maxCharts     = 64
)

// cache caches parsed charts by digest. It is safe for concurrent use.
type cache struct {
	mu     sync.Mutex
	charts *simplelru.LRU[string, sizedChart]
	bytes  int64
}

// sizedChart is a chart that is not changed, with its estimated size.
type sizedChart struct {
	*helmchart.Chart

	size int64
}

func newCache() *cache {
	c := &cache{}
	// NewLRU returns an error only for sizes that are not positive.
	c.charts, _ = simplelru.NewLRU(maxCharts, func(_ string, s sizedChart) { c.bytes -= s.size })
	return c
}

// chart returns a cached chart, which must not be changed; nil if there is none.
func (c *cache) chart(digest string) *helmchart.Chart {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, _ := c.charts.Get(digest)
	return s.Chart
}

// addChart adds a chart, which must not be changed afterwards, and evicts others if the cache is
// full. A chart that is larger than the cache is not added.
func (c *cache) addChart(digest string, added *helmchart.Chart) {
	size := archive.SizeOf(added)
	c.mu.Lock()
	defer c.mu.Unlock()
	if size > maxChartBytes || c.charts.Contains(digest) {
		return
	}
	c.bytes += size
	c.charts.Add(digest, sizedChart{added, size})
	for c.bytes > maxChartBytes {
		c.charts.RemoveOldest()
	}
}
