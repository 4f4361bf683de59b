// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package wire encodes the requests and responses of workers. Archives and manifests are sent as
// they are, without an encoding of their bytes.
//
//	value.go     values of charts, with the types of their numbers
//	sections.go  a message: a list of byte strings
package wire
