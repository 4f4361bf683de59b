// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2

// What this controller writes beyond what its users' other tools know.

const (
	// ReasonUnsupportedField says that the spec uses a field this version does
	// not implement. Terminal: only a change of the spec helps.
	ReasonUnsupportedField string = "UnsupportedField"

	// LabelRevision stamps the Helm storage record of every revision this
	// controller creates with "<UID of the HelmRelease>.<revision>". Helm copies
	// labels from one revision to the next, so the stamp counts only if it names
	// the number of the revision that carries it.
	LabelRevision string = "pintle.dev/revision"

	// LabelInterrupted marks the storage record of a failed revision whose action
	// was cut off: the controller ended it on purpose, or died and later unlocked
	// what it left. Such a failure is not counted. Its value is "true".
	LabelInterrupted string = "pintle.dev/interrupted"
)
