// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/helmchart"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
)

// SourceOf returns the kind and name of the object that provides the chart of hr.
func SourceOf(hr *helmv2.HelmRelease) (kind string, key types.NamespacedName) {
	if ref := hr.Spec.ChartRef; ref != nil {
		namespace := ref.Namespace
		if namespace == "" {
			namespace = hr.Namespace
		}
		return ref.Kind, types.NamespacedName{Namespace: namespace, Name: ref.Name}
	}
	return hr.Spec.Chart.GetKind(), TemplateKey(hr)
}

// SourceState returns the revision, digest and URL of the artifact of a ready source in one text.
// For a source that is not ready it returns the reason instead, and ready is false. HelmReleases
// that use the source must be reconciled when the state changes.
func SourceState(obj client.Object) (state string, ready bool) {
	src, err := readSource(obj)
	if err != nil {
		return err.Error(), false
	}
	return src.revision + " " + src.artifact.Digest + " " + src.artifact.URL, true
}

// HasRevision reports whether a source is ready with the revision that the status of a HelmRelease
// records as attempted. Status records the digest of the artifact if its revision contains one.
// Otherwise it records the version of the chart, which equals the revision.
func HasRevision(obj client.Object, version, ociDigest string) bool {
	src, err := readSource(obj)
	switch {
	case err != nil:
		return false
	case src.digested:
		// A tag that is not a version is recorded together with its digest.
		return ociDigest != "" && (src.revision == ociDigest || strings.HasSuffix(src.revision, "@"+ociDigest))
	}
	return version != "" && src.revision == version
}

// CheckSource returns a *release.Blocked if a source is not ready.
func CheckSource(obj client.Object) error {
	_, err := readSource(obj)
	return err
}

// source reads the source object of hr and returns its artifact, or a *release.Blocked. It returns
// the error of the admission if that refuses the source for more than changes.
func (r *Resolver) source(ctx context.Context, hr *helmv2.HelmRelease) (source, error) {
	kind, key := SourceOf(hr)
	row, known := SourceKindOf(kind)
	if !known || row.FilesOnly {
		return source{}, unsupported("spec.chartRef.kind %s is not supported by this version", kind)
	}
	obj, reader := row.New(), r.reader
	if r.settings.DirectSources {
		reader = r.live
	}
	if err := reader.Get(ctx, key, obj); err != nil {
		return source{}, sourceUnreadable(kind, key, err)
	}
	if err := r.checkArchive(ctx, hr, obj); err != nil {
		return source{}, err
	}
	var refusal *policy.Refusal
	err := r.admit(ctx, hr, obj)
	if refused, is := errors.AsType[*Refused](err); is && refused.ChangesOnly {
		refusal, err = &refused.Refusal, nil
	}
	if err != nil {
		return source{}, err
	}
	src, err := readSource(obj)
	src.refusal = refusal
	return src, err
}

func sourceUnreadable(kind string, key types.NamespacedName, err error) error {
	b := release.BlockedBy(helmv2.ReasonArtifactFailed, err, "could not get Source object %s '%s'", kind, key)
	if client.IgnoreNotFound(err) == nil {
		// The creation of the object triggers a reconciliation.
		b.Message = fmt.Sprintf("could not get Source object: %s '%s' not found", kind, key)
		b.Retry = release.Interval(sourceRetry)
	}
	return b
}

// identify returns the identity of the source's chart, and the artifact as the store returned it.
func (r *Resolver) identify(ctx context.Context, hr *helmv2.HelmRelease, src source) (release.Chart, chart.Artifact, error) {
	src.artifact.Tenant = hr.Namespace
	id, artifact, err := r.charts.Identify(ctx, src.artifact, waiterKey(hr))
	if err != nil {
		return release.Chart{}, artifact, downloadBlocked(err)
	}
	c, err := r.releasedChart(src, id)
	c.Digest = artifact.Digest
	if err == nil {
		c, err = r.keepVersion(ctx, hr, c, id)
	}
	return c, artifact, err
}

// keepVersion returns c with the version of the newest revision if spec.chart has changed its kind and
// the chart is the same. An OCIRepository adds the digest of its artifact to the version, a HelmChart
// does not, and that would be the only difference. Status tells that the version is kept: its version
// and its digest do not belong together, or a HelmChart has a digest.
func (r *Resolver) keepVersion(ctx context.Context, hr *helmv2.HelmRelease, c release.Chart, id chart.Identity) (release.Chart, error) {
	last, attempted := release.Latest(hr.Status.History), hr.Status.LastAttemptedRevisionDigest
	if keepsTakenOver(hr, c, id) {
		c.Version = id.Version
		return c, nil
	}
	if !hr.HasChartTemplate() || last == nil || last.ChartName != id.Name || last.ChartVersion == c.Version {
		return c, nil
	}
	kept, isHelmChart := c, c.OCIDigest == ""
	kept.Version = id.Version
	if isHelmChart {
		// An error is another version.
		kept.Version, _, _ = chart.EffectiveVersion(id.Version, attempted)
		kept.OCIDigest = attempted
	}
	was := hr.Status.LastAttemptedRevision == kept.Version && attempted == kept.OCIDigest
	if last.ChartVersion != kept.Version || isHelmChart && !was {
		return c, nil
	}
	former, found, err := r.formerChart(ctx, hr)
	switch {
	case was && (!found || !isHelmChart):
		return kept, nil
	case err != nil:
		return c, err
	case former == id:
		return kept, nil
	}
	return c, nil
}

// keepsTakenOver reports whether the newest revision of a release that was made for a HelmChart of k3s
// has the chart, without its digest in the version. k3s records no digest. Afterwards status has the
// version and the digest, which do not belong together: another digest is a change.
func keepsTakenOver(hr *helmv2.HelmRelease, c release.Chart, id chart.Identity) bool {
	last, attempted := release.Latest(hr.Status.History), hr.Status.LastAttemptedRevisionDigest
	return !hr.HasChartTemplate() && c.OCIDigest != "" && last != nil &&
		last.ChartName == id.Name && last.ChartVersion == id.Version && hr.Status.LastAttemptedRevision == id.Version &&
		(attempted == "" || attempted == c.OCIDigest) && helmchart.IsMade(hr)
}

// formerChart returns the identity of the chart of the source that was made for hr before spec.chart
// changed its kind, and whether that source exists. The identity is zero if the source cannot be used
// any longer. It returns a *release.Blocked while the chart is being downloaded.
func (r *Resolver) formerChart(ctx context.Context, hr *helmv2.HelmRelease) (id chart.Identity, found bool, err error) {
	kind, key := helmv2.KindOCIRepository, types.NamespacedName{Namespace: hr.Namespace, Name: hr.GetHelmChartName()}
	if hr.Spec.Chart.GetKind() == kind {
		recorded, recordedKey, known := Recorded(hr.Status.HelmChart)
		if !known || recorded != helmv2.KindHelmChart {
			return id, false, nil
		}
		kind, key = recorded, recordedKey
	}
	row, _ := SourceKindOf(kind)
	obj := row.New()
	if err := r.reader.Get(ctx, key, obj); apierrors.IsNotFound(err) {
		return id, false, nil
	} else if err != nil {
		return id, true, sourceUnreadable(kind, key, err)
	}
	src, unready := readSource(obj)
	if unready != nil {
		return id, true, nil //nolint:nilerr // then the chart counts as another one
	}
	src.artifact.Tenant = hr.Namespace
	// Both charts may be downloaded at once.
	id, _, err = r.charts.Identify(ctx, src.artifact, waiterKey(hr)+"/former")
	if DownloadEnded(err) != nil {
		return chart.Identity{}, true, downloadBlocked(err)
	}
	if err != nil {
		return chart.Identity{}, true, nil //nolint:nilerr // as above
	}
	return id, true, nil
}

// releasedChart returns the identity of a chart as it is recorded for the release.
func (r *Resolver) releasedChart(src source, id chart.Identity) (release.Chart, error) {
	c := release.Chart{Name: id.Name, Version: id.Version, AppVersion: id.AppVersion}
	if !src.digested {
		return c, nil
	}
	version, digest, err := chart.EffectiveVersion(id.Version, src.revision)
	if err != nil {
		return c, &release.Blocked{
			Reason: helmv2.ReasonChartMutateError, Quiet: true, Err: err,
			Retry: release.Backoff(), Message: err.Error(),
		}
	}
	c.OCIDigest = digest
	if !r.settings.KeepChartVersions {
		c.Version = version
	}
	return c, nil
}

// waiterKey returns the key under which the chart store keeps the result of a download for hr.
func waiterKey(hr *helmv2.HelmRelease) string { return client.ObjectKeyFromObject(hr).String() }

// downloadBlocked returns the *release.Blocked for an error of the chart store. During the first
// seconds of a download nothing is written to the status: most downloads end within them.
func downloadBlocked(err error) *release.Blocked {
	var pending *chart.Pending
	switch {
	case errors.Is(err, chart.ErrNotFound):
		return &release.Blocked{
			Reason: helmv2.ReasonArtifactFailed, Quiet: true, Upstream: true, Retry: release.After(sourceRetry), Err: err,
			Message: "Source not ready: artifact not found",
		}
	case errors.As(err, &pending):
		b := &release.Blocked{
			Reason: helmv2.ReasonArtifactFailed, Progressing: true, Quiet: true, Upstream: true, Retry: release.After(sourceRetry), Err: err,
			Message: "Waiting for the artifact server: " + err.Error(),
		}
		if !pending.Slow {
			b.Brief, b.Retry = true, release.After(chart.SlowAfter)
		}
		return b
	}
	b := release.BlockedBy(helmv2.ReasonArtifactFailed, err, "Could not load chart")
	// Without a worker, the fault is neither the artifact's nor its server's.
	_, unread := errors.AsType[*chart.Unread](err)
	b.Upstream = !unread
	return b
}

// DownloadEnded returns a channel that is closed when the download has ended that blocks err, an
// error of Resolve or FetchChart. It returns nil if no download does.
func DownloadEnded(err error) (ended <-chan struct{}) {
	var pending *chart.Pending
	if errors.As(err, &pending) {
		return pending.Ended
	}
	return nil
}
