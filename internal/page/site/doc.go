// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package site serves the pages. Each handler reads as the user of the request, makes a view, and
// renders a template. No route changes anything. Its files, from the top:
//
//	site.go        New: the routes
//	overview.go    the overview
//	release.go     the page of one release
//	drift.go       how live objects of a release differ
//	operations.go  the list of Operations, and the page of one
//	rollouts.go    the waves of rollouts
//	events.go      the stream of changes
//	timeline.go    the events and revisions of a release
//	changes.go     the comparisons of a release
//	related.go     the plan, the dependencies and the Operations of a release
//	sections.go    sections of a page that are read at the same time
//	login.go       login and logout
//	seal.go        the token in the cookie, encrypted with the key of a browser
//	functions.go   the functions of templates
//	render.go      templates, assets and errors
//	visible.go     shows characters that are not visible
package site
