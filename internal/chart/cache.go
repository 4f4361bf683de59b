// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"github.com/hashicorp/golang-lru/v2/simplelru"
	helmchart "helm.sh/helm/v3/pkg/chart"
)

// cache caches identities, archives and parsed charts by digest. Archives and parsed charts share
// max bytes. Archives have precedence: a parsed chart is several times as large, and can be parsed
// again without a download. It is not safe for concurrent use.
type cache struct {
	max        int64
	identities *simplelru.LRU[string, identified]
	archives   *simplelru.LRU[string, []byte]
	parsed     *simplelru.LRU[string, parsedChart]
	// archiveBytes and parsedBytes are the sizes of all archives and parsed charts.
	archiveBytes, parsedBytes int64
}

// identified holds the cached properties of a chart.
type identified struct {
	id    Identity
	reads ClusterReads
}

// parsedChart is a parsed chart. Callers of the store get copies only.
type parsedChart struct {
	chart *helmchart.Chart
	size  int64
}

func newCache(limit int64) *cache {
	c := &cache{max: limit}
	// NewLRU returns an error only for sizes that are not positive.
	c.identities, _ = simplelru.NewLRU[string, identified](maxIdentities, nil)
	c.archives, _ = simplelru.NewLRU(maxIdentities, func(_ string, data []byte) { c.archiveBytes -= int64(len(data)) })
	c.parsed, _ = simplelru.NewLRU(maxIdentities, func(_ string, m parsedChart) { c.parsedBytes -= m.size })
	return c
}

// keepArchive adds an archive, and evicts others if the cache is full. An archive that is larger
// than the cache is not added.
func (c *cache) keepArchive(digest string, data []byte) {
	size := int64(len(data))
	if size > c.max || c.archives.Contains(digest) {
		return
	}
	c.archives.Add(digest, data)
	c.archiveBytes += size
	for c.archiveBytes > c.max {
		c.archives.RemoveOldest()
	}
	c.trimParsed()
}

// keepParsed adds a parsed chart, which must not be changed afterwards, and reports whether it did.
func (c *cache) keepParsed(digest string, parsed *helmchart.Chart) bool {
	size := sizeOf(parsed)
	if size > c.max-c.archiveBytes || c.parsed.Contains(digest) {
		return false
	}
	c.parsed.Add(digest, parsedChart{chart: parsed, size: size})
	c.parsedBytes += size
	c.trimParsed()
	return true
}

// trimParsed evicts parsed charts until the rest fits beside the archives.
func (c *cache) trimParsed() {
	for c.parsedBytes > c.max-c.archiveBytes {
		c.parsed.RemoveOldest()
	}
}

// The approximate sizes of a file and of a value without their content: pointers, a header, and an
// entry of a map.
const (
	fileOverhead  = 64
	valueOverhead = 48
)

// sizeOf estimates the memory of a chart. Files that share memory count once.
func sizeOf(c *helmchart.Chart) int64 {
	var size int64
	seen := map[*byte]bool{}
	walk(c, func(f *helmchart.File) {
		size += fileOverhead
		if len(f.Data) > 0 && !seen[&f.Data[0]] {
			seen[&f.Data[0]] = true
			size += int64(len(f.Data))
		}
	}, func(c *helmchart.Chart) { size += sizeOfValue(c.Values) })
	return size
}

func sizeOfValue(value any) int64 {
	size := int64(valueOverhead)
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			size += int64(len(key)) + sizeOfValue(inner)
		}
	case []any:
		for _, inner := range v {
			size += sizeOfValue(inner)
		}
	case string:
		size += int64(len(v))
	}
	return size
}
