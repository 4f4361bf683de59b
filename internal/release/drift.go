// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"
	"time"
)

// Drift is the result of a comparison of live objects with the newest revision.
type Drift struct {
	// Objects are the objects that differ, in the order of their correction: removed objects first.
	Objects []DriftedObject
	// Ceded are fields that other managers set through the scale subresource. They are reported and
	// never corrected.
	Ceded []DriftedObject
	// Excluded are the objects whose annotations exclude them from drift detection.
	Excluded []Object
	// Errors are the objects that could not be compared, each with its error.
	Errors []ObjectError
	// Repeat is true if requests failed without an answer of the API server, so that the comparison
	// is repeated with back-off. Errors names these objects once they have failed for a while.
	Repeat bool
	// Rendering says why the chart would now render another manifest from the same values. It is
	// empty if the manifest would be the same or this is unknown.
	Rendering string
	// Note is a sentence for users about differences that are not detected. It is empty if all are
	// detected.
	Note string
	// Pause is how long corrections are paused after too many of them. Zero means that corrections
	// may go on.
	Pause time.Duration
}

// Removed reports whether an object of the release no longer exists.
func (d *Drift) Removed() bool {
	return slices.ContainsFunc(d.Objects, func(o DriftedObject) bool { return o.Removed })
}

// DriftedObject is an object that differs from the release.
type DriftedObject struct {
	Object
	// Removed is true if the object does not exist. It has no Fields then.
	Removed bool
	// Fields are the fields that differ, sorted by path.
	Fields []DriftedField
}

// DriftedField is one field that differs, and the manager that changed it.
type DriftedField struct {
	// Path is the path in readable form: ".spec.template.spec.containers[name="app"].image".
	Path string
	// Pointer is the JSON pointer to the field in the live object, as in an ignore rule:
	// "/spec/template/spec/containers/0/image".
	Pointer string
	// Kind of difference.
	Kind DriftKind
	// Want and Have are the values in the release and in the live object, as compact JSON of
	// bounded length. Values of Secrets are masked. A missing value is empty.
	Want, Have string
	// Manager is the manager of the latest change in managedFields, or empty. Subresource is the
	// subresource of that change, or empty. Operation is "Apply" or "Update".
	Manager, Operation, Subresource string
	// Time is the time of the change; zero if it is unknown.
	Time time.Time
}

// DriftKind says how a field differs.
type DriftKind string

const (
	// DriftAdded is a field that is missing in the release and was set by a manager whose changes
	// are overridden.
	DriftAdded DriftKind = "added"
	// DriftChanged is a field with another value.
	DriftChanged DriftKind = "changed"
	// DriftMissing is a field that is missing in the live object.
	DriftMissing DriftKind = "missing"
)

// ObjectError is an error about one object. Err contains no values of Secrets.
type ObjectError struct {
	Object
	Err string
	// Transient is true if the infrastructure failed and the same request may succeed later. Err is
	// stable then while the cause is the same.
	Transient bool
}

// Rerendering is the result of rendering the chart of the newest revision again with the same
// values. Charts may read the cluster, so the result can change without a change of the release.
type Rerendering struct {
	// Reads is true if the chart reads the cluster. Otherwise nothing was rendered, and all other
	// fields are zero.
	Reads bool
	// Lookup is true if the chart looks up objects. It must be rendered then to detect a change.
	Lookup bool
	// Changed is true if the manifest differs from that of the revision. Hooks and notes are not
	// compared.
	Changed bool
	// Unstable is true if the manifest differs in each rendering, as with random passwords or the
	// time. Whether the cluster is the cause cannot be determined, and Changed is false.
	Unstable bool
	// Capabilities is the digest of the API server's capabilities, if the chart was rendered.
	// Without Lookup, an equal digest implies an equal manifest.
	Capabilities string
}
