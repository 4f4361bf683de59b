// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package chart downloads chart artifacts, verifies their digests, caches them by digest, and
// parses them. Its limits protect the process from hostile artifacts.
//
// It never returns the same parsed chart twice. Helm changes the chart that it renders, so a shared
// chart would carry the values of one release into another.
//
//	store.go      Store: identify, fetch and load the chart of an artifact
//	download.go   downloads, shared by all callers, at most a few per server
//	artifact.go   Artifact, the HTTP request, and verification
//	transport.go  Transport: retries, and other hosts
//	cache.go      the cache of identities, archives and parsed charts
//	archive.go    archives that must not be unpacked
//	shifttime.go  templates at another time
//	reads.go      lookups and capabilities in templates
//	copy.go       deep copies of parsed charts, and walks over them
//	version.go    versions with the digest of an OCI artifact
//	limits.go     all limits of sizes, counts and times
package chart
