// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package inputs finds out what a HelmRelease asks for: which chart, which
// values, under which name. It only reads, and what stands in the way it returns
// as a release.Blocked with the reason and the moment to look again.
//
// It does not look at what is installed, and it decides nothing.
package inputs

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cel"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/release"
)

// Want is what a HelmRelease asks for: the part decisions see, and the part only
// an action needs.
type Want struct {
	release.Desired
	// Artifact holds the chart; zero if the release is not to be installed.
	Artifact chart.Artifact
	// Values are the caller's own, to be given to Helm, which changes them.
	Values map[string]any
	// Secrets are the texts in Values that came from Secrets, to be taken out of
	// whatever is said about them.
	Secrets []string
}

// Resolver resolves HelmReleases. It may be used concurrently.
type Resolver struct {
	reader   client.Reader
	live     client.Reader
	charts   *chart.Store
	objects  Objects
	settings Settings
}

// NewResolver returns a resolver that reads sources through reader, a cache
// usually, and ConfigMaps and Secrets through live, which should not be one: a
// cache would keep the data of Secrets in memory, and could be behind. What the
// cache does not hold of dependencies is read through live too.
func NewResolver(reader, live client.Reader, charts *chart.Store) *Resolver {
	r := &Resolver{reader: reader, live: live, charts: charts}
	return r.WithSettings(Settings{})
}

// Resolve returns what hr asks for, or a *release.Blocked. It does not change
// hr.
func (r *Resolver) Resolve(ctx context.Context, hr *helmv2.HelmRelease) (Want, error) {
	want := Want{Desired: basics(hr, r.settings.Defaults)}
	if want.Deleted || want.Suspended {
		return want, nil
	}
	if hr.HasChartRef() == hr.HasChartTemplate() {
		// Our CRD sees to it, but an older one may be installed.
		return want, refusal("exactly one of spec.chart and spec.chartRef must be set")
	}
	if _, err := cel.CompileReadinessChecks(hr.Spec.HealthCheckExprs); err != nil {
		return want, &release.Blocked{
			Reason: helmv2.ReasonInvalidCELExpression, Terminal: true, Retry: release.Never(), Err: err,
			Message: "Reconciliation failed terminally due to configuration error: " + err.Error(),
		}
	}
	if err := r.checkAccess(hr); err != nil {
		return want, err
	}
	if err := r.dependencies(ctx, hr); err != nil {
		return want, err
	}
	src, err := r.source(ctx, hr)
	if err != nil {
		return want, err
	}
	want.Artifact = src.artifact
	// Before the chart: it may have to be downloaded, in vain if they are missing.
	if err := r.values(ctx, hr, &want); err != nil {
		return want, err
	}
	if want.Chart, want.Artifact, err = r.identify(ctx, hr, src); err != nil {
		return want, err
	}
	return want, nil
}

// Hold returns what Resolve returned for hr with its chart at hand, so that an
// action does not have to wait for a download, or a *release.Blocked. What is not
// going to be acted on needs no chart.
func (r *Resolver) FetchChart(ctx context.Context, hr *helmv2.HelmRelease, want Want) (Want, error) {
	artifact, err := r.charts.Fetch(ctx, want.Artifact, waiter(hr))
	if err != nil {
		return want, undownloaded(err)
	}
	want.Artifact = artifact
	return want, nil
}

// basics is what the spec alone tells.
func basics(hr *helmv2.HelmRelease, defaults helmv2.Defaults) release.Desired {
	spec := &hr.Spec
	return release.Desired{
		UID:        string(hr.UID),
		Created:    hr.CreationTimestamp.Time,
		Generation: hr.Generation,
		Target: release.Target{
			Name:             ReleaseName(hr),
			Namespace:        hr.GetReleaseNamespace(),
			StorageNamespace: hr.GetStorageNamespace(),
		},
		Rendering: rendering(spec),
		Deleted:   !hr.DeletionTimestamp.IsZero(),
		DeletedAt: ptr.Deref(hr.DeletionTimestamp, metav1.Time{}).Time,
		Deletion:  release.DeletionOf(hr.Annotations),
		Suspended: spec.Suspend,
		Requests:  release.RequestsOf(hr.Annotations),
		Policy: release.Policy{
			Interval:           spec.Interval.Duration,
			Install:            installPolicy(hr, defaults),
			Upgrade:            upgradePolicy(hr, defaults),
			TestTimeout:        spec.Test.GetTimeout(hr.GetTimeout()),
			RollbackTimeout:    spec.Rollback.GetTimeout(hr.GetTimeout()),
			UninstallTimeout:   spec.Uninstall.GetTimeout(hr.GetTimeout()),
			Tests:              spec.Test.IsEnabled(),
			IgnoreTestFailures: spec.Test.MustIgnoreFailures(),
			TestFilters:        testFilters(hr.GetTest()),
			Reinstall:          spec.Upgrade.GetChartNameChangeStrategy() == helmv2.ChartNameChangeReinstall,
			PreserveValues:     hr.GetUpgrade().PreserveValues,
			Drift:              hr.GetDriftMode(),
			DriftTimeout:       hr.GetTimeout(),
		},
	}
}
