// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package live sends server-sent events to open pages. An event has the paths of the pages whose
// objects have changed, and only of objects that the user may get. Its files, from the top:
//
//	hub.go      Hub: open streams, and the changes that informers report
//	stream.go   one stream: its events, heartbeats and end
//	pending.go  the changes that a stream has not sent yet
//	kind.go     Kind: what is reported, and the rights for it
package live
