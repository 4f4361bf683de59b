// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package standby keeps a controller from leading while another controller leads in another
// namespace. Leader election alone does not: replicas in two namespaces have two Leases.
//
//	lock.go    Lock: a lock for leader election that is acquired only while no other Lease is renewed
//	api.go     reads the Leases of a name in all namespaces
//	decide.go  Decide: whether to lead, from the Leases of other namespaces
package standby
