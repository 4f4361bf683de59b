// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package rollouts gives releases their turns in the rollouts of policies, and enqueues those that wait
// when it is their turn. Package rollout decides. Its files, from the top:
//
//	tracker.go  turns, and the releases that wait
//	fleet.go    the releases that a policy selects, as the cache and the writes of this process have them
package rollouts
