// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/pintle-dev/pintle/internal/render/remote"
)

// cache caches the facts of charts, and archives of max bytes in sum, by Artifact.cacheKey. It caches
// files of archives by that and their pattern. It is not safe for concurrent use.
type cache struct {
	max      int64
	facts    *simplelru.LRU[string, remote.Facts]
	archives *simplelru.LRU[string, []byte]
	files    *simplelru.LRU[string, Files]
	// archiveBytes is the size of all archives, and fileBytes the size of all files.
	archiveBytes, fileBytes int64
}

func newCache(limit int64) *cache {
	c := &cache{max: limit}
	// NewLRU returns an error only for sizes that are not positive.
	c.facts, _ = simplelru.NewLRU[string, remote.Facts](maxIdentities, nil)
	c.archives, _ = simplelru.NewLRU(maxIdentities, func(_ string, data []byte) { c.archiveBytes -= int64(len(data)) })
	c.files, _ = simplelru.NewLRU(maxIdentities, func(_ string, f Files) { c.fileBytes -= f.size() })
	return c
}

// keepFiles adds files, and evicts others if there are too many bytes.
func (c *cache) keepFiles(key string, f Files) {
	if c.files.Contains(key) {
		return
	}
	c.files.Add(key, f)
	c.fileBytes += f.size()
	for c.fileBytes > maxFileBytes {
		c.files.RemoveOldest()
	}
}

// keepArchive adds an archive, and evicts others if the cache is full. An archive that is larger
// than the cache is not added.
func (c *cache) keepArchive(key string, data []byte) {
	size := int64(len(data))
	if size > c.max || c.archives.Contains(key) {
		return
	}
	c.archives.Add(key, data)
	c.archiveBytes += size
	for c.archiveBytes > c.max {
		c.archives.RemoveOldest()
	}
}
