// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package bounded reads texts of untrusted authors within limits on memory and time: YAML, JSON and
// regular expressions. A text that it accepts has the same result as with the plain reader. It
// performs no I/O.
//
//	patterns.go  Patterns: regular expressions
//	yaml.go      YAML and JSON, before and after decoding
//	scalars.go   the values in YAML and JSON
//	aliases.go   the size of YAML after the expansion of its aliases
//	limits.go    Limits, sizes of values, and Error: an exceeded limit
//
// Errors of type *Error quote no content. All other errors are errors of the plain reader.
package bounded
