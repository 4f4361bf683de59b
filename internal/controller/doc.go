// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller has the parts that both reconcilers share: the kinds that they read, the
// configuration of the manager's cache, and its indexes. Its files, from the top:
//
//	options.go   the options of both, and the parts that they share
//	finder.go    the connection to the cluster of a release: which cluster, and as which identity;
//	             identity.go reads what names them, denied.go and unreachable.go have the obstacles
//	recorder.go  the recorder of events
//	cache.go     the objects in the manager's cache, and the reads of its client that use it
//	index.go     indexes of HelmReleases and Operations
//	queue.go     the seam by which tests observe the work queues
//	scheme.go    the kinds
//	write.go     the field manager, and the pause after a stale read
//	lock.go      which Operation holds a HelmRelease, and which waits for it
//	outage.go    when status names a fault of an API server
//	memory.go    the table of states in memory
//
// The reconcilers and their parts are in packages below:
//
//	setup         registers everything with a manager; the place to start reading
//	helmrelease   the reconciler of HelmReleases
//	operations    the reconciler of Operations
//	capabilities  watches which APIs the cluster serves
package controller
