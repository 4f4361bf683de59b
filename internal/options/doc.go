// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package options parses the command line and the environment into one validated value. It has
// no state and starts nothing. docs/flags.md is generated from it.
//
//	flags.go    Parse, and the flags: names, defaults and help
//	options.go  Options, their validation, and values that are derived from them
//	ui.go       the web page
//	gates.go    the feature gates
package options
