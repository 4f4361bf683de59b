// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Observed is the state that was found in the cluster.
type Observed struct {
	// Revisions are the revisions in Helm storage, newest first.
	Revisions []Revision
	// Running is the attempt that this process runs on the release; nil if there is none.
	Running *Running
	// Health is the readiness of the objects of the newest revision; nil if it was not inspected.
	Health *Health
	// Drift is the difference between live objects and the newest revision; nil if they were not
	// compared.
	Drift *Drift
	// Renderings describe how the chart of the newest revision has rendered so far. They are zero if
	// live objects are not compared.
	Renderings Renderings
	// Conflicts are the other existing HelmReleases that request the same release or created the
	// stored revisions, in no order.
	Conflicts []Conflict
	// PreservedDigest is the digest of the values that an upgrade with preserved values would
	// store. It is empty unless Policy.PreserveValues is set.
	PreservedDigest string
	// Inventory lists the objects of the newest revision if it should be adopted; nil if the list
	// is unknown.
	Inventory []Object
	// LockHolder is the active Operation that holds the lock of the release. WaitingOperation is
	// one that waits for the lock. Both may be nil.
	LockHolder       *Operation
	WaitingOperation *Operation
	// Dependents are the dependents of a HelmRelease that is being deleted, sorted by name; nil
	// otherwise.
	Dependents []Dependent
	// Oversized is the last action of this process whose record exceeded the size limit; nil if
	// there was none, or a revision was created since.
	Oversized *Oversized
	// Denied is true if dry runs have denied objects of the last install or upgrade of the recorded
	// inputs, which was deferred.
	Denied bool
	// Baking is true if a policy demands that the release is watched after its last install or upgrade,
	// and the end of that is not recorded. Bake is the result of the last look; nil if the decision does
	// not depend on it.
	Baking bool
	Bake   *Bake
	// Synced is the last reconciliation that found the release in sync; nil if there was none, or
	// the release may have changed since.
	Synced *Synced
	// Debounce describes recent changes of inputs; nil if there were none.
	Debounce *Debounce
	// Target is the result of checking the target in the spec; nil if it was not checked.
	Target *TargetCheck
	// Stray is the target of Revisions if neither spec nor status has it; see MustFindStray. It is
	// nil otherwise.
	Stray *Target
	// Accepted is the token of a requested run of the tests that this process has accepted, or may
	// have accepted, and not started. It is empty if there is none.
	Accepted string
	// Plan is the plan of the next action; nil if the decision does not depend on it.
	Plan *Plan
	// Overridden is true if the ReleasePlan has an override that was not used yet. Its plan decides about
	// actions that overridable gates hold.
	Overridden bool
	// Replaces is true if the approval of the ReleasePlan names objects to replace. The upgrade carries
	// out that plan, even if no policy demands one.
	Replaces bool
	// Turn is the turn of the release in the rollouts of its policies; nil if the decision does not depend
	// on it.
	Turn *Turn
	// Terminating is true if the HelmRelease is deleted together with its namespace.
	Terminating bool
	// Unresolved states why the inputs of a release that is held, or whose chart a policy refuses,
	// are incomplete; empty if they are complete. Chart and values in the spec are unknown then.
	Unresolved string
	// Unreachable states why the cluster of the release can never be reached again: an object that
	// gives access does not exist, and the namespace of the HelmRelease is being deleted. It is
	// empty otherwise.
	Unreachable string
}

// Health is the result of one inspection of the objects of a revision.
type Health struct {
	// Ready is true if every object is ready.
	Ready bool
	// Waiting lists the objects that are not ready, each with its reason.
	Waiting []string
}

// Operation is an Operation that runs a hook of the release or waits to do so.
type Operation struct{ Name string }

// Conflict is another HelmRelease that requests, or created, a release with the same name in the
// same storage namespace of the same cluster.
type Conflict struct {
	UID       string
	Namespace string
	Name      string
	Created   time.Time
	// Elsewhere is true if its spec requests another release now.
	Elsewhere bool
	// Recorded are the versions of the stored revisions that its history proves; see Proves.
	Recorded []int
}

// Newest returns the revision with the highest number, or nil.
func (o Observed) Newest() *Revision {
	if len(o.Revisions) == 0 {
		return nil
	}
	return &o.Revisions[0]
}

// Running is an attempt in progress.
type Running struct {
	Action helmv2.ReleaseAction
	// Generation is the generation of the spec at the announcement.
	Generation int64
	Started    time.Time
	// Desired is the desired state at the announcement.
	Desired Desired
}

// Revision is one revision in Helm storage, reduced to the fields that decisions and status need.
type Revision struct {
	// Unread is true for an older revision whose record was not read. Its known fields are name,
	// version, status, owner, Interrupted, Outdated, Rollback, RolledBackTo, Undeployed, Applied and
	// Modified.
	Unread bool
	// Altered is true if the content of the record contradicts its labels.
	Altered bool
	// Sealed is true if the record has a valid seal: this controller has written all of it. It is
	// also true if this process has written it, with or without a key.
	Sealed    bool
	Name      string
	Namespace string
	Version   int
	Status    helmv2.ReleaseStatus
	// Description is Helm's description of the revision. For a failed one it has the error.
	Description  string
	ChartName    string
	ChartVersion string
	AppVersion   string
	// ConfigDigest is the digest of the values in the stored revision.
	ConfigDigest string
	// Digest covers everything that can be changed through Helm; see SnapshotScheme. DeployedDigest
	// is the digest that a superseded revision had while it was deployed; empty for other
	// revisions.
	Digest         string
	DeployedDigest string
	FirstDeployed  time.Time
	LastDeployed   time.Time
	Deleted        time.Time
	// Modified is the time of the last write of the record; zero if storage has none.
	Modified time.Time
	// Ended is the end of the action that made the revision; zero if the record does not have it.
	Ended time.Time
	// Owner is the UID of the HelmRelease that created this revision; empty for other clients, and if
	// nothing proves it; see Believe. Helm copies labels to the next revision, so the revision label
	// counts only if it has this revision's own number.
	Owner string
	// Claimed is true if nothing proves that the HelmRelease created the revision, as its label says. It
	// counts for one decision only: the revision is unlocked at once.
	Claimed bool
	// Interrupted is true for a failed revision whose action was interrupted by a shutdown, a crash
	// or an outage. It is not a failure of the release.
	Interrupted bool
	// Outdated is true for a failed revision whose wait was cancelled because its inputs were
	// outdated. It is not a failure of the release.
	Outdated bool
	// Rollback is true if a rollback created the revision. RolledBackTo is the revision that a hold
	// rolled back to; 0 if the rollback was a remediation.
	Rollback     bool
	RolledBackTo int
	// Undeployed is true if the revision has failed, and Helm has replaced its status by
	// uninstalling or superseded.
	Undeployed bool
	// Applied is true if all objects of the revision were applied before the wait for them started.
	Applied bool
	// Attempt describes the action that works on the revision or has created it; nil if the record
	// has none, or has no valid seal.
	Attempt *Attempt
	// Plan is the digest of the plan that the revision was made of; empty if there was none, or
	// another action has worked on the revision since.
	Plan string
	// Skipped is the hook that the upgrade has left out; nil if there is none.
	Skipped *Skip
	// InstallHooksLeft is true if the revision has pre-install or post-install hooks that have not
	// succeeded.
	InstallHooksLeft bool
	// HoldsClaims is true if the manifest has PersistentVolumeClaims, or StatefulSets that create some.
	HoldsClaims bool
	// PostInstall, PostUpgrade and PostRollback are true if the revision has hooks that run after
	// its objects are ready.
	PostInstall  bool
	PostUpgrade  bool
	PostRollback bool
	// Tests maps the names of the revision's test hooks to their last runs; nil if it has none.
	// TestRequest is the token of the request that the last run answers; empty if the run
	// was not requested.
	Tests       map[string]TestRun
	TestRequest string
	// SourceRevision is the revision of the source that the chart came from; empty if unknown.
	SourceRevision string
	// ConfigHash is the label that k3s' helm-controller has set; empty if there is none.
	ConfigHash string
	// HelmControllerDigest is the digest that helm-controller computes over the stored record, with
	// the status of its snapshot if the revision was superseded since; empty if it cannot be computed.
	HelmControllerDigest string
}

// TestRun is the last run of one test. The zero value is a test that never ran.
type TestRun struct {
	Started   time.Time
	Completed time.Time
	Phase     helmv2.TestPhase
}

// Pending reports whether the status states that an operation of Helm is in progress.
func (r *Revision) Pending() bool { return pending(r.Status) }

func pending(s helmv2.ReleaseStatus) bool {
	return s == helmv2.StatusPendingInstall || s == helmv2.StatusPendingUpgrade || s == helmv2.StatusPendingRollback
}

// Worked reports whether the revision is deployed, or was until another one superseded it.
func (r *Revision) Worked() bool {
	return r.Status == helmv2.StatusDeployed || r.Status == helmv2.StatusSuperseded
}

// EndedEarly reports whether the revision failed only because its action was interrupted or
// outdated.
func (r *Revision) EndedEarly() bool { return r.Interrupted || r.Outdated }

// LastWritten returns the latest known time of a write to the revision.
func (r *Revision) LastWritten() time.Time {
	if r.Modified.IsZero() {
		return r.LastDeployed
	}
	return r.Modified
}

// SortNewestFirst sorts revisions in place into the order of Observed.Revisions.
func SortNewestFirst(revisions []Revision) {
	slices.SortFunc(revisions, func(a, b Revision) int { return b.Version - a.Version })
}

// Drift is the result of a comparison of live objects with the newest revision.
type Drift struct {
	// Objects are the objects that differ, in the order of their correction: removed objects first.
	Objects []DriftedObject
	// Ceded are fields that the autoscaler of the object has set through the scale subresource. They
	// are reported and never corrected.
	Ceded []DriftedObject
	// Excluded are the objects that are not compared: their annotations exclude them, or the API
	// server no longer serves their kinds.
	Excluded []Object
	// Errors are the objects that could not be compared, each with its error.
	Errors []ObjectError
	// Repeat is true if requests failed without an answer of the API server, so that the comparison
	// is repeated with back-off. Errors names these objects once they have failed for a while.
	Repeat bool
	// Rendering states why the chart would now render another manifest from the same values. It is
	// empty if the manifest would be the same or this is unknown.
	Rendering string
	// Note is a sentence for users about differences that are not detected. It is empty if all are
	// detected.
	Note string
	// Unwatched are the kinds whose changes trigger nothing, because the controller may not watch
	// them. WatchUnknown is true while that is not known.
	Unwatched    []string
	WatchUnknown bool
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
	// Autoscaler is the name of the HorizontalPodAutoscaler that Fields are left to. It is empty if
	// Fields are not left to one, and if the release may not list them.
	Autoscaler string
}

// DriftedField is one field that differs, and the manager that changed it.
type DriftedField struct {
	// Path is the path in readable form: ".spec.template.spec.containers[name="app"].image".
	Path string
	// Pointer is the JSON pointer to the field in the live object, as in an ignore rule:
	// "/spec/template/spec/containers/0/image". It is empty if the path has a secret.
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

// DriftKind states how a field differs.
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

// Renderings describe the renderings of the chart of one revision. The chart is rendered again only
// if the result may differ.
type Renderings struct {
	// Revision identifies the revision, and Inputs its chart and values.
	Revision, Inputs string
	// Capabilities is a digest of the capabilities of the API server at the last rendering. It is
	// empty if unknown.
	Capabilities string
	// At is the time of the last rendering, or of the first comparison of the revision.
	At     time.Time
	Result RenderResult
	// Failure is the error of the last rendering; nil if it succeeded.
	Failure *ObjectError
	// Fresh is true until a reconciliation has seen the end of the last rendering.
	Fresh bool
	// Again is true if a request came during the rendering that runs.
	Again bool
	// Changes are the times at which the chart rendered differently in a row.
	Changes []time.Time
	// Over is true if another rendering cannot show a change. Unstable is true if the reason is that
	// the chart renders differently each time.
	Over, Unstable bool
}

// RenderResult is the result of rendering the chart of the newest revision again with the same
// values. Charts may read the cluster, so the result can change without a change of the release.
type RenderResult struct {
	// Reads is true if the chart reads the cluster. Otherwise nothing was rendered, and all other
	// fields are zero.
	Reads bool
	// Lookup is true if the chart looks up objects. It must be rendered then to detect a change.
	Lookup bool
	// Changed is true if the manifest differs from the manifest of the revision. Hooks and notes
	// are not compared.
	Changed bool
	// Unstable is true if the manifest differs in each rendering, as with random passwords or the
	// time. Whether the cluster is the cause cannot be determined, and Changed is false.
	Unstable bool
	// Capabilities is the digest of the API server's capabilities, if the chart was rendered.
	// Without Lookup, an equal digest implies an equal manifest.
	Capabilities string
}
