// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package message makes the messages about a release, an Operation or a plan that is blocked,
// waits, is suspended, is retried or is stalled. Each has three parts: what is wrong, what was left
// alone, and what happens next or what to do.
//
// The rows of Rows are all of them. docs/spec/problems.md has their messages, which a test
// compares. The package is pure.
//
//	change.go   ChangeOf: what a write of conditions changes, for the log
//	failure.go  Failure: the row of a failed install, upgrade or test
//	obstacle.go Obstacle: the message of a release.Blocked; when it is tried again
//	rows.go     Rows: the messages about HelmReleases
//	others.go   the messages about Operations and plans
//	logs.go     Logs, WithoutLogs, ParseLogs: the logs of a failure
//	row.go      Row, Facts, and Of: a message from a row and facts
//	parts.go    Parts, and their text
package message
