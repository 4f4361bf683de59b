// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package site serves the pages. Each handler reads as the user of the request, makes a view, and
// renders a template. No route changes anything. Its files, from the top:
//
//	site.go        New: the routes
//	overview.go    the overview
//	release.go     the page of one release
//	related.go     its plan, its dependencies and its Operations
//	operations.go  the list of Operations, and the page of one
//	sources.go     the list of sources
//	login.go       login and logout
//	functions.go   the functions of templates
//	render.go      templates, assets and errors
//	visible.go     shows characters that are not visible
package site
