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
var ErrOutdated = errors.New("superseded by newer inputs")

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
	// Interrupted is set when the attempt ended because a server did not answer for as
	// long as its requests are retried. Err is set then, too. It is no failure of the
	// release and is not counted as one. Revisions may hold a pending revision whose
	// final update was not stored, or nothing.
	Interrupted *Outage
	// Superseded is true when it was cancelled because something else is wanted by
	// now.
	Outdated bool
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

// Outage describes a server that does not answer.
type Outage struct {
	// Server is a noun phrase that names the server, such as "the API server" or
	// "webhook foo.bar of the API server".
	Server string
	// Since is when the first request without an answer was sent.
	Since time.Time
	// Cause is the same text for the same cause: it has no times, no local ports and no
	// URLs with queries.
	Cause string
}

// CutOff reports whether the attempt ended early through no fault of the release: it
// was cancelled, or a server did not answer. It is neither counted nor remediated, and
// the next reconciliation continues the work.
func (o *Outcome) EndedEarly() bool { return o.Cancelled || o.Interrupted != nil }

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
