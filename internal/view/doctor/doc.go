// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package doctor checks what no release shows: CRDs, controllers and their Leases and flags, and the
// rights of the identities that releases act as. It derives findings from facts. It is pure: package
// view/read reads the facts.
//
// Files, top-down:
//
//	check.go        Check: all checks
//	controllers.go  controllers and their flags
//	crds.go         CRDs: served and stored versions
//	rights.go       rights of the ServiceAccounts that releases act as
//	helmcharts.go   releases of HelmCharts of k3s
//	report.go       Report and Finding
//	facts.go        Facts: what was read from the cluster
package doctor
