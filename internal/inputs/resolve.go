// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cel"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/release"
)

// Resolve returns the inputs of hr, or a *release.Blocked. The fields of Desired that follow from
// the spec alone are set in both cases. Resolve does not change hr. A suspended HelmRelease needs
// no source, unless a plan is requested.
func (r *Resolver) Resolve(ctx context.Context, hr *helmv2.HelmRelease, suspension release.Suspension) (Want, error) {
	want := r.Basics(hr, suspension)
	if want.Deleted || want.Suspension.Active && !want.Requests.PlanRequested() {
		return want, nil
	}
	if err := r.checkSpec(hr); err != nil {
		return want, err
	}
	if err := (dependencies{r}).check(ctx, hr); err != nil {
		return want, err
	}
	return r.contents(ctx, hr, want)
}

// Contents is Resolve without the checks that only delay an action: dependencies and suspensions.
// With a digest, given names the archive of the chart, and no source is read.
func (r *Resolver) Contents(ctx context.Context, hr *helmv2.HelmRelease, given chart.Artifact) (Want, error) {
	want := r.Basics(hr, release.Suspension{})
	if err := r.checkSpec(hr); err != nil {
		return want, err
	}
	if given.Digest == "" {
		return r.contents(ctx, hr, want)
	}
	if err := r.values(ctx, hr, &want); err != nil {
		return want, err
	}
	var err error
	want.Chart, want.Artifact, err = r.identify(ctx, hr, source{artifact: given})
	return want, err
}

// checkSpec returns a *release.Blocked for a spec that this version or the settings reject.
func (r *Resolver) checkSpec(hr *helmv2.HelmRelease) error {
	if hr.HasChartRef() == hr.HasChartTemplate() {
		// The CRD validates this, but an older CRD may be installed.
		return unsupported("exactly one of spec.chart and spec.chartRef must be set")
	}
	if err := CheckName(hr); err != nil {
		return err
	}
	if err := CheckTemplate(hr); err != nil {
		return err
	}
	if err := checkLimits(&hr.Spec); err != nil {
		return err
	}
	if _, err := cel.CompileReadinessChecks(hr.Spec.HealthCheckExprs); err != nil {
		return &release.Blocked{
			Reason: helmv2.ReasonInvalidCELExpression, Terminal: true, Retry: release.Never(), Err: err,
			Message: "Reconciliation failed terminally due to configuration error: " + err.Error(),
		}
	}
	return r.checkAccess(hr)
}

// contents adds the source, the values and the chart to want.
func (r *Resolver) contents(ctx context.Context, hr *helmv2.HelmRelease, want Want) (Want, error) {
	// The source is admitted before anything is fetched.
	src, err := r.source(ctx, hr)
	if err != nil {
		return want, err
	}
	want.Artifact, want.Demands.Refusal = src.artifact, src.refusal
	if len(src.origin) <= maxSourceRevision {
		want.SourceRevision = src.origin
	}
	// Values precede the chart: without them a download of the chart would be wasted.
	if err := r.values(ctx, hr, &want); err != nil {
		return want, err
	}
	want.SourceRevision = withFiles(want.SourceRevision, want.Files)
	if want.Chart, want.Artifact, err = r.identify(ctx, hr, src); err != nil {
		return want, err
	}
	return want, nil
}

// Basics returns the inputs that follow from the spec alone.
func (r *Resolver) Basics(hr *helmv2.HelmRelease, suspension release.Suspension) Want {
	want := Want{Desired: basics(hr, suspension, r.settings.Defaults)}
	want.Policy.RefuseDenials = r.settings.RefuseDenials
	return want
}

// FetchChart adds the bytes of the chart to want, a result of Resolve for hr, so that an action
// does not wait for a download. While the download runs, it returns a *release.Blocked. Only a
// release that is about to be acted on needs its chart.
func (r *Resolver) FetchChart(ctx context.Context, hr *helmv2.HelmRelease, want Want) (Want, error) {
	artifact, err := r.charts.Fetch(ctx, want.Artifact, waiterKey(hr))
	if err != nil {
		return want, downloadBlocked(err)
	}
	want.Artifact = artifact
	return want, nil
}
