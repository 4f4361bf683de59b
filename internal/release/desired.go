// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"time"
)

// Desired is what one HelmRelease asks for, by identity: names and digests, no
// chart content and no values. The zero value of everything but UID, Target and
// Deleted is what a HelmRelease being deleted desires: nothing.
type Desired struct {
	// UID of the HelmRelease; the first half of the own-revision stamp.
	UID string
	// Generation of the spec everything below was read from.
	Generation int64
	// Target names the release and its storage.
	Target Target
	// Chart is the identity of the chart to run.
	Chart Chart
	// ConfigDigest is "<algorithm>:<hex>" of the composed values.
	ConfigDigest string
	// Deleted is true from the moment the object carries a deletion timestamp.
	Deleted bool
	// Suspended is spec.suspend.
	Suspended bool
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
	// InstallTimeout, UpgradeTimeout and UninstallTimeout bound one action; the
	// larger of the first two is also the age after which somebody else's
	// pending revision counts as abandoned.
	InstallTimeout   time.Duration
	UpgradeTimeout   time.Duration
	UninstallTimeout time.Duration
	// InstallRetries and UpgradeRetries are how many failures are forgiven;
	// negative means any number.
	InstallRetries int
	UpgradeRetries int
}
