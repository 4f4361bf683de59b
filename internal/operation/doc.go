// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package operation decides the next action for one Operation: reject it, wait for the lock, run
// its Jobs, record the result, clean up. Decide is a pure function from Input to Decision. The
// package performs no I/O.
//
// The controller first writes the status of a decision, guarded by the resourceVersion that was
// read. It then performs the action and reconciles again. Every action is idempotent, so the
// process may die at any point:
//
//	process dies                   next reconciliation finds          next rule and action
//	around the finalizer write     the Operation with or without it   the same, or the next one
//	after the lock is acquired     its UID on the HelmRelease         Start: create
//	between companions             the companions that exist          Start: create the others
//	after the Job is created       a suspended, unrecorded Job        Start: record its UID
//	after its UID is recorded      a suspended, recorded Job          Start: resume it
//	while the Job runs             the recorded Job                   Running
//	after the Job has ended        the recorded Job, finished         Collect
//	after its result is recorded   a final phase                      Terminal: clean up
//	during cleanup                 the remaining objects              Terminal: clean up
//	while Jobs are stopped         spec.cancel or a deletion          Cancelled
//
// A recorded Job is never created again. A Job that is not recorded has never run, because Jobs are
// created suspended. So no Operation runs twice, regardless of deletions of its Job.
//
// Files, top-down:
//
//	decide.go   Decide and the ordered list of rules
//	facts.go    facts derived from an Input, and the reads that a decision needs
//	next.go     the plan of the next upgrade, and the hooks that it leaves out
//	target.go   the HelmRelease that an Operation is for
//	job.go      Job and Pod status reduced to a Job of an Input
//	logs.go     limits of logs in status
//	input.go    Input and Decision
//	action.go   the actions
package operation
