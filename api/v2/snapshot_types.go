// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Snapshots are the revisions a HelmRelease is answerable for, newest first.
type Snapshots []*Snapshot

// Snapshot is what is remembered of one revision of a Helm release, enough to tell whether somebody else changed it.
type Snapshot struct {
	// How the digest below was computed. A digest of a version the controller does not know is not compared.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// Digest, as algorithm:hex, of what Helm stored for the revision.
	// +required
	Digest string `json:"digest"`

	// The action that made the revision or changed it last: install, upgrade, rollback, uninstall or
	// uninstall-remediation. Empty in entries of old versions.
	// +optional
	Action ReleaseAction `json:"action,omitempty"`

	// Name of the Helm release.
	// +required
	Name string `json:"name"`

	// Namespace of the Helm release.
	// +required
	Namespace string `json:"namespace"`

	// Number of the revision, counted by Helm from 1.
	// +required
	Version int `json:"version"`

	// Helm's word for the state of the revision, such as deployed, superseded, failed or uninstalled.
	// +required
	Status ReleaseStatus `json:"status"`

	// Name of the chart.
	// +required
	ChartName string `json:"chartName"`

	// Version of the chart, as it was installed.
	// +required
	ChartVersion string `json:"chartVersion"`

	// The application version that the chart states. Empty if it states none.
	// +optional
	AppVersion string `json:"appVersion,omitempty"`

	// Digest, as algorithm:hex, of the values.
	// +required
	ConfigDigest string `json:"configDigest"`

	// When the release was first deployed.
	// +required
	FirstDeployed metav1.Time `json:"firstDeployed"`

	// When this revision was deployed.
	// +required
	LastDeployed metav1.Time `json:"lastDeployed"`

	// When the release was uninstalled. Absent or null means that it was not.
	// +optional
	Deleted metav1.Time `json:"deleted,omitzero"`

	// The chart's tests, by name. Absent means never tested; present and empty means tested, with nothing to run.
	// +optional
	TestHooks *map[string]*TestHookStatus `json:"testHooks,omitempty"`

	// Digest of the OCI artifact that the chart came in. Empty for other sources.
	// +optional
	OCIDigest string `json:"ociDigest,omitempty"`
}

// FullReleaseName names the revision in messages, as namespace/name.vversion.
func (in *Snapshot) FullReleaseName() string {
	return fmt.Sprintf("%s/%s.v%d", in.Namespace, in.Name, in.Version)
}

// VersionedChartName names the chart in messages, as name@version.
func (in *Snapshot) VersionedChartName() string {
	return in.ChartName + "@" + in.ChartVersion
}

// GetTestHooks returns the tests by name, and whether the revision has been tested at all: with no tests to run, there
// are none but tested is true.
func (in *Snapshot) GetTestHooks() (hooks map[string]*TestHookStatus, tested bool) {
	if in == nil || in.TestHooks == nil {
		return nil, false
	}
	return *in.TestHooks, true
}

// SetTestHooks records the revision as tested, also if hooks is nil or empty.
func (in *Snapshot) SetTestHooks(hooks map[string]*TestHookStatus) {
	if hooks == nil {
		// A nil map would be written as null, and read back as never tested.
		hooks = map[string]*TestHookStatus{}
	}
	in.TestHooks = &hooks
}

// TestHookStatus is the last run of one test.
type TestHookStatus struct {
	// When the run began. Absent or null means that it has not.
	// +optional
	LastStarted metav1.Time `json:"lastStarted,omitzero"`

	// When the run ended. Absent or null means that it has not.
	// +optional
	LastCompleted metav1.Time `json:"lastCompleted,omitzero"`

	// Helm's word for the result: Unknown, Running, Succeeded or Failed. Empty means not run.
	// +optional
	Phase TestPhase `json:"phase,omitempty"`
}

// ReleaseStatus is Helm's word for the state of a revision.
type ReleaseStatus string

const (
	// StatusUnknown says that Helm does not know.
	StatusUnknown ReleaseStatus = "unknown"

	// StatusDeployed says that the revision is the one in the cluster.
	StatusDeployed ReleaseStatus = "deployed"

	// StatusSuperseded says that the revision worked and a newer one took its place.
	StatusSuperseded ReleaseStatus = "superseded"

	// StatusFailed says that the action that made the revision failed.
	StatusFailed ReleaseStatus = "failed"

	// StatusUninstalled says that the release was uninstalled and its history kept.
	StatusUninstalled ReleaseStatus = "uninstalled"

	// StatusUninstalling says that an uninstall was begun.
	StatusUninstalling ReleaseStatus = "uninstalling"

	// StatusPendingInstall says that an install was begun.
	StatusPendingInstall ReleaseStatus = "pending-install"

	// StatusPendingUpgrade says that an upgrade was begun.
	StatusPendingUpgrade ReleaseStatus = "pending-upgrade"

	// StatusPendingRollback says that a rollback was begun.
	StatusPendingRollback ReleaseStatus = "pending-rollback"
)

// TestPhase is Helm's word for the result of a test.
type TestPhase string

const (
	// TestPhaseUnknown says that the result could not be learned.
	TestPhaseUnknown TestPhase = "Unknown"

	// TestPhaseRunning says that the test was begun.
	TestPhaseRunning TestPhase = "Running"

	// TestPhaseSucceeded says that the test passed.
	TestPhaseSucceeded TestPhase = "Succeeded"

	// TestPhaseFailed says that the test did not pass. Tests after it are not run.
	TestPhaseFailed TestPhase = "Failed"
)

// SnapshotAPIVersionV2 marks a digest over a release as Helm 4 sees it, as Flux's helm-controller writes it since its
// move to Helm 4. Entries without a mark are older, and their digests are not compared.
const SnapshotAPIVersionV2 = "v2"

// ResourceInventory lists the objects of a revision.
type ResourceInventory struct {
	// The objects: those of the manifest without its hooks, and those of the chart's crds directory.
	// +required
	Entries []ResourceRef `json:"entries"`
}

// ResourceRef names one object.
type ResourceRef struct {
	// Namespace, name, group and kind, joined by underscores. The namespace of a cluster-wide object is empty.
	// +required
	ID string `json:"id"`

	// Version within the API group.
	// +required
	Version string `json:"v"`
}
