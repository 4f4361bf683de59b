// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package helmrelease reconciles HelmReleases. It reads and writes, and decides nothing about
// releases: that is package release. Its files, from the top:
//
//	setup.go        registers the controller with a manager, and its watches
//	reconcile.go    Reconcile, and the value that its steps fill in
//	inputs.go       step 1: what the HelmRelease asks for
//	observe.go      step 2: what is installed
//	move.go         ... when the release moves to another name or namespace
//	leftbehind.go   ... when it moves to another cluster
//	drift.go        ... how live objects differ
//	rerender.go     ... whether the chart renders differently now
//	ownership.go    ... which other HelmReleases own the release or its objects
//	act.go          step 4: announces an action and begins it
//	publish.go      the one write of status, then events and metrics
//	requeue.go      when the next reconciliation is
//	gauges.go       metrics of all HelmReleases
//	state.go        what is remembered of each HelmRelease
//	environment.go  clients, clock and settings that all steps use
//
// Step 3, the decision, is release.Decide. Parts with a subject of their own are packages below:
//
//	trigger     what enqueues a HelmRelease
//	debounce    whether the rest of a commit is still to arrive
//	dependency  objects and HelmReleases that others depend on
//	helmchart   the HelmChart that spec.chart stands for
//	outage      when status names a fault of an API server
//	state       the table of what is remembered
package helmrelease
