// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster provides connections to clusters, one for each cluster and impersonated identity.
// All users of a connection share its transport, discovery and REST mapper. A circuit breaker for
// each other cluster rejects requests while its API server does not answer, and probes it.
//
//	pool.go        Connections: returns, caches and drops connections
//	probe.go       probes clusters that do not answer, or only slowly
//	gates.go       admits reconciliations, and holds the gate of each cluster
//	connection.go  Connection: the RESTClientGetter of one identity; filters warnings
//	mapper.go      maps kinds to resources
//	discovery.go   caches the capabilities of an API server
//	kinds.go       a compact form of discovery
//	cloud.go       locates clusters of clouds
//	gate.go        rejects requests to a cluster that does not answer
//	reads.go       measures the answers to reads, for the health of a cluster
//	health.go      what the answers to reads show of a cluster (pure)
//	breaker.go     the state of a circuit breaker (pure)
//	workload.go    clusters without a kubeconfig
//	kubeconfig.go  turns a kubeconfig into a configuration
//	tokens.go      requests, caches and counts tokens
//	identity.go    Identity, and the keys of clusters
package cluster
