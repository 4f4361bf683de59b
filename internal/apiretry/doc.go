// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package apiretry repeats requests to API servers whose failure is not the fault of
// the request: connection errors, lost answers, 429, 5xx and conflicts.
//
//	answer.go     classifies what an API server answered (pure)
//	cause.go      words why a request was not answered
//	retrier.go    the budget of one action: back-off, outages, the slot of the action
//	transport.go  repeats requests for which repeating is safe
//
// Repeating is safe for reads, deletions, patches, dry runs and updates. A POST that
// creates an object is not repeated by the transport: its caller repeats it with
// Retrier.Do, and recognizes the object that an earlier try has created.
package apiretry
