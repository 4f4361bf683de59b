// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package render renders the templates of charts within limits, with the same output and errors as
// Helm. Templates are programs of untrusted authors, and Go cannot end a goroutine from outside.
//
// Helm still prepares the values, selects and orders the templates, and sorts the manifests. The
// sandbox only replaces the text of each template by a call of itself, which receives all data that
// Helm passes to templates.
//
//	action.go        an action of Helm that renders in the sandbox
//	text.go          an action of Helm that gets rendered text in place of templates
//	capabilities.go  the capabilities of a cluster that templates see
//	render.go        Sandbox: replaces the templates of a chart by calls of itself
//	functions.go     the functions of templates, as in Helm
//	limited.go       functions whose arguments and results count toward the quota
//	estimates.go     upper bounds for the results of functions
//	counting.go      templates whose loops, depth and printed values count toward the quota
//	quota.go         Limits, and their use by one rendering
//	size.go          sizes of values
package render
