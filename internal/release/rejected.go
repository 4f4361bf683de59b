// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// minDuration is the shortest recorded duration of an install or upgrade that Helm has started.
const minDuration = time.Millisecond

// AttemptDuration returns the duration of an install or upgrade for status. It is zero for a
// rejected attempt, of which Helm has stored no revision. All other attempts have at least a
// millisecond, so a new process can detect that the last attempt was rejected.
func AttemptDuration(took time.Duration, rejected bool) *metav1.Duration {
	if rejected {
		return &metav1.Duration{}
	}
	return &metav1.Duration{Duration: max(took, minDuration)}
}

// Rejected reports whether the last install or upgrade failed before Helm stored a revision. The
// newest stored revision belongs to an earlier attempt then.
func Rejected(recorded helmv2.HelmReleaseStatus) bool {
	took := recorded.LastAttemptedReleaseActionDuration
	return recorded.Failures > 0 && took != nil && took.Duration == 0
}

// Failures returns the failures that count against the retries of an install or upgrade.
func Failures(recorded helmv2.HelmReleaseStatus, action helmv2.ReleaseAction) int64 {
	if action == helmv2.ActionInstall {
		return recorded.InstallFailures
	}
	return recorded.UpgradeFailures
}

// RetriesExhausted reports whether the failures of an install or upgrade exceed its retries. It is
// always false with RetryOnFailure.
func (p Policy) RetriesExhausted(recorded helmv2.HelmReleaseStatus, action helmv2.ReleaseAction) bool {
	of := p.Upgrade
	if action == helmv2.ActionInstall {
		of = p.Install
	}
	return !of.Retry && of.Exhausted(Failures(recorded, action))
}
