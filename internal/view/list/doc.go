// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package list selects, counts, orders and pages HelmReleases and Operations. It is pure. Its files,
// from the top:
//
//	overview.go    OverviewOf: HelmReleases, and those that need attention
//	failures.go    Failure: the HelmReleases that fail with one cause
//	operations.go  OperationsOf: Operations
//	list.go        List: counts, and one page of what a query selects
//	query.go       Query: what is selected, from the parameters of an address
//	parameters.go  parameters of an address
//	waiting.go     the HelmReleases that wait, by what they wait for
//	changes.go     the revisions of the last day
package list
