// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package watch enqueues HelmReleases when live objects change. It watches metadata only, as the
// controller itself, and decides nothing: a reconciliation reads the objects, as the identity of
// its release.
//
//	observation.go  Observation: whether an object changed since a version, without a request
//	kind.go         the watch of one kind or of one object
//	registry.go     Registry: subscriptions of HelmReleases, and the watches that they need
//	object.go       classifies a change of an object (pure)
//	queue.go        enqueues subscribers, debounced and rate limited
package watch
