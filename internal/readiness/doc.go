// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package readiness decides whether one object of a cluster is ready, completed or deleted. It
// is pure: package helm/wait reads and watches objects and passes them in.
//
// An object is a namespace and a name of one resource. Objects of the same name that exist one
// after the other differ in their UID, and resourceVersions order them.
//
// Files, top-down:
//
//	check.go        the checks of live objects: ready, with complete Jobs, done as a hook, gone
//	job.go          the state of a Job
//	claim.go        claims that no Pod uses yet
//	observation.go  observations of objects in answers and events
//	existence.go    Known, the state of one object from answers and events in any order. Only
//	                Known decides whether an observation is newer than the known state, whether
//	                it is about the same object, and whether that object is gone.
package readiness
