// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package rollout decides which releases may start to install or upgrade to a new chart or to new values,
// if a policy limits how these spread. It is pure. Its files, from the top:
//
//	queue.go   the releases that wait, and those that have got a turn
//	wave.go    the wave of an input: the releases that take it, their stages, and which may start
//	stages.go  the stage of each release, by its labels and its dependents
//	member.go  what the status of a HelmRelease says about an input
//	values.go  what a process knows of the values of a release
package rollout
