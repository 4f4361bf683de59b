// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package fair shares a few slots between tenants. A slot is a worker process, or the right to run
// an action. Slots cannot be taken back, so a tenant that keeps them for long is served after the
// others.
//
//	semaphore.go  Semaphore: acquires and releases slots
//	schedule.go   which request gets the next slot (pure)
//	usage.go      the recent usage of a tenant (pure)
package fair
