// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package page serves a web page that shows HelmReleases. It is read-only. Its files:
//
//	server.go  Server: listens, and limits requests
//	guard.go   headers and limits of all routes
//
// Package page/access decides what a user sees, and package page/site has the routes and templates.
package page
