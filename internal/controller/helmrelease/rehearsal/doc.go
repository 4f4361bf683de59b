// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package rehearsal reports what would be done to HelmReleases, in a process that only observes. It
// runs beside the controller that leads.
//
//	report.go   Reporter: metric, log and event of each HelmRelease
//	finding.go  Finding: what would be done, from a decision or an obstacle
package rehearsal
