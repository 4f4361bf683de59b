// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

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

// Want holds the resolved inputs of a HelmRelease. Decisions use Desired; actions need the rest
// too.
type Want struct {
	release.Desired
	// Artifact is the packaged chart; zero if the HelmRelease is deleted or suspended.
	Artifact chart.Artifact
	// Values belong to the caller, since Helm changes the values that it is given. They are never
	// nil if Artifact is set.
	Values map[string]any
	// Secrets lists the texts in Values that come from Secrets. Messages about the release have
	// to be redacted from them.
	Secrets []string
}

// Resolver resolves HelmReleases. It is safe for concurrent use.
type Resolver struct {
	reader   client.Reader
	live     client.Reader
	charts   *chart.Store
	objects  Objects
	settings Settings
}

// NewResolver returns a resolver with the default Settings. It reads sources and dependencies
// through reader, which is usually a cache. It reads ConfigMaps and Secrets through live, and
// dependencies that reader does not hold. live should not be a cache: a cache keeps the data of
// Secrets in memory, and may return outdated data.
func NewResolver(reader, live client.Reader, charts *chart.Store) *Resolver {
	r := &Resolver{reader: reader, live: live, charts: charts}
	return r.WithSettings(Settings{})
}

// Resolve returns the inputs of hr, or a *release.Blocked. The fields of Desired that follow from
// the spec alone are set in both cases. Resolve does not change hr.
func (r *Resolver) Resolve(ctx context.Context, hr *helmv2.HelmRelease) (Want, error) {
	want := Want{Desired: basics(hr, r.settings.Defaults)}
	if want.Deleted || want.Suspended {
		return want, nil
	}
	if hr.HasChartRef() == hr.HasChartTemplate() {
		// The CRD validates this, but an older CRD may be installed.
		return want, unsupported("exactly one of spec.chart and spec.chartRef must be set")
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
	// Values precede the chart: without them a download of the chart would be wasted.
	if err := r.values(ctx, hr, &want); err != nil {
		return want, err
	}
	if want.Chart, want.Artifact, err = r.identify(ctx, hr, src); err != nil {
		return want, err
	}
	return want, nil
}

// FetchChart returns want, a result of Resolve for hr, with the bytes of its chart, so that an
// action does not have to wait for a download. While the download runs, it returns a
// *release.Blocked. Only a release that is about to be acted on needs its chart.
func (r *Resolver) FetchChart(ctx context.Context, hr *helmv2.HelmRelease, want Want) (Want, error) {
	artifact, err := r.charts.Fetch(ctx, want.Artifact, waiterKey(hr))
	if err != nil {
		return want, downloadBlocked(err)
	}
	want.Artifact = artifact
	return want, nil
}

// basics returns the fields of Desired that follow from the HelmRelease alone.
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
