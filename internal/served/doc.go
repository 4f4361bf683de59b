// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package served decides from discovery whether an API server still serves a kind, serves it in
// another group or version, or does not serve it any more. It performs no I/O: package helm/kinds
// requests the discovery.
//
// Files, top-down:
//
//	decide.go  the decision about one kind
//	moves.go   kinds that have moved to another API group
package served
