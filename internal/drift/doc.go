// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package drift compares the live objects of a release with its newest revision, and
// corrects them. It reports which fields differ and which manager changed them. It does
// not decide when to compare or to correct, and does not depend on Helm.
//
// A comparison has three inputs: the desired object of the release, the live object, and
// the API server's answer to a dry-run apply of the desired object with Pintle's field
// manager. The answer is normalized and defaulted by the API server, and its managedFields
// list the applied fields. So the live object is compared with the answer. The managers in
// the live object's managedFields show the cause of a difference: a client that changes a
// field by a request takes it over, admission does not.
//
// Files, top-down:
//
//	record.go     Recorder: objects that an action applied need no comparison
//	correct.go    Detector.Correct, and the limit of corrections
//	detect.go     Detector.Detect, and the results stored for each release
//	object.go     the comparison of one object, and its result
//	server.go     the requests about one object
//	override.go   fields that other managers added
//	answer.go     Answered: all differences between a live object and the answer to a dry run
//	refused.go    comparison without a dry run, if the API server rejects it
//	ignore.go     Rules: fields and objects that may differ
//	compare.go    Compare: the pure comparison of one object
//	normalize.go  Normalize: desired objects that can be compared and applied
//	autoscaler.go the autoscaler of an object, and the fields that are left to it
//	fields.go     managedFields, and values at paths
//	values.go     values as text, and parts of values
//	contains.go   Contains: the comparison that needs no dry run; Differing: the fields that need one
//
// The functions of override.go and below are pure: they keep nothing and do not change their
// arguments, so they are safe for concurrent use.
package drift
