// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package policies reads ReleasePolicies and ClusterReleasePolicies, and the facts that they are
// compared with. Package policy decides. Its files, from the top:
//
//	setup.go     the watches, and the HelmReleases that a change enqueues
//	policies.go  the demands of policies, and the admission of charts
//	facts.go     labels of namespaces and HelmRepositories
package policies
