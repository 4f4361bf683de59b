// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import "k8s.io/apimachinery/pkg/util/resourceversion"

// Source is where an observation comes from.
type Source int

const (
	// Write is the answer to a create, an update or a patch.
	Write Source = iota
	// Delete is the answer to a delete.
	Delete
	// Read is the answer to a get that was sent after every earlier observation had
	// arrived, and that the API server served from its storage.
	Read
	// Changed is an ADDED or MODIFIED event.
	Changed
	// Removed is a DELETED event: the object is gone, or it lost the label that the watch
	// selects.
	Removed
	// Gap means that events after the known version may be missing: a watch was joined late, was
	// renewed at a later version, or ended, or a read failed.
	Gap
)

// Observation is the content of one answer or event about an object.
type Observation struct {
	Source Source
	// Absent is true if no object has the name, according to an answer.
	Absent bool
	// UID and Version of the object in the answer or event. A Removed event has the version of the
	// removal.
	UID, Version string
	// Deletion describes the object in the answer to a delete.
	Deletion Deletion
}

// Deletion describes the object in the answer to a delete.
type Deletion struct {
	// Marked is true if the object has a deletionTimestamp.
	Marked bool
	// Held is true if the object has finalizers, or a grace period that is not zero.
	Held bool
	// Core is true if the kind is of the core group.
	Core bool
}

// existence returns the existence of the object after an answer to a delete.
//
//   - Finalizers and a grace period keep the object. Its removal gets a later version.
//   - The API server removes a Pod that has ended, or was never scheduled, in the same request. It
//     answers with a deletionTimestamp, a grace period of zero and the version of the removal. A
//     delete that was overtaken by another one gets the same answer, and no later event need
//     follow. So the answer proves nothing.
//   - Some core kinds are answered with the object without deletionTimestamp after its removal.
//   - For other API servers, an object without deletionTimestamp has no defined meaning.
func (d Deletion) existence() Existence {
	switch {
	case d.Held:
		return Present
	case d.Core && !d.Marked:
		return Absent
	}
	return Unknown
}

// Existence is the known existence of an object.
type Existence int

const (
	// Unknown means that the object must be read.
	Unknown Existence = iota
	// Present means that the object existed at the newest known version.
	Present
	// Absent means that no object had the name at the time of the newest observation.
	Absent
)

// Known is the known state of an object. The zero value is the state before the first observation.
type Known struct {
	existence Existence
	// uid and version come from the newest observation that has them.
	uid, version string
	// target is the first UID that was observed, and targetGone is true once that object
	// no longer exists. A UID is never used again.
	target     string
	targetGone bool
}

// Existence returns the existence of the object as of the newest observation.
func (k *Known) Existence() Existence { return k.existence }

// MustRead reports whether only a read can determine the state of the object.
func (k *Known) MustRead() bool { return k.existence == Unknown }

// Target returns the UID that was observed first, empty if none was.
func (k *Known) Target() string { return k.target }

// TargetGone reports whether the object that was observed first no longer exists.
// Another object may have its name.
func (k *Known) TargetGone() bool { return k.targetGone || k.target == "" && k.existence == Absent }

// Concerns reports whether an observation is about the object that was observed first.
func (k *Known) Concerns(o Observation) bool {
	return k.target == "" || o.UID == "" || o.UID == k.target
}

// Observe merges an observation, and reports whether it is newer than the known state. If it is
// not, nothing changes.
func (k *Known) Observe(o Observation) (newer bool) {
	if !k.isNews(o) {
		return false
	}
	if k.target == "" {
		k.target = o.UID
	}
	switch o.Source {
	case Gap, Removed:
		k.existence = Unknown
	case Delete:
		k.existence = o.Deletion.existence()
	case Write, Read, Changed:
		k.existence = Present
	}
	if o.Absent {
		k.existence = Absent
	}
	if o.UID != "" {
		k.uid = o.UID
	}
	if o.Version != "" {
		k.version = o.Version
	}
	if k.target != "" && (k.existence == Absent || k.existence == Present && k.uid != k.target) {
		k.targetGone = true
	}
	return true
}

// isNews reports whether an observation is newer than the known state.
func (k *Known) isNews(o Observation) bool {
	switch o.Source {
	case Gap:
		return true
	case Write, Delete, Read:
		// The request was sent after the earlier observations had arrived. An answer of an
		// older state comes from a server that lags behind.
		return o.Absent || k.version == "" || !After(k.version, o.Version)
	case Changed, Removed:
		if k.targetGone && k.target != "" && o.UID == k.target {
			return false
		}
		return k.version == "" || !NotAfter(o.Version, k.version)
	}
	return false
}

// NotAfter reports whether resourceVersion a is certainly not later than b.
func NotAfter(a, b string) bool {
	order, ok := compare(a, b)
	return ok && order <= 0
}

// After reports whether resourceVersion a is certainly later than b.
func After(a, b string) bool {
	order, ok := compare(a, b)
	return ok && order > 0
}

// Compare orders resourceVersions for sorting. Those that cannot be compared count as equal.
func Compare(a, b string) int {
	order, _ := compare(a, b)
	return order
}

func compare(a, b string) (order int, ok bool) {
	if a == b {
		return 0, true
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	if err != nil {
		return 0, false
	}
	return order, true
}
