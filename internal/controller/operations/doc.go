// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package operations reconciles Operations, which run hooks of charts outside of an upgrade. It is
// named operations because package operation, which decides, is imported here under its own name.
// Its files, from the top:
//
//	start.go           starts the controller once Operations can be watched
//	watches.go         the watches and events that enqueue an Operation
//	reconcile.go       Reconcile: observe, decide, publish
//	publish.go         the one write of status, events, and when to requeue
//	act.go             the actions
//	observe.go         Jobs, Pods, the plan of the next hook
//	target.go          the HelmRelease that an Operation means
//	next.go            the hook of the next version, and the request for its plan
//	verify.go          whether the stored hooks can be trusted
//	logs.go            logs of the Pods, without secrets
//	observer.go        the clients and settings to observe with
//	reconciliation.go  the value that the steps fill in
//	impersonate.go     the identity that reads and acts
//	writes.go          detects stale reads of the cache
package operations
