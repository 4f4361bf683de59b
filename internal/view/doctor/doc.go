// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package doctor checks an installation, and the migration from helm-controller. It derives
// findings from facts. It is pure: package view/read reads the facts.
//
// Files, top-down:
//
//	check.go        Check: all checks
//	controllers.go  controllers, their flags, and source-controller
//	crds.go         CRDs: served and stored versions
//	releases.go     HelmReleases: what changes when another controller takes over
//	rights.go       rights of the ServiceAccounts that releases act as
//	report.go       Report and Finding
//	facts.go        Facts: what was read from the cluster
package doctor
