// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// installPolicy returns the policy of installs, with defaults applied.
func installPolicy(hr *helmv2.HelmRelease, defaults helmv2.Defaults) release.ActionPolicy {
	i, r := hr.Spec.Install, hr.Spec.Install.GetRemediation()
	return release.ActionPolicy{
		Timeout:       i.GetTimeout(hr.GetTimeout()),
		Retry:         i.GetStrategy(defaults) == helmv2.ActionStrategyRetryOnFailure,
		RetryInterval: i.GetRetryInterval(),
		Retries:       r.GetRetries(),
		RemediateLast: r.MustRemediateLastFailure(),
		IgnoreTests:   r.MustIgnoreTestFailures(hr.Spec.Test.MustIgnoreFailures()),
		NoHooks:       hr.GetInstall().DisableHooks,
		Uninstall:     r.GetStrategy() == helmv2.RemediationUninstall,
	}
}

// upgradePolicy returns the policy of upgrades, with defaults applied.
func upgradePolicy(hr *helmv2.HelmRelease, defaults helmv2.Defaults) release.ActionPolicy {
	u, r := hr.Spec.Upgrade, hr.Spec.Upgrade.GetRemediation()
	return release.ActionPolicy{
		Timeout:       u.GetTimeout(hr.GetTimeout()),
		Retry:         u.GetStrategy(defaults) == helmv2.ActionStrategyRetryOnFailure,
		RetryInterval: u.GetRetryInterval(),
		Retries:       r.GetRetries(),
		RemediateLast: r.MustRemediateLastFailure(),
		IgnoreTests:   r.MustIgnoreTestFailures(hr.Spec.Test.MustIgnoreFailures()),
		NoHooks:       hr.GetUpgrade().DisableHooks,
		Uninstall:     r.GetStrategy() == helmv2.RemediationUninstall,
	}
}

func testFilters(t *helmv2.Test) []release.TestFilter {
	var filters []release.TestFilter
	for _, f := range t.Filters {
		filters = append(filters, release.TestFilter{Name: f.Name, Exclude: f.Exclude})
	}
	return filters
}
