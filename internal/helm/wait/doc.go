// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package wait waits until objects of a cluster are ready, completed or deleted. It applies the
// checks of package readiness to every object and learns of changes from answers to writes, from
// watches that all waits of an identity share, and from reads where a watch is not possible.
//
// Files, top-down:
//
//	waiter.go     Waiter, the waits of one action
//	loop.go       one wait, from its start to its result
//	diagnose.go   the causes of a failed wait, and the early end of a wait that cannot succeed
//	options.go    the options of all waits of an action
//	legacy.go     the readiness checks of Helm 3, which send requests of their own
//	object.go     the state of one object in a wait
//	results.go    apply results: answers to writes, which save the first read of a wait
//	watches.go    watches that waits share
//	inbox.go      subscriptions to objects, and their events
//	classes.go    claims whose volumes are bound when a Pod needs them
//	rules.go      the readiness checks of users, in CEL
//	condition.go  the state that a wait waits for
package wait
