// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package helm runs Helm's actions: one install, upgrade, rollback, test, recheck, unlock or
// uninstall at a time for a release. It decides nothing: the action is given, and its result is a
// release.Outcome.
//
// Parts without knowledge of actions are packages of their own: apply creates and updates objects,
// wait waits for them, storage reads and writes release records, revision checks new ones and
// resumes interrupted actions, and redact removes secrets from texts.
//
// Files, top-down:
//
//	plan.go       plans: what an action would change, and its text
//	forecast.go   the changes of an action, for its plan and before its approved plan is carried out
//	target.go     the check of a target before a release moves there
//	rerender.go   comparison of a stored manifest with a new rendering
//	stored.go     reads of stored revisions and their objects
//	runner.go     Runner, which runs jobs
//	install.go    settings of an install
//	upgrade.go    settings of an upgrade
//	pipeline.go   the steps that install and upgrade share
//	recordsize.go the size limit of records, checked before the action and by the gate
//	rollback.go   rollback
//	keep.go       objects that an action leaves, although its revision does not have them
//	runtests.go   the tests of a chart
//	recheck.go    the recheck of a failed revision
//	uninstall.go  uninstall and unlock
//	subject.go    Subject, a HelmRelease with its inputs, which makes jobs and reads
//	job.go        Job, an action with its input, and the state of its run
//	findings.go   facts about a failure, and changes without secrets
//	cause.go      the cause of a failure without a diagnosis
//	refusal.go    ... of an object that the API server refuses
package helm
