// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package inputs resolves a HelmRelease to its inputs: the chart, the values, the release name and
// the policies of the actions.
//
// It only reads. If an input is missing or not ready, it returns a *release.Blocked with the reason
// for the condition and the time of the next try. It does not read Helm's storage, and it does not
// decide which action runs.
//
//	resolve.go       Resolve: checks all inputs in order, and returns them
//	basics.go        inputs that follow from the spec alone: release name, policies, digests
//	limits.go        the limits of lists and texts in the spec
//	access.go        sources that settings reject, and the facts by which policies refuse charts
//	source.go        the source object, its artifact, and the identity of the chart
//	sourcekinds.go   the table of source kinds: readiness, requested revision, digest
//	dependencies.go  spec.dependsOn: HelmReleases, dependency cycles
//	objects.go       spec.dependsOn: objects of other kinds
//	readyexpr.go     spec.dependsOn[].readyExpr, and the fields that it may use
//	objectready.go   whether an object of another kind is ready
//	secrets.go       the contents of Secrets that must be redacted from messages
//	values.go        spec.values and spec.valuesFrom
//	files.go         values in files of sources
//	checkouts.go     directories in place of sources of values
//	places.go        where values come from, for policies
//	releasekey.go    keys of Helm releases, and the HelmReleases that own objects
//	blocked.go       errors for unsupported specs and dependencies that are not ready
//	resolver.go      Resolver, its result, and the interfaces that it reads through
//	settings.go      Settings: flags and feature gates
package inputs
