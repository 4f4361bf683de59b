// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package chart downloads chart artifacts, verifies their digests, and caches them by digest. It
// does not parse them: workers do.
//
//	store.go      Store: identify, fetch and load the archive of an artifact
//	download.go   downloads, shared by all callers, at most a few per server
//	artifact.go   Artifact, the HTTP request, and verification
//	transport.go  Transport: retries, and other hosts
//	cache.go      the cache of facts and archives
//	version.go    versions with the digest of an OCI artifact
//	limits.go     all limits of sizes, counts and times
package chart
