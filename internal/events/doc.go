// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package events records events on the API server and posts them to notification-controller, if its
// address is configured. Callers never block: posts are queued, and events that cannot be delivered
// are counted and dropped.
//
//	recorder.go  Recorder: an event recorder that also posts
//	deliver.go   posts one event and repeats that
//	sender.go    Sender: the queue of events
package events
