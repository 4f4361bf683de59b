// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// shortest is the least duration of an install or upgrade that Helm has begun.
const minDuration = time.Millisecond

// AttemptDuration returns the duration that status records of an install or upgrade. It is zero for
// one that was rejected: Helm has stored no revision of it. No other attempt takes no time, so a
// process that starts can see that the last attempt was rejected.
func AttemptDuration(took time.Duration, rejected bool) *metav1.Duration {
	if rejected {
		return &metav1.Duration{}
	}
	return &metav1.Duration{Duration: max(took, minDuration)}
}

// Rejected reports whether the last install or upgrade failed before Helm stored a revision. The
// newest revision, if there is one, is not what failed.
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

// Spent reports whether the failures of an install or upgrade are more than its retries. With
// RetryOnFailure they never are.
func (p Policy) RetriesExhausted(recorded helmv2.HelmReleaseStatus, action helmv2.ReleaseAction) bool {
	of := p.Upgrade
	if action == helmv2.ActionInstall {
		of = p.Install
	}
	return !of.Retry && of.Exhausted(Failures(recorded, action))
}
