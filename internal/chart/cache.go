// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"github.com/hashicorp/golang-lru/v2/simplelru"
	helmchart "helm.sh/helm/v3/pkg/chart"
)

// DefaultCacheBytes is how much a store keeps of artifacts if nobody says
// otherwise: bytes are worth keeping only while several releases use them.
const DefaultCacheBytes = 64 << 20

// maxIdentities is no setting: what an identity costs is a few strings.
const maxIdentities = 4096

// cache remembers what artifacts are, and as much of them as there is room for:
// their bytes and, in what is left of the room, parsed charts, which cost several
// times as much and can be had again without a download. Its owner sees to it that
// it is used by one goroutine at a time.
type cache struct {
	max        int64
	identities *simplelru.LRU[string, identified]
	bytes      *simplelru.LRU[string, []byte]
	parsed     *simplelru.LRU[string, master]
	// bytesHeld and parsedHeld are what the two take.
	bytesHeld, parsedHeld int64
}

// identified is what is known of a chart without its files.
type identified struct {
	id    Identity
	reads ClusterReads
}

// master is a parsed chart that is copied and never handed out.
type master struct {
	chart *helmchart.Chart
	size  int64
}

func newCache(limit int64) *cache {
	c := &cache{max: limit}
	// Sizes are positive constants, the one thing NewLRU can object to.
	c.identities, _ = simplelru.NewLRU[string, identified](maxIdentities, nil)
	c.bytes, _ = simplelru.NewLRU(maxIdentities, func(_ string, data []byte) { c.bytesHeld -= int64(len(data)) })
	c.parsed, _ = simplelru.NewLRU(maxIdentities, func(_ string, m master) { c.parsedHeld -= m.size })
	return c
}

func (c *cache) keepBytes(digest string, data []byte) {
	size := int64(len(data))
	if size > c.max || c.bytes.Contains(digest) {
		return
	}
	c.bytes.Add(digest, data)
	c.bytesHeld += size
	for c.bytesHeld > c.max {
		c.bytes.RemoveOldest()
	}
	c.trimParsed()
}

// keepParsed takes over a chart, which nobody may change any more, and reports
// whether it did.
func (c *cache) keepParsed(digest string, parsed *helmchart.Chart) bool {
	size := sizeOf(parsed)
	if size > c.max-c.bytesHeld || c.parsed.Contains(digest) {
		return false
	}
	c.parsed.Add(digest, master{chart: parsed, size: size})
	c.parsedHeld += size
	c.trimParsed()
	return true
}

func (c *cache) trimParsed() {
	for c.parsedHeld > c.max-c.bytesHeld {
		c.parsed.RemoveOldest()
	}
}

// What things take that hold no bytes themselves, roughly: a pointer or two, a
// header, a bucket of a map.
const (
	fileOverhead  = 64
	valueOverhead = 48
)

// sizeOf estimates the memory a chart takes.
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

// walk visits every file and every chart of a chart.
func walk(c *helmchart.Chart, file func(*helmchart.File), each func(*helmchart.Chart)) {
	each(c)
	for _, files := range [][]*helmchart.File{c.Raw, c.Templates, c.Files} {
		for _, f := range files {
			file(f)
		}
	}
	for _, sub := range c.Dependencies() {
		walk(sub, file, each)
	}
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
