// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"time"
)

var (
	// ErrOutdated is the cause of a cancellation because the inputs of the attempt are outdated.
	ErrOutdated = errors.New("outdated by newer inputs")
	// ErrShutdown is the cause of a cancellation because the process ends, has lost its lease, or
	// no longer reconciles the HelmRelease. Another process may resume the action.
	ErrShutdown = errors.New("interrupted: this process ends, or no longer reconciles the release")
	// ErrResumedElsewhere ends an action that another process has resumed.
	ErrResumedElsewhere = errors.New("another process has resumed the action")
	// ErrPlanVoid ends an action before its first write, since it would not do what its plan states.
	ErrPlanVoid = errors.New("the cluster has changed since the plan was computed")
)

// Outcome is the result of one attempt. It is a value and not an error: Helm may have stored
// revisions although the attempt failed, and status must show them.
type Outcome struct {
	Action HelmAction
	// Desired is the desired state at the announcement. It may be older than the HelmRelease at the
	// end of the attempt.
	Desired Desired
	// Revisions are the revisions that storage accepted during the attempt, newest first, each in
	// its last state. The first is pending if the attempt ended early and can be resumed.
	Revisions []Revision
	// Err is the reason of failure; nil on success. It contains no values of Secrets.
	Err error
	// Cancelled is true if the attempt was cancelled by a deletion, a shutdown or newer inputs. It
	// does not count as a failure.
	Cancelled bool
	// Interrupted is set if the attempt ended because a server did not answer during the whole time
	// of retries. Err is set then, too. It does not count as a failure. Revisions may be empty, or
	// hold a pending revision whose final update was not stored.
	Interrupted *Outage
	// Outdated is true if the attempt was cancelled because its inputs were outdated.
	Outdated bool
	// PlanVoid is true if the attempt ended before its first write, since it would not do what its
	// plan states: Err is ErrPlanVoid then. It does not count as a failure.
	PlanVoid bool
	// Denied is true if the attempt ended before its first write, since dry runs denied objects, and
	// all denials may depend on other objects of the action. Err is set then.
	Denied bool
	// Record is the size of the new revision's record. It is nil if the size is small, or no
	// revision was to be created.
	Record *RecordSize
	// TakenOver is the deployed revision of a release that an upgrade took over, in the state in which
	// it was found. It is nil if there was none, or another client made it.
	TakenOver *Revision
	// Diagnosis is the failure cause of a wait for objects, a hook or a test. It is nil if no wait
	// failed or no cause was found.
	Diagnosis *Diagnosis
	// Cause is the cause of Err without a Diagnosis; zero if none is known but Err itself.
	Cause Cause
	// HookLogs are the last log lines of successful hooks whose chart requests them.
	HookLogs []ContainerLog
	// Logs are Helm's last log lines, oldest first.
	Logs []string
	// Inventory lists the rendered objects without hooks; nil if the attempt ended before
	// rendering.
	Inventory []Object
	// Unlisted is the error of listing the objects of the stored revision; nil if there was none.
	Unlisted error
	// Owners are other existing releases whose objects are in conflict, so that nothing was
	// changed. It does not count as a failure.
	Owners []Target
	// Adopted lists objects without an owner that the release owns now, each with the reason.
	Adopted []string
	// Skipped lists objects of stored revisions that were left out, because the API server no
	// longer serves their kinds.
	Skipped []Object
	// Kept lists objects that were not deleted, each with the reason: another release owns them by now, a
	// policy protects them, or they are Namespaces.
	Kept []string
	// Changes are the changes that a successful attempt has made; zero for other attempts.
	Changes Changes
	// Exact is true if the live objects have all applied fields, according to the API server's
	// responses.
	Exact bool
	// Corrected are the objects of a drift correction. Failed are those that could not be
	// corrected.
	Corrected []DriftedObject
	Failed    []ObjectError
	// Announced is the time of the announcement, Started the time of the start in a slot of the
	// pool. Each is zero if it is unknown or did not happen.
	Announced time.Time
	Started   time.Time
	Ended     time.Time
}

// Changes are the changes of an action. They contain no values of Secrets.
type Changes struct {
	// Objects counts the objects; nil if they were not counted.
	Objects *ObjectCounts
	// Images are the images of containers that differ from the previous revision.
	Images []ImageChange
	// Taken are the fields that were taken from other field managers.
	Taken []TakenField
}

// ObjectCounts are numbers of objects without hooks.
type ObjectCounts struct{ Created, Changed, Deleted int }

// ImageChange is the change of the image of a container. From is empty for a new container, and To
// for a removed one.
type ImageChange struct {
	Object              Object
	Container, From, To string
}

// TakenField is a field of an object that another field manager has set differently.
type TakenField struct {
	Object        Object
	Path, Manager string
}

// Outage describes a server that does not answer.
type Outage struct {
	// Server is a noun phrase that names the server, such as "the API server" or
	// "webhook foo.bar of the API server".
	Server string
	// Since is the time of the first request without an answer.
	Since time.Time
	// Cause is a text that is equal for equal causes. It has no times, no local ports and no URLs
	// with queries.
	Cause string
	// Webhook is true for an admission webhook.
	Webhook bool
}

// EndedEarly reports whether the attempt was cancelled or interrupted, or resumed by another
// process. It is neither counted nor remediated, and the next reconciliation continues the work. An
// install, upgrade or rollback that can be resumed has left its revision pending.
func (o *Outcome) EndedEarly() bool {
	return o.Cancelled || o.Interrupted != nil || o.ResumedElsewhere() || o.PlanVoid
}

// ResumedElsewhere reports whether another process has resumed the action: Err is
// ErrResumedElsewhere. This process has stopped and no longer knows the state of the revision.
func (o *Outcome) ResumedElsewhere() bool { return errors.Is(o.Err, ErrResumedElsewhere) }

// Deferred reports whether the next attempt goes ahead in spite of the denials that ended this one. It
// does not count as a failure.
func (o *Outcome) Deferred() bool { return o.Denied && !o.EndedEarly() && !o.Desired.RefusesDenials() }

// Stored reports whether the attempt changed Helm storage. A failure without stored revisions
// changed nothing and needs no remediation.
func (o *Outcome) Stored() bool { return len(o.Revisions) > 0 }

// Oversized reports whether the attempt ended before its first write because the record exceeds the
// size limit.
func (o *Outcome) Oversized() bool {
	return o.Err != nil && !o.EndedEarly() && !o.Stored() && o.Record != nil && o.Record.TooLarge()
}

// RecordSize is the size of a new revision's record in Helm storage. All numbers are bytes of
// Secret data, after compression and encoding.
type RecordSize struct {
	Bytes int
	// Limit is the capacity of a Secret. Reserved is the part of it that must be free when an
	// action starts, for the updates of the record until its end.
	Limit, Reserved int
	// Parts is the breakdown by contents, largest first. The parts add up to Bytes.
	Parts []RecordPart
}

// RecordPart is the share of one part of a record.
type RecordPart struct {
	Kind  RecordPartKind
	Bytes int
	// Largest is the largest file of the chart in this part; empty if there is none.
	Largest string
}

// RecordPartKind names a part of a record.
type RecordPartKind string

const (
	// PartTemplates are the chart's templates. Subcharts are not stored.
	PartTemplates RecordPartKind = "templates"
	// PartCRDs are the files in the chart's crds folder.
	PartCRDs RecordPartKind = "CRDs"
	// PartFiles are all other files of the chart.
	PartFiles RecordPartKind = "files"
	// PartDefaults are the chart's own values and their schema.
	PartDefaults RecordPartKind = "chart values"
	// PartValues are the values of the release.
	PartValues RecordPartKind = "release values"
	// PartManifest is the rendered manifest with hooks and without CRDs.
	PartManifest RecordPartKind = "manifest and hooks"
	// PartRenderedCRDs are the CRDs in the rendered manifest.
	PartRenderedCRDs RecordPartKind = "CRDs in the manifest"
	// PartRest is metadata, notes and the status of the revision.
	PartRest RecordPartKind = "metadata and notes"
)

// TooLarge reports whether the record cannot be stored, or not be updated when the action has
// ended. The action must not start then.
func (s *RecordSize) TooLarge() bool { return s.Bytes > s.Limit-s.Reserved }

// NearlyTooLarge reports whether users are warned about the size: from 80 % of the limit.
func (s *RecordSize) NearlyTooLarge() bool { return s.Bytes*5 >= s.Limit*4 }

// Object identifies one object of a release.
type Object struct {
	Group     string
	Version   string
	Kind      string
	Namespace string
	Name      string
}

// Role is the relation of an awaited object to its release.
type Role string

// Roles of objects. The zero value is an object of the release itself.
const (
	RoleHook Role = "hook"
	RoleTest Role = "test"
)

// UnreadyObject is an awaited object that is not ready.
type UnreadyObject struct {
	Object Object
	UID    string
	Role   Role
	// Content is the object as last observed, or else as it was sent. It must not be changed.
	Content map[string]any
	// Status is the status that the readiness check returned.
	Status string
	// Failed is true if the object has failed terminally.
	Failed bool
	// HideLogs is true if the logs of its containers must not be shown.
	HideLogs bool
}

// DiagnosisRequest requests the failure cause of unready objects.
type DiagnosisRequest struct {
	// Objects are the unready objects, terminally failed ones first.
	Objects []UnreadyObject
	// Namespace is the namespace of the release: objects in it are named without a namespace.
	Namespace string
	// Waited is the timeout of the wait that has ended; zero for other reasons.
	Waited time.Duration
	// Secrets are texts that the diagnosis must not contain.
	Secrets []string
	// Brief limits the reads to those that decide whether waiting can still succeed.
	Brief bool
}

// Diagnosis is the failure cause of a wait. It contains no values of Secrets.
type Diagnosis struct {
	// Code is one of the failure codes of the API, for machines.
	Code string
	// Object is the object that shows the cause. Role is its relation to the release.
	Object Object
	Role   Role
	// Summary is one short line that starts with the object and names the cause.
	Summary string
	// Details has further lines.
	Details []string
	// Logs has the last log lines of the containers of the Pod that shows the cause.
	Logs []ContainerLog
	// Permanent is true if the cause does not disappear by waiting once it has been present for
	// PermanentAfter.
	Permanent      bool
	PermanentAfter time.Duration
	// Fingerprint is equal for two diagnoses of the same cause.
	Fingerprint string
}

// Cause is the cause of a failure in one line. It contains no values of Secrets.
type Cause struct {
	// Code is one of the failure codes of the API.
	Code string
	// Text starts with the object, if the cause is about one.
	Text string
}

// ContainerLog is the end of a container's log.
type ContainerLog struct{ Pod, Container, Text string }
