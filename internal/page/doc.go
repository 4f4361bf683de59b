// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package page serves a web page that shows HelmReleases. It is read-only. Its files, from the top:
//
//	server.go   Server: listens, with TLS or on loopback only
//	guard.go    guard: headers, methods, hosts, origins, sizes and times of all requests
//	limits.go   Limits: times, rates and numbers of concurrent requests, by address and by user
//	rates.go    rates: token buckets by key, in bounded memory
//
// Package page/access decides what a user sees, and package page/site has the routes and templates.
package page
