// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package release decides the next action for one Helm release. Decide is a pure function from
// Input (Desired, Observed, Recorded, Now) to Decision. The outcome of an action is a value of type
// Outcome.
//
// The package performs no I/O. It has no client, clock, logger or Helm type. Decisions are tested
// by table, replayed from JSON and fuzzed. Values of a release appear only as digests.
//
// Files, top-down:
//
//	decide.go        Decide, the ordered list of rules, and the rules about differences
//	move.go          rule TargetMoved: the recorded release has another name, namespace or chart
//	remediation.go   rules BecameReady, RetriesExhausted, AwaitRetry and Failed
//	ownership.go     rules OwnershipConflict and Unlock: owners of a release
//	deletion.go      rule AwaitDependents, and annotations for deletions
//	debounce.go      rule Debounce: the objects of one commit arrive one by one
//	operations.go    rules about Operations, which lock a release
//	record.go        rule TooLarge, and the sizes of a release record
//	adoption.go      ownership of single objects
//	trust.go         how far a stored revision agrees with its snapshot
//	history.go       snapshots in status.history, and the reads that a decision needs
//	rejected.go      attempts that Helm did not store
//	request.go       requests by annotation
//	suspension.go    spec.suspend and the annotations that suspend
//	action.go        the actions
//	blocked.go       obstacles before a decision
//	retry.go         when to requeue
//	outcome.go       the result of an action
//	observed.go      the state that was found in the cluster
//	desired.go       the state that the HelmRelease asks for
//	drift.go         differences between live objects and the release
//	diagnosis.go     failure causes
//	state.go         names of states
package release
