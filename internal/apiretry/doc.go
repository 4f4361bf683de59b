// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package apiretry repeats requests to API servers after failures that repeating can overcome:
// connection errors, lost answers, 429, 5xx and conflicts. A 403 is repeated for 30 seconds after
// an API server could not be reached: a starting API server answers before it has read all roles.
//
// Reads, deletions, patches and updates are idempotent: a deletion that is answered with NotFound
// is done. A creation that is answered with AlreadyExists after an unanswered attempt succeeds if
// the live object is the sent object.
//
//	leader.go     repeats requests that are part of no action, once
//	transport.go  repeats the requests of a client
//	limit.go      limits the size of answers, and follows no redirects
//	create.go     recognizes the object that an earlier attempt has created
//	request.go    one request and its repetitions: back-off
//	deadline.go   ends the reads of a reconciliation at its deadline, and writes without an answer
//	pace.go       ends reads of servers that answer too slowly
//	retrier.go    the budget of one action: outages, the slot of the action
//	faults.go     which servers could not be reached, and whether they answer again
//	cause.go      why a request was not answered
//	answer.go     classifies the answers of API servers (pure)
//	errors.go     Outage, UnavailableError, and the error of a request without an answer
package apiretry
