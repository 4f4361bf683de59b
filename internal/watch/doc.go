// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package watch enqueues HelmReleases when live objects change. It watches metadata only, as the
// controller itself, and decides nothing: a reconciliation reads the objects, as the identity of
// its release.
//
//	registry.go     Registry: subscriptions of HelmReleases, and the watches that they need
//	observation.go  Observation: whether an object changed since a version, without a request
//	kind.go         the watch of one kind or of one object
//	queue.go        enqueues subscribers, debounced and rate limited
//	object.go       classifies a change of an object (pure)
//	target.go       Cluster and Target: which objects are watched
package watch
