// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package policy decides what ReleasePolicies and ClusterReleasePolicies demand of a release. It is
// pure: it has no client and no clock.
//
// Files, top-down:
//
//	chart.go   Refuse: which policy refuses the chart of a release
//	values.go  RefuseSources, RefuseValues: which policy refuses its values, or where they come from
//	select.go  Select: which policies select a release, and what they demand together
//	assess.go  Demands.Assess: does a plan need approval, and is it denied?
//	operation.go  Demands.RefuseHooks: which policy refuses the hooks of an Operation
//	window.go  closed: are the windows of a policy closed, and when do they open?
//	policy.go  Policy, and Demands: what all policies together demand of one release
package policy
