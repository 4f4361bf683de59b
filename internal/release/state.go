// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

// State is what a release amounts to, in the words users of this API know.
type State string

// The states. A state describes; the rule that applied decides.
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
