// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package events records events on the API server and posts them to notification-controller, if its
// address is configured. Callers never block: posts are queued, and events that cannot be delivered
// are counted and dropped.
//
//	broadcaster.go  NewBroadcaster: writes events with their action
//	deliver.go      posts one event and repeats that
//	recorder.go     Recorder: records and posts an Event
//	sender.go       Sender: the queue of events
package events
