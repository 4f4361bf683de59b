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
//	observe.go       Next: which facts to read before a decision, one after the other
//	decide.go        Decide, the ordered list of rules, and rules without a file of their own
//	gate.go          the gates of policies, from PolicyUnavailable to AwaitingApproval
//	override.go      the override by which the action of a plan passes some gates
//	hold.go          rules RolledBack and TestRequested: rollbacks and tests on request
//	wait.go          rules Busy, AwaitDependents, AwaitOperation and Debounce
//	retry.go         when the next reconciliation is, after a decision or an action
//	remediation.go   rules after failures: BecameReady, TooLarge, RetriesExhausted, AwaitRetry, Failed
//	sync.go          rules Absent, Unmanaged, OutOfSync, Untested, Drifted and InSync
//	resume.go        rules Resume, Unlock and Reinstall: actions that were interrupted
//	ownership.go     rules OwnershipConflict and TargetMoved: which release belongs to a HelmRelease
//	claim.go         which of several HelmReleases owns a release
//	proof.go         which stored revisions are believed: by their seal, or by status.history
//	history.go       snapshots in status.history, and the reads that a decision needs
//	input.go         Input and Decision, the desired state, requests, suspension and deletion
//	observed.go      the observed state, with drift
//	outcome.go       the outcome of an action, with its failure cause and the size of its record
//	action.go        the actions
//	blocked.go       obstacles before a decision, and Retry: when to requeue
package release
