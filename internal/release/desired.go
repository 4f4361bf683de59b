// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Desired is what one HelmRelease asks for, by identity: names and digests, no
// chart content and no values. The zero value of everything but UID, Target and
// Deleted is what a HelmRelease being deleted desires: nothing.
type Desired struct {
	// UID of the HelmRelease; the first half of the own-revision stamp.
	UID string
	// Created is when the HelmRelease was; between two that want the same, the
	// older one wins.
	Created time.Time
	// Generation of the spec everything below was read from.
	Generation int64
	// Target names the release and its storage.
	Target Target
	// Chart is the identity of the chart to run.
	Chart Chart
	// ConfigDigest is "<algorithm>:<hex>" of the composed values.
	ConfigDigest string
	// Rendering is what is changed in the rendered manifests.
	Rendering Rendering
	// Deleted is true from the moment the object carries a deletion timestamp.
	Deleted bool
	// DeletedAt is since when; zero if it does not. Deletion says how the release goes.
	DeletedAt time.Time
	Deletion  Deletion
	// Suspended is true if the release is to be left alone.
	Suspended bool
	// Suspension says why, and until when.
	Suspension Suspension
	// Requests are what the user asks for by annotation.
	Requests Requests
	// Policy holds the settings decisions depend on.
	Policy Policy
}

// Target says which Helm release is meant.
type Target struct {
	// Name of the Helm release, already shortened to Helm's limit.
	Name string
	// Namespace the chart is installed into.
	Namespace string
	// StorageNamespace holds the Secrets Helm records revisions in.
	StorageNamespace string
}

// Chart identifies one chart in one version.
type Chart struct {
	Name string
	// Version is the effective version, after the digest of an OCI artifact has
	// become its build metadata.
	Version    string
	AppVersion string
	// OCIDigest is the digest of the OCI artifact; empty for other sources.
	OCIDigest string
}

// Policy is the part of a spec that decisions read.
type Policy struct {
	// Interval after which a settled release is looked at again.
	Interval time.Duration
	// Install and Upgrade say how each of them goes on after a failure. The larger
	// of their timeouts is also the age after which somebody else's pending
	// revision counts as abandoned.
	Install ActionPolicy
	Upgrade ActionPolicy
	// TestTimeout, RollbackTimeout and UninstallTimeout bound one action.
	TestTimeout      time.Duration
	RollbackTimeout  time.Duration
	UninstallTimeout time.Duration
	// Tests is true if a new revision is to be tested.
	Tests bool
	// IgnoreTestFailures is true if a failed test leaves the release ready.
	IgnoreTestFailures bool
	// TestFilters choose among the tests; empty chooses all.
	TestFilters []TestFilter
	// Reinstall is true if a chart of another name is installed anew, false if it
	// is an upgrade like any other.
	Reinstall bool
	// PreserveValues is true if an upgrade keeps the values of the revision before,
	// except for those that are given.
	PreserveValues bool
	// Drift says what to do about live objects that differ from the release, and
	// DriftTimeout bounds their correction.
	Drift        helmv2.DriftDetectionMode
	DriftTimeout time.Duration
}

// ActionPolicy says how to go on after a failed install or upgrade.
type ActionPolicy struct {
	Timeout time.Duration
	// Retry is true if a failure is only ever tried again, every RetryInterval and
	// for ever, and never remediated.
	Retry         bool
	RetryInterval time.Duration
	// Retries is how many failures are remediated and tried again; negative means
	// any number.
	Retries int
	// RemediateLast is true if the failure that spends the budget is remediated too.
	RemediateLast bool
	// IgnoreTests is true if a failed test needs no remediation.
	IgnoreTests bool
	// NoHooks is true if hooks are not run.
	NoHooks bool
	// Uninstall is true if the remedy is to uninstall, false if to roll back.
	Uninstall bool
}

// Exhausted reports whether so many failures are more than the budget.
func (p ActionPolicy) Exhausted(failures int64) bool {
	return p.Retries >= 0 && failures > int64(p.Retries)
}

// TestFilter names a test to run or, with Exclude, not to run.
type TestFilter struct {
	Name    string
	Exclude bool
}

// Rendering identifies what is changed in rendered manifests. The digests are
// empty where nothing is.
type Rendering struct {
	PostRenderers  string
	CommonMetadata string
}
