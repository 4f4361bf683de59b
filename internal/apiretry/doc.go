// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package apiretry repeats requests to API servers whose failure is not the fault of
// the request: connection errors, lost answers, 429, 5xx and conflicts.
//
//	answer.go     classifies what an API server answered (pure)
//	cause.go      words why a request was not answered
//	retrier.go    the budget of one action: back-off, outages, the slot of the action
//	transport.go  repeats the requests of a client
//	create.go     recognizes the object that an earlier try has created
//	leader.go     repeats requests that are part of no action, once
//
// Repeating is safe because it is made so. Reads, deletions, patches and updates are
// idempotent: a deletion that is answered with NotFound is done. A creation that is
// answered with AlreadyExists after an unanswered try succeeds if the live object is the one
// that was sent.
package apiretry
