// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package dependency watches and reads the objects that HelmReleases depend on. The rules are in
// package inputs.
// Its files, from the top:
//
//	subscriptions.go  enqueues a HelmRelease when an object changes that it waits for
//	dependents.go     which HelmReleases depend on one that is being deleted
//	objects.go        reads objects of other kinds
package dependency

import "k8s.io/apimachinery/pkg/runtime/schema"

// State is the memory of one HelmRelease.
type State struct {
	// unserved is the kind that the HelmRelease waits for; empty if it waits for none.
	unserved schema.GroupVersionKind
	// namesake is the last result of Namesake.
	namesake namesake
}
