// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package overview selects, counts and orders HelmReleases for an overview. It is pure. Its files,
// from the top:
//
//	overview.go  Of: the overview
//	query.go     Query: which HelmReleases are shown, from the parameters of an address
//	match.go     whether a HelmRelease matches a query
//	waiting.go   the HelmReleases that wait, by what they wait for
//	changes.go   the revisions of the last day
package overview
