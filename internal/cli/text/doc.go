// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package text prints views as text for a terminal. It is pure: a view and a style determine the
// bytes. Texts of the cluster cannot control the terminal.
//
// Files, top-down:
//
//	releases.go  lists of releases
//	why.go       the state of one release, and its cause
//	history.go   revisions, and the differences of two
//	values.go    values
//	tree.go      objects and what they own
//	plan.go      plans
//	diff.go      what a reconciliation would change
//	markdown.go  the same, for the comment of a pull request
//	doctor.go    findings about an installation
//	manifests.go objects as YAML for kubectl apply
//	table.go     Table: aligned columns, also of rows that arrive one by one
//	style.go     Style: colours, and texts without control characters
package text
