// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"
	"time"
)

// Drift is what a comparison of live objects with the newest revision found.
type Drift struct {
	// Objects are those that are not as the release has them, in the order in which
	// they are to be corrected: what was removed first.
	Objects []DriftedObject
	// Ceded are fields that others manage through the scale subresource. They differ
	// from the release and are left to them.
	Ceded []DriftedObject
	// Excluded are the objects that nobody compares because they say so.
	Excluded []Object
	// Errors are the objects that could not be compared, and why.
	Errors []ObjectError
	// Repeat is true if requests failed for want of the API server, so that the comparison
	// is repeated with back-off. Errors names them once they have failed for a while.
	Repeat bool
	// Rendering says why the chart would be rendered otherwise now than it was for the
	// revision, by the same values; empty if it would not, or nobody knows.
	Rendering string
	// Note is a sentence for people about what is not looked for; empty if all is.
	Note string
	// Pause is how long nothing is corrected because too much was lately; zero if
	// corrections may go on.
	Pause time.Duration
}

// Removed reports whether an object does not exist that should.
func (d *Drift) Removed() bool {
	return slices.ContainsFunc(d.Objects, func(o DriftedObject) bool { return o.Removed })
}

// DriftedObject is an object that is not as the release has it.
type DriftedObject struct {
	Object
	// Removed is true if it does not exist. It has no Fields then.
	Removed bool
	// Fields that differ, in order of their paths.
	Fields []DriftedField
}

// DriftedField is one field of an object that differs, and who is to blame.
type DriftedField struct {
	// Path as people write it: ".spec.template.spec.containers[name="app"].image".
	Path string
	// Pointer is the JSON pointer to the field in the live object, which an ignore
	// rule takes: "/spec/template/spec/containers/0/image".
	Pointer string
	// Kind of difference.
	Kind DriftKind
	// Want and Have are the values of the release and of the live object as compact
	// JSON, cut to a sane length. Those of Secrets are masked. Empty for what is not
	// there.
	Want, Have string
	// Manager is who changed the field last, as far as the object knows; empty if it
	// does not. Subresource is by which one, if by any; Operation is "Apply" or
	// "Update".
	Manager, Operation, Subresource string
	// Time of the change; zero if it is not known.
	Time time.Time
}

// DriftKind is in which way a field differs.
type DriftKind string

const (
	// DriftAdded is a field that the release has not, and a manager set that is to be
	// overridden.
	DriftAdded DriftKind = "added"
	// DriftChanged is a field of another value.
	DriftChanged DriftKind = "changed"
	// DriftMissing is a field that the live object has not.
	DriftMissing DriftKind = "missing"
)

// ObjectError is what went wrong with one object. Values of Secrets must have been
// removed from the text.
type ObjectError struct {
	Object
	Err string
	// Transient is true if the infrastructure failed, and the same request may succeed
	// later. Err does not change then while the reason stays.
	Transient bool
}

// Rerendering is what came of rendering the chart of the newest revision once
// more, with the same values: charts may read the cluster, which changes without
// anybody changing the release.
type Rerendering struct {
	// Reads is true if the chart reads the cluster. If it does not, nothing was
	// rendered, and all else is zero.
	Reads bool
	// Lookup is true if it looks up objects, so that it has to be rendered to know
	// whether it would be the same.
	Lookup bool
	// Changed is true if the manifest is another than that of the revision; hooks and
	// notes do not count.
	Changed bool
	// Unstable is true if nobody can tell whether the cluster is the reason: the
	// manifest is another each time, as with random passwords and the time. Changed is
	// false then.
	Unstable bool
	// Offers is the digest of what the API server offers, if the chart was rendered.
	// Without Lookup the manifest is the same as long as the digest is.
	Capabilities string
}
