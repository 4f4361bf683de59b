// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/opencontainers/go-digest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// basics returns the fields of Desired that follow from the HelmRelease and its suspension alone.
func basics(hr *helmv2.HelmRelease, suspension release.Suspension, defaults helmv2.Defaults) release.Desired {
	spec := &hr.Spec
	return release.Desired{
		UID:        string(hr.UID),
		Namespace:  hr.Namespace,
		Created:    hr.CreationTimestamp.Time,
		Generation: hr.Generation,
		Target: release.Target{
			Name:             ReleaseName(hr),
			Namespace:        hr.GetReleaseNamespace(),
			StorageNamespace: hr.GetStorageNamespace(),
		},
		Rendering:  rendering(spec),
		Deleted:    !hr.DeletionTimestamp.IsZero(),
		DeletedAt:  ptr.Deref(hr.DeletionTimestamp, metav1.Time{}).Time,
		Deletion:   release.DeletionOf(hr.Annotations),
		Suspension: suspension,
		Requests:   release.RequestsOf(hr.Annotations),
		Policy: release.Policy{
			Interval:           spec.Interval.Duration,
			Install:            installPolicy(hr, defaults),
			Upgrade:            upgradePolicy(hr, defaults),
			TestTimeout:        spec.Test.GetTimeout(hr.GetTimeout()),
			RollbackTimeout:    spec.Rollback.GetTimeout(hr.GetTimeout()),
			UninstallTimeout:   spec.Uninstall.GetTimeout(hr.GetTimeout()),
			Tests:              spec.Test.IsEnabled(),
			IgnoreTestFailures: spec.Test.MustIgnoreFailures(),
			TestFilters:        testFilters(hr.Spec.GetTest()),
			Reinstall:          spec.Upgrade.GetChartNameChangeStrategy() == helmv2.ChartNameChangeReinstall,
			PreserveValues:     hr.Spec.GetUpgrade().PreserveValues,
			KeepClaims:         hr.Annotations[helmv2.AnnotationKeepClaims] == "true",
			Drift:              hr.GetDriftMode(),
			DriftTimeout:       hr.GetTimeout(),
		},
	}
}

// Helm accepts release names of at most 53 characters. As in helm-controller, a longer name is
// replaced by its first 40 characters and the start of its digest.
const (
	maxReleaseName  = 53
	shortenedPrefix = 40
	shortenedDigest = 12
)

// ReleaseName returns the name of the release of hr in Helm's storage.
func ReleaseName(hr *helmv2.HelmRelease) string {
	name := hr.GetReleaseName()
	if len(name) <= maxReleaseName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:shortenedPrefix] + "-" + hex.EncodeToString(sum[:])[:shortenedDigest]
}

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
		NoHooks:       hr.Spec.GetInstall().DisableHooks,
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
		NoHooks:       hr.Spec.GetUpgrade().DisableHooks,
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

// rendering returns the digests of the fields that change rendered manifests, empty for fields that
// are not set.
func rendering(spec *helmv2.HelmReleaseSpec) release.Rendering {
	var r release.Rendering
	if spec.PostRenderers != nil {
		r.PostRenderers = digestJSON(spec.PostRenderers)
	}
	if spec.CommonMetadata != nil {
		r.CommonMetadata = digestJSON(spec.CommonMetadata)
	}
	return r
}

// digestJSON returns "sha256:<hex>" of v as json.Encoder writes it, with a newline at the end.
// helm-controller computes the same digest, so that a release changes between the controllers
// without an upgrade. The digest depends on the order of the fields in the types of the API.
func digestJSON(v any) string {
	digester := digest.SHA256.Digester()
	if err := json.NewEncoder(digester.Hash()).Encode(v); err != nil {
		// Strings and maps of strings can always be encoded.
		return ""
	}
	return digester.Digest().String()
}
