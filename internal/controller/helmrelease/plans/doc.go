// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package plans keeps the ReleasePlans of HelmReleases: it lets them be computed, reads approvals
// from them, and deletes them. It decides nothing about releases.
//
// Files, top-down:
//
//	expiry.go   Expiry: deletes plans some time after they were applied
//	follow.go   Planner.Follow: plans that were applied, or are no longer needed
//	planner.go  Planner.Find and Planner.Compute: the plan of the next action
//	guard.go    the admission policy without which an override has no effect
//	inputs.go   the digests of inputs and base, and when a plan is out of date
//	watch.go    Watch: the plans in the cluster
package plans
