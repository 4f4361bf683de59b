// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package view makes plain data that shows users the state of HelmReleases: what the state is, why,
// what a release waits for, and what happens next. kubectl-pintle prints the data, and a page can
// show the same. It is pure: package view/read reads the cluster.
//
// Files, top-down:
//
//	why.go           Why: the cause, conditions and events of one HelmRelease
//	sentence.go      the state in one sentence, the message about it, and commands
//	values.go        the values of a release, and their layers
//	plan.go          Plan: a ReleasePlan
//	diff.go          Diff: what an action would change
//	tree.go          Tree: the objects of a release, and what they own
//	timeline.go      events and revisions in one list
//	history.go       the revisions of a release
//	dependencies.go  what a release depends on, and what depends on it
//	operation.go     Operation: one Operation with its Jobs and logs
//	pods.go          the Pods of an Operation
//	policies.go      Policy: one policy in a list
//	operations.go    OperationRow: one Operation in a list, and the HelmRelease that it is for
//	release.go       Release: one HelmRelease in a list
//	state.go         State: the state of a HelmRelease in one word
//	waits.go         what a release waits for
//	objects.go       references to objects
//	text.go          short texts, ages, and the first entries of long lists
package view
