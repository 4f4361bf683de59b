// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"time"
)

// ErrSuperseded is the cause of a cancellation by changed inputs: something else
// is wanted by now, and nobody needs to know whether the objects of the present
// revision become ready.
var ErrSuperseded = errors.New("superseded by newer inputs")

// Outcome is what came of one attempt. It is a value and never a bare error:
// Helm may have stored revisions although the attempt failed, and status must
// show them.
type Outcome struct {
	Action Action
	// Desired is what the attempt was announced for, which may be older than
	// what the HelmRelease says by the time the attempt ends.
	Desired Desired
	// Revisions that storage really took during the attempt, newest first, each
	// in its last state.
	Revisions []Revision
	// Err is the reason of failure, nil on success. Values of Secrets must have
	// been removed from it.
	Err error
	// Cancelled is true when the attempt was ended on purpose, by a deletion or
	// a shutdown: nobody's failure, and not counted as one.
	Cancelled bool
	// Superseded is true when it was cancelled because something else is wanted by
	// now.
	Superseded bool
	// Record is what the record of the new revision takes; nil if that is nothing to
	// talk about, or none was to be made.
	Record *RecordSize
	// TakenOver is the revision of somebody else that an upgrade took over, as it
	// was found; nil if there was none, or it never worked.
	TakenOver *Revision
	// Diagnosis is why objects, a hook or a test did not become what they were waited
	// for; nil if that is not what failed, or nobody could tell.
	Diagnosis *Diagnosis
	// HookLogs are the ends of the logs of hooks that succeeded and whose chart wants
	// them to be seen.
	HookLogs []ContainerLog
	// Logs are Helm's last lines, oldest first.
	Logs []string
	// Inventory lists the rendered objects, hooks excluded; nil when the attempt
	// ended before rendering.
	Inventory []Object
	// Unlisted is why the objects of what was stored could not be listed; nil if
	// they were, or nothing was stored.
	Unlisted error
	// Owners are other living releases that have objects in the way, if that is why
	// nothing was changed: nobody's failure, and not counted as one.
	Owners []Target
	// Adopted are the objects that nobody owned and that the release has now, each with
	// the reason.
	Adopted []string
	// Exact is true if live objects have all that was applied, by what the API server
	// answered.
	Exact bool
	// Corrected are the objects that a correction of drift dealt with, and Failed
	// those of them that could not be corrected.
	Corrected []DriftedObject
	Failed    []ObjectError
	// Announced is when the attempt was begun, Started when its turn came; zero if
	// that is not known, or it never came.
	Announced time.Time
	Started   time.Time
	Ended     time.Time
}

// Stored reports whether the attempt left a trace in Helm storage. A failure
// that left none has changed nothing, and there is nothing to remediate.
func (o *Outcome) Stored() bool { return len(o.Revisions) > 0 }

// Object names one object of a release.
type Object struct {
	Group     string
	Version   string
	Kind      string
	Namespace string
	Name      string
}
