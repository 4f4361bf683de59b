// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package read reads the facts that views show from the API server, as the user who looks at them.
// A resource that the user may not read is left out, and listed with the reason.
//
// Files, top-down:
//
//	tree.go          live objects, and what they own
//	why.go           the state of one HelmRelease, its events and its objects
//	dependencies.go  the objects that a HelmRelease depends on
//	history.go       release records
//	values.go        the values of a HelmRelease
//	doctor.go        the facts of an installation
//	controllers.go   Deployments, their flags, Leases and source-controller
//	rights.go        the rights of ServiceAccounts
//	reader.go        Reader: its access, its scheme, its limits, and HelmReleases
//	once.go          Once: reads each object once
package read
