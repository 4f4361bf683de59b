// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package leader rejects writes of a replica that may no longer be the leader.
//
// Leader election alone does not: a process that was suspended for longer than its lease continues
// to write until the renew deadline has passed. So every write passes a fence. It is open after a
// renewal for as long as no other replica can acquire the lease. The lease is released only when no
// write is in flight.
//
// Nor does it keep controllers in two namespaces apart, since these have two Leases. So a controller
// does not lead while another one leads in another namespace.
//
//	observe.go         the transports of a process that only observes
//	leader.go          Fence: a lock for leader election and a transport for writes
//	standby.go         StandbyLock: a lock that is acquired only while no other Lease is renewed
//	standby_decide.go  whether to lead, from the Leases of other namespaces
//	leases.go          reads the Leases of a name in all namespaces
package leader
