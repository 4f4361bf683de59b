// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package diff computes what a reconciliation of a HelmRelease would change now, what a stored
// revision would change, and how live objects have drifted. It reads and sends dry runs with the
// identity of the caller, and writes nothing: its transport refuses all other requests. Templates read
// with the identity of the release.
//
// Waits, policies, freezes, suspensions and dependencies are not considered. They delay an action, and
// do not change it.
//
// Files, top-down:
//
//	diff.go      Differ: desired against live, a stored revision against live, and drift
//	propose.go   Propose: a HelmRelease that is not stored, such as one of a pull request
//	archive.go   archives of charts that are given, and a Store for them
//	lookups.go   how templates read objects
//	readonly.go  the transport that refuses writes
package diff
