// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package apitest is an API server in memory, for tests of package helm and the packages beneath
// it. It serves discovery, reads, writes, server-side apply and watches, with the answers of a
// real API server as far as these packages depend on them. test/integration has a real one.
// A server of NewCluster does what a manager and its controllers need, too.
//
// Files, top-down:
//
//	server.go     requests about objects
//	cluster.go    requests to a server of NewCluster
//	select.go     lists and watches of such a server, by labels and fields, and as metadata
//	watch.go      watches, their events and their faults
//	state.go      Server, its objects, its log of events and the bodies of watches
//	location.go   the parts of a path
//	managed.go    the managedFields of answers to dry runs of an apply
//	fields.go     the managedFields and applies of a server of NewCluster
//	openapi.go    the answer about field validation
//	discovery.go  the resources
package apitest
