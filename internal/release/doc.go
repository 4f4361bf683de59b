// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package release decides what to do about one Helm release. It holds the
// vocabulary the other rooms meet in: what should be installed (Desired), what
// is there (Observed), the one thing to do next (Decision) and what came of it
// (Outcome).
//
// It performs no I/O: no client, clock, logger or Helm type enters it, so that
// every decision can be tested by table, replayed from JSON and fuzzed. Values
// of a release appear only as a digest, never in the clear.
package release
