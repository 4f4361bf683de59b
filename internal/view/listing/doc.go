// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package listing has the parts that lists of objects share. It is pure. Its files, from the top:
//
//	parameters.go  parameters of an address
//	page.go        one page of a list
//	text.go        short texts, and the search for words
package listing
