// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package postrender

// step is one change of the objects that it selects.
type step struct {
	// field is the field of the spec that contains the step.
	field string
	// selects is nil if the step applies to all objects.
	selects selector
	change  change
	// named is true if the patch names its object, which has to exist then. found is true once an
	// object has matched.
	named, found bool
}

// change changes an object, or removes it.
type change interface{ apply(o *object) error }
