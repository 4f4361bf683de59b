// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package kinds maps the kinds in stored manifests, which the API server may no longer serve. A kind
// that the cached discovery lacks is looked for with requests about its API group: the API server
// may serve it in another group or version, or no longer.
//
// Files, top-down:
//
//	resolver.go   Resolver, which maps kinds and repeats incomplete discovery
//	discovery.go  the requests about one API group
//	decide.go     the decision about one kind, from the answers
//	moves.go      kinds that have moved to another API group
package kinds
