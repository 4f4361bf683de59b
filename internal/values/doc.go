// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package values reads, merges and digests the values of Helm releases, and checks the schemas
// of charts. It performs no I/O.
//
//	targetpath.go  one value set at a path, in the notation of Helm's --set
//	flags.go       the values of helm's flags, such as --set
//	notation.go    the lists and levels that such a path creates
//	parse.go       Budget, and values from JSON and YAML
//	merge.go       values merged with others, and copied
//	preserve.go    values of an upgrade that preserves the values of another revision
//	digest.go      the digest that status and history record
//	schema.go      schemas that refer to other files or servers; values that do not fit a schema
//
// Values may contain secrets, and errors reach all readers of a HelmRelease. So errors of a Budget do
// not quote content.
package values
