// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package preview renders the revision that Helm would make of a chart and its values. It writes
// nothing to the cluster. Only Render runs in workers.
//
// testdata/attacks holds templates that do not end or take all memory or stack without limits.
//
// Files, top-down:
//
//	preview.go  Render: an install or upgrade of Helm as a dry run, with records in memory
//	values.go   values of an upgrade that preserves those of another revision
//	compare.go  comparison of manifests
package preview
