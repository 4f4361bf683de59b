// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

// State names the state of a release, in the terms of the API.
type State string

// The states. A state is descriptive; the rule that applied decides.
const (
	StateUnknown   State = ""
	StateAbsent    State = "Absent"
	StateUnmanaged State = "Unmanaged"
	StateLocked    State = "Locked"
	StateFailed    State = "Failed"
	StateOutOfSync State = "OutOfSync"
	StateUntested  State = "Untested"
	StateDrifted   State = "Drifted"
	StateInSync    State = "InSync"
)
