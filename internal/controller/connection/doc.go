// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package connection finds the connection to the cluster of a release: which cluster, and as
// which identity. Its files, from the top:
//
//	denied.go       Finder.Denied: obstacles for identities that lack a right
//	finder.go       Finder.Find
//	unreachable.go  obstacles for clusters that do not answer
//	identity.go     reads kubeconfigs, descriptions of clusters, ServiceAccounts
package connection
