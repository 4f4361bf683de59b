// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package fair shares a few slots between tenants. A slot is a worker process, or the right to run
// an action or a reconciliation. Slots cannot be taken back. So tenants take turns, a tenant does
// not get the last slot in addition to all others while another one waits, and of tenants that
// started to wait together, the tenant with the least usage is served first.
//
// A request can be for several tenants, a namespace and another cluster. It takes the turn of its
// namespace: a namespace with kubeconfigs for many clusters has one turn. The cluster counts for
// what is held and used: one slow cluster of many namespaces does not get all slots.
//
//	semaphore.go  Semaphore: acquires and releases slots
//	schedule.go   which request gets the next slot (pure)
//	usage.go      the recent usage of a tenant (pure)
package fair
