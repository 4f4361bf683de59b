// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package render connects rendered charts with Helm. Charts are rendered in workers, by the
// functions in render/handler, which render/remote calls.
//
//	text.go          an action of Helm that gets rendered text in place of templates
//	capabilities.go  the capabilities of a cluster that templates see
package render
