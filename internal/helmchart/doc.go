// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package helmchart translates a HelmChart of k3s, and the HelmChartConfig of its name, into the
// HelmRelease, the source and the Secret that mean the same. docs/spec/helmcharts.md has the table. It
// is pure: what exists in the cluster is an argument.
//
//	translate.go    Translate: the HelmRelease, or the refusal of a field
//	source.go       the HelmRepository, OCIRepository or ExternalArtifact
//	values.go       the layers of values, in their order
//	remediation.go  what follows a failure, and the protection of claims
//	manages.go      which HelmCharts are managed, and which fields have no effect
package helmchart
