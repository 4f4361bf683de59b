// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/release"
)

// sourceRetry is the net under the watches: they tell us when a source becomes
// ready, and should one be missed we look again after this.
const sourceRetry = 30 * time.Second

// source is a ready source.
type source struct {
	artifact chart.Artifact
	revision string
	// digested is true if the revision carries the digest of an OCI artifact,
	// which then becomes part of the chart's version.
	digested bool
}

// SourceOf returns the kind and name of the object that provides the chart.
func SourceOf(hr *helmv2.HelmRelease) (kind string, key types.NamespacedName) {
	if ref := hr.Spec.ChartRef; ref != nil {
		namespace := ref.Namespace
		if namespace == "" {
			namespace = hr.Namespace
		}
		return ref.Kind, types.NamespacedName{Namespace: namespace, Name: ref.Name}
	}
	return helmv2.KindHelmChart, HelmChartKey(hr)
}

// HelmChartKey returns the name of the HelmChart that spec.chart stands for. It
// lives beside its repository. It must not be called without spec.chart.
func HelmChartKey(hr *helmv2.HelmRelease) types.NamespacedName {
	namespace := hr.Spec.Chart.Spec.SourceRef.Namespace
	if namespace == "" {
		namespace = hr.Namespace
	}
	return types.NamespacedName{Namespace: namespace, Name: hr.Namespace + "-" + hr.Name}
}

// source reads the object that provides the chart and checks that it can be
// used.
func (r *Resolver) source(ctx context.Context, hr *helmv2.HelmRelease) (source, error) {
	kind, key := SourceOf(hr)
	var obj client.Object
	switch kind {
	case helmv2.KindOCIRepository:
		obj = &sourcev1.OCIRepository{}
	case helmv2.KindHelmChart:
		obj = &sourcev1.HelmChart{}
	case helmv2.KindExternalArtifact:
		obj = &sourcev1.ExternalArtifact{}
	default:
		return source{}, refusal("spec.chartRef.kind %s is not supported by this version", kind)
	}
	reader := r.reader
	if r.settings.DirectSources {
		reader = r.live
	}
	if err := reader.Get(ctx, key, obj); err != nil {
		return source{}, unreadable(kind, key, err)
	}
	return offered(obj)
}

// Offer sums up what a source offers, or, with ok false, why it offers nothing.
// HelmReleases that use it need to be looked at when that changes.
func SourceState(obj client.Object) (offer string, ok bool) {
	src, err := offered(obj)
	if err != nil {
		return err.Error(), false
	}
	return src.revision + " " + src.artifact.Digest + " " + src.artifact.URL, true
}

// Offers reports whether what a source offers is what a release was attempted with:
// status records a digest if the artifact has one, or else the chart's version,
// which then is the revision.
func HasRevision(obj client.Object, version, ociDigest string) bool {
	src, err := offered(obj)
	switch {
	case err != nil:
		return false
	case src.digested:
		// A tag that is no version is recorded with its digest.
		return ociDigest != "" && (src.revision == ociDigest || strings.HasSuffix(src.revision, "@"+ociDigest))
	}
	return version != "" && src.revision == version
}

// CheckSource returns a *release.Blocked if a source offers nothing at present.
func CheckSource(obj client.Object) error {
	_, err := offered(obj)
	return err
}

func offered(obj client.Object) (source, error) {
	switch o := obj.(type) {
	case *sourcev1.OCIRepository:
		return ready(helmv2.KindOCIRepository, o, o.Status.ObservedGeneration, o.Status.Conditions, o.Status.Artifact)
	case *sourcev1.HelmChart:
		return ready(helmv2.KindHelmChart, o, o.Status.ObservedGeneration, o.Status.Conditions, o.Status.Artifact)
	case *sourcev1.ExternalArtifact:
		// Nobody promises to observe its generation, so an artifact is enough.
		src, err := ready(helmv2.KindExternalArtifact, o, o.Generation, notStalled(o.Status.Conditions), o.Status.Artifact)
		src.digested = strings.Contains(src.revision, ":")
		return src, err
	}
	return source{}, refusal("%T is not supported as a source by this version", obj)
}

func notStalled(conditions []metav1.Condition) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(conditions), func(c metav1.Condition) bool { return c.Type == helmv2.ConditionStalled })
}

func unreadable(kind string, key types.NamespacedName, err error) error {
	b := release.BlockedBy(helmv2.ReasonArtifactFailed, err, "could not get Source object %s '%s'", kind, key)
	if client.IgnoreNotFound(err) == nil {
		// Its creation wakes us.
		b.Message = fmt.Sprintf("could not get Source object: %s '%s' not found", kind, key)
		b.Retry = release.Interval(sourceRetry)
	}
	return b
}

// ready checks a source. A source whose last fetch failed but that still has an
// artifact that its spec asks for is good enough.
func ready(kind string, obj client.Object, observed int64, conditions []metav1.Condition, a *fluxmeta.Artifact) (source, error) {
	var why string
	failing := apimeta.FindStatusCondition(conditions, helmv2.ConditionReady)
	stalled := apimeta.FindStatusCondition(conditions, helmv2.ConditionStalled)
	switch {
	case observed != obj.GetGeneration():
		why = "latest generation of object has not been reconciled"
	case stalled != nil && stalled.Status == metav1.ConditionTrue:
		why = stalled.Message
	case a == nil:
		why = "does not have an artifact"
	case notAsked(obj, a.Revision) != "":
		why = notAsked(obj, a.Revision)
	default:
		return source{
			artifact: chart.Artifact{URL: a.URL, Digest: a.Digest},
			revision: a.Revision,
			digested: kind == helmv2.KindOCIRepository,
		}, nil
	}
	if failing != nil && failing.Status == metav1.ConditionFalse {
		why = failing.Message
	}
	return source{}, &release.Blocked{
		Reason: helmv2.ReasonSourceNotReady, Quiet: true, Retry: release.Interval(sourceRetry),
		Message: fmt.Sprintf("%s '%s' is not ready: %s", kind, client.ObjectKeyFromObject(obj), why),
	}
}

// identify returns the identity of the source's chart, and the artifact as the
// store returned it.
func (r *Resolver) identify(ctx context.Context, hr *helmv2.HelmRelease, src source) (release.Chart, chart.Artifact, error) {
	id, artifact, err := r.charts.Identify(ctx, src.artifact, waiter(hr))
	if err != nil {
		return release.Chart{}, artifact, undownloaded(err)
	}
	c, err := r.effective(src, id)
	return c, artifact, err
}

// waiter is who comes back for a download.
func waiter(hr *helmv2.HelmRelease) string { return client.ObjectKeyFromObject(hr).String() }

// undownloaded says why there is no artifact. While it is being downloaded nothing
// is written for a few seconds, which are enough for most.
func undownloaded(err error) *release.Blocked {
	var pending *chart.Pending
	switch {
	case errors.Is(err, chart.ErrNotFound):
		return &release.Blocked{
			Reason: helmv2.ReasonArtifactFailed, Quiet: true, Upstream: true, Retry: release.After(sourceRetry), Err: err,
			Message: fmt.Sprintf("Source not ready: artifact not found. Retrying in %s", sourceRetry),
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
	b.Upstream = true
	return b
}

// Download returns a channel that is closed when the download has ended that err,
// of Resolve or Hold, says is awaited; nil if it says no such thing.
func DownloadEnded(err error) (ended <-chan struct{}) {
	var pending *chart.Pending
	if errors.As(err, &pending) {
		return pending.Ended
	}
	return nil
}

// effective returns the identity of a chart as it is going to be installed.
func (r *Resolver) effective(src source, id chart.Identity) (release.Chart, error) {
	c := release.Chart{Name: id.Name, Version: id.Version, AppVersion: id.AppVersion}
	if !src.digested {
		return c, nil
	}
	effective, digest, err := chart.EffectiveVersion(id.Version, src.revision)
	if err != nil {
		return c, &release.Blocked{
			Reason: helmv2.ReasonChartMutateError, Quiet: true, Err: err,
			Retry: release.Backoff(), Message: err.Error(),
		}
	}
	c.OCIDigest = digest
	if !r.settings.KeepChartVersions {
		c.Version = effective
	}
	return c, nil
}
