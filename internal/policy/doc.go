// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package policy decides what ReleasePolicies and ClusterReleasePolicies demand of a release. It is
// pure: it has no client and no clock.
//
// Files, top-down:
//
//	assess.go  Demands.Assess: does a plan need approval, and is it denied?
//	policy.go  Demands: what all policies together demand of one release
package policy
