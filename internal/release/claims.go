// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import helmv2 "github.com/pintle-dev/pintle/api/v2"

// KeepingClaims returns the policy of a release with the given revisions, newest first. If KeepClaims
// is set and the release holds claims, no failure leads to an uninstall and no retry follows: a failed
// upgrade is rolled back, and a failed install stays.
func (p Policy) KeepingClaims(revisions []Revision) Policy {
	if !p.KeepClaims || !holdClaims(revisions) {
		return p
	}
	for _, a := range []*ActionPolicy{&p.Install, &p.Upgrade} {
		if a.Uninstall {
			a.Uninstall, a.Retries, a.RemediateLast, a.ClaimsKept = false, 0, a == &p.Upgrade, true
		}
	}
	return p
}

// holdClaims reports whether the deployed revision or a newer one holds claims. Helm has deleted the
// claims that only older revisions hold. A remediation that rolled back in place of an uninstall shows
// that the failed revision held some, so that the upgrade is not repeated.
func holdClaims(revisions []Revision) bool {
	for i := range revisions {
		switch r := &revisions[i]; {
		case r.HoldsClaims, r.Rollback && r.RolledBackTo == 0:
			return true
		case r.Status == helmv2.StatusDeployed:
			return false
		}
	}
	return false
}
