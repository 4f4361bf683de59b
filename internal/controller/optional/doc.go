// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package optional keeps the objects of kinds whose CRD need not be installed. It is apart from the
// manager's cache, which ends the process if a kind cannot be listed, and does not report that its
// objects are outdated. Its files, from the top:
//
//	kind.go     Kind: lists and watches, and reports whether the objects are known
//	signal.go   Signal: waits until a kind may be served
//	starter.go  Starter: starts a controller once its kinds are served
//	store.go    the objects, which a reflector of client-go writes
//	options.go  the kind, and what a change calls
package optional
