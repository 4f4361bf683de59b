// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package helmrelease reconciles HelmReleases. It reads and writes, and decides nothing about
// releases: that is package release. Its files, from the top:
//
//	setup.go           registers the controller with a manager, and its watches
//	reconcile.go       Reconcile and its steps
//	act.go             step 4: starts an action
//	plan.go            ... computes a plan, and keeps the ReleasePlan
//	observe.go         step 2: the installed state
//	move.go            ... when the release moves to another name, namespace or cluster
//	drift.go           ... how live objects differ
//	rerender.go        ... whether the chart renders differently now
//	inputs.go          step 1: the desired state
//	publish.go         the one write of status, then events and metrics
//	requeue.go         when the next reconciliation is
//	gauges.go          metrics of all HelmReleases
//	reconciliation.go  the value that the steps of Reconcile fill in
//	ownership.go       which other HelmReleases own the release or its objects
//	state.go           the state in memory of each HelmRelease
//	environment.go     clients, clock and settings that all steps use
//	sourcemaker.go     the source object that spec.chart stands for
//	keylocks.go        locks for the source objects that are written
//	files.go           the sources that values come from, and which releases their changes concern
//	debounce.go        whether the rest of a commit is still to arrive
//	burst.go           when the inputs of a HelmRelease changed together
//	applier.go         the Kustomization or Application that applies an object
//
// Step 3, the decision, is release.Decide. Parts with a subject of their own are packages below:
//
//	trigger     the watches and events that enqueue a HelmRelease
//	dependency  objects and HelmReleases that others depend on
//	policies    what ReleasePolicies demand of a release
//	rehearsal   reports of a process that only observes
package helmrelease
