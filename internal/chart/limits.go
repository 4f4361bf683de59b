// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import "time"

// Limits of downloads.
const (
	// DefaultArtifactBytes is the default of the flag --artifact-max-bytes, which is passed to
	// NewStore.
	DefaultArtifactBytes = 100 << 20
	// DefaultGrace is the time that Identify and Fetch wait for a download. A healthy server
	// responds within milliseconds, and returning early costs another reconciliation.
	DefaultGrace = 250 * time.Millisecond
	// SlowAfter is the age from which a download is slow.
	SlowAfter = 5 * time.Second
	// downloadsPerHost limits concurrent downloads from one server. A server that does not
	// respond occupies that many connections, and none of other servers.
	downloadsPerHost = 8
	// resultTTL is the time after the end of a download within which callers can take its
	// result. A thousand of them need some time.
	resultTTL = time.Minute
	// maxRedirects limits the redirects of one download.
	maxRedirects = 5
	// firstRetry and longestRetry limit the delay between tries of a request.
	firstRetry   = 50 * time.Millisecond
	longestRetry = time.Second
	// maxDrainedBytes limits the bytes of a failed response that are read to reuse its
	// connection.
	maxDrainedBytes = 64 << 10
)

// Limits of the cache.
const (
	// DefaultCacheBytes is the default of the flag --artifact-cache-bytes, and of a new Store.
	// Archives need to be cached only while several releases use them.
	DefaultCacheBytes = 64 << 20
	// maxIdentities limits the number of cached identities, which consist of a few strings.
	maxIdentities = 4096
	// maxFileBytes limits the cached files with values. The files of one release fit in.
	maxFileBytes = 32 << 20
)
