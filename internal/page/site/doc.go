// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package site serves the pages. Each handler reads as the user of the request, makes a view, and
// renders a template. No route changes anything. Its files, from the top:
//
//	site.go      New: the routes
//	overview.go  the overview
//	release.go   the page of one release
//	timeline.go  its events and revisions
//	changes.go   its comparisons
//	sections.go  sections of a page that are read at the same time
//	events.go    the stream of changes
//	login.go     login and logout
//	functions.go the functions of templates
//	render.go    templates, assets and errors
package site
