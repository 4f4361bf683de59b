// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package v2

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Snapshots are the revisions that a HelmRelease owns, newest first.
type Snapshots []*Snapshot

// Snapshot describes one revision of a Helm release, with a digest to detect changes by other
// clients.
type Snapshot struct {
	// Version of the digest's algorithm. Digests of unknown versions are not compared.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`

	// Digest, as algorithm:hex, of the stored record of the revision.
	// +required
	Digest string `json:"digest"`

	// The action that created or last changed the revision: install, upgrade, rollback, uninstall
	// or uninstall-remediation. Empty in entries of old versions.
	// +optional
	Action ReleaseAction `json:"action,omitempty"`

	// Name of the Helm release.
	// +required
	Name string `json:"name"`

	// Namespace of the Helm release.
	// +required
	Namespace string `json:"namespace"`

	// Number of the revision, starting at 1.
	// +required
	Version int `json:"version"`

	// Helm's status of the revision, such as deployed, superseded, failed or uninstalled.
	// +required
	Status ReleaseStatus `json:"status"`

	// Name of the chart.
	// +required
	ChartName string `json:"chartName"`

	// Version of the chart, as it was installed.
	// +required
	ChartVersion string `json:"chartVersion"`

	// Application version of the chart. Empty if the chart has none.
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

	// The chart's tests by name. Absent means never tested. Empty means tested without any tests.
	// +optional
	TestHooks *map[string]*TestHookStatus `json:"testHooks,omitempty"`

	// Digest of the chart's OCI artifact. Empty for other sources.
	// +optional
	OCIDigest string `json:"ociDigest,omitempty"`
}

// FullReleaseName returns the name of the revision in messages, as namespace/name.vversion.
func (in *Snapshot) FullReleaseName() string {
	return fmt.Sprintf("%s/%s.v%d", in.Namespace, in.Name, in.Version)
}

// VersionedChartName returns the name of the chart in messages, as name@version.
func (in *Snapshot) VersionedChartName() string {
	return in.ChartName + "@" + in.ChartVersion
}

// GetTestHooks returns the tests by name, and whether the revision has been tested at all. Without
// any tests, hooks is empty and tested is true.
func (in *Snapshot) GetTestHooks() (hooks map[string]*TestHookStatus, tested bool) {
	if in == nil || in.TestHooks == nil {
		return nil, false
	}
	return *in.TestHooks, true
}

// SetTestHooks marks the revision as tested, even if hooks is nil or empty.
func (in *Snapshot) SetTestHooks(hooks map[string]*TestHookStatus) {
	if hooks == nil {
		// A nil map would be written as null, and read back as never tested.
		hooks = map[string]*TestHookStatus{}
	}
	in.TestHooks = &hooks
}

// TestHookStatus is the last run of one test.
type TestHookStatus struct {
	// When the run started. Absent or null means that it has not.
	// +optional
	LastStarted metav1.Time `json:"lastStarted,omitzero"`

	// When the run ended. Absent or null means that it has not.
	// +optional
	LastCompleted metav1.Time `json:"lastCompleted,omitzero"`

	// Helm's result: Unknown, Running, Succeeded or Failed. Empty means not run.
	// +optional
	Phase TestPhase `json:"phase,omitempty"`
}

// ReleaseStatus is Helm's status of a revision.
type ReleaseStatus string

const (
	// StatusUnknown means that the status is unknown.
	StatusUnknown ReleaseStatus = "unknown"

	// StatusDeployed means that the revision is deployed.
	StatusDeployed ReleaseStatus = "deployed"

	// StatusSuperseded means that the revision succeeded and a newer one replaced it.
	StatusSuperseded ReleaseStatus = "superseded"

	// StatusFailed means that the action that created the revision failed.
	StatusFailed ReleaseStatus = "failed"

	// StatusUninstalled means that the release was uninstalled and its history kept.
	StatusUninstalled ReleaseStatus = "uninstalled"

	// StatusUninstalling means that an uninstall was started.
	StatusUninstalling ReleaseStatus = "uninstalling"

	// StatusPendingInstall means that an install was started.
	StatusPendingInstall ReleaseStatus = "pending-install"

	// StatusPendingUpgrade means that an upgrade was started.
	StatusPendingUpgrade ReleaseStatus = "pending-upgrade"

	// StatusPendingRollback means that a rollback was started.
	StatusPendingRollback ReleaseStatus = "pending-rollback"
)

// TestPhase is Helm's result of a test.
type TestPhase string

const (
	// TestPhaseUnknown means that the result is unknown.
	TestPhaseUnknown TestPhase = "Unknown"

	// TestPhaseRunning means that the test was started.
	TestPhaseRunning TestPhase = "Running"

	// TestPhaseSucceeded means that the test passed.
	TestPhaseSucceeded TestPhase = "Succeeded"

	// TestPhaseFailed means that the test failed. Later tests are not run.
	TestPhaseFailed TestPhase = "Failed"
)

// SnapshotAPIVersionV2 is the version of digests over Helm 4's form of a release, which
// helm-controller uses since it uses Helm 4. Entries without a version are older, and their digests
// are not compared.
const SnapshotAPIVersionV2 = "v2"

// ResourceInventory lists the objects of a revision.
type ResourceInventory struct {
	// The objects: all of the manifest without its hooks, and all of the chart's crds directory.
	// +required
	Entries []ResourceRef `json:"entries"`
}

// ResourceRef references one object.
type ResourceRef struct {
	// Namespace, name, group and kind, joined by underscores. The namespace of a cluster-scoped
	// object is empty.
	// +required
	ID string `json:"id"`

	// Version within the API group.
	// +required
	Version string `json:"v"`
}
