// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package sources shows the objects that charts come from, and the HelmReleases that use them. It is
// pure. Its files, from the top:
//
//	list.go    Of: a page of the list, failing sources first
//	uses.go    the HelmReleases that use a source
//	query.go   Query: which sources are listed, from the parameters of an address
//	source.go  Source: one source, and its state in one word
package sources
