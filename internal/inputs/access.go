// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
)

// CheckNamespace returns a *release.Blocked if hr takes its chart from another namespace although
// noCrossNamespaceRefs is set.
func CheckNamespace(hr *helmv2.HelmRelease, noCrossNamespaceRefs bool) error {
	kind, key := SourceOf(hr)
	if !noCrossNamespaceRefs || key.Namespace == hr.Namespace {
		return nil
	}
	return accessDenied("cross-namespace references are not allowed: cannot access %s %s", kind, key)
}

// checkAccess returns a *release.Blocked if settings reject the source of hr.
func (r *Resolver) checkAccess(hr *helmv2.HelmRelease) error {
	if err := CheckNamespace(hr, r.settings.NoCrossNamespaceRefs); err != nil {
		return err
	}
	kind, key := SourceOf(hr)
	if row, _ := SourceKindOf(kind); row.Gated && !r.settings.ExternalArtifacts {
		return accessDenied("can't access '%s/%s', ExternalArtifact feature gate is disabled", kind, key)
	}
	return nil
}

// accessDenied returns a terminal *release.Blocked: a retry needs another spec, or another setting,
// which takes a restart.
func accessDenied(format string, args ...any) error {
	return &release.Blocked{
		Reason: helmv2.ReasonAccessDenied, Terminal: true, Retry: release.Never(),
		Message: fmt.Sprintf(format, args...),
	}
}

// Refused is the error for a chart that a policy refuses.
type Refused struct{ policy.Refusal }

// Error implements error.
func (r *Refused) Error() string {
	return fmt.Sprintf("%s refuses %s: %s", r.Policy, r.Field, r.Why)
}

// Facts returns the facts about the chart of a source that policies restrict. repository is the name
// of the HelmRepository, in the namespace of the source, whose URL precedes the URL in the result;
// empty if there is none.
func Facts(hr *helmv2.HelmRelease, source client.Object) (c policy.Chart, repository string) {
	switch o := source.(type) {
	case *sourcev1.OCIRepository:
		return ociFacts(o), ""
	case *sourcev1.HelmChart:
		return helmChartFacts(hr, o)
	}
	fault := policy.Fault{Field: "spec.chartRef", Why: fmt.Sprintf("%s has no version, signature or URL that can be checked", sourceName(source))}
	return policy.Chart{Inexact: fault, Unverified: fault, Unlocated: fault}, ""
}

func ociFacts(o *sourcev1.OCIRepository) policy.Chart {
	const field = "spec.chartRef"
	c := policy.Chart{URL: o.Spec.URL, Located: field}
	switch ref := o.Spec.Reference; {
	case ref == nil, ref.Digest == "" && ref.SemVer == "" && ref.Tag == "":
		c.Inexact = policy.Fault{Field: field, Why: sourceName(o) + " has neither a tag nor a digest"}
	case ref.Digest == "" && ref.SemVer != "":
		c.Inexact = policy.Fault{Field: field, Why: sourceName(o) + " has a range of versions in spec.ref.semver"}
	}
	if why := unverified(o, o.Spec.Verify != nil, o.Status.ObservedGeneration, o.Status.Conditions); why != "" {
		c.Unverified = policy.Fault{Field: field, Why: why}
	}
	return c
}

// helmChartFacts returns the facts about a HelmChart. The fields are those of spec.chart if the
// HelmRelease has it.
func helmChartFacts(hr *helmv2.HelmRelease, o *sourcev1.HelmChart) (c policy.Chart, repository string) {
	version, verify, ref := "spec.chart.spec.version", "spec.chart.spec.verify", "spec.chart.spec.sourceRef"
	if hr.HasChartRef() {
		version, verify, ref = "spec.chartRef", "spec.chartRef", "spec.chartRef"
	}
	if why := unverified(o, o.Spec.Verify != nil, o.Status.ObservedGeneration, o.Status.Conditions); why != "" {
		c.Unverified = policy.Fault{Field: verify, Why: why}
	}
	if o.Spec.SourceRef.Kind != sourcev1.HelmRepositoryKind {
		// The version and the content are those of the revision of the source.
		c.Inexact = policy.Fault{Field: ref, Why: fmt.Sprintf("a chart of a %s has no exact version", o.Spec.SourceRef.Kind)}
		c.Unlocated = policy.Fault{Field: ref, Why: fmt.Sprintf("a chart of a %s has no URL that can be checked", o.Spec.SourceRef.Kind)}
		return c, ""
	}
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(o.Spec.Version, "v")); err != nil {
		c.Inexact = policy.Fault{Field: version, Why: fmt.Sprintf("%q is no exact version", o.Spec.Version)}
	}
	c.URL, c.Located = "/"+o.Spec.Chart, ref
	return c, o.Spec.SourceRef.Name
}

// unverified returns why source-controller does not verify the signature of a chart; empty if it
// does. A source that is not ready is not used anyway, and its conditions are of another chart.
func unverified(source client.Object, set bool, observed int64, conditions []metav1.Condition) string {
	ready := source.GetUID() != "" && observed == source.GetGeneration()
	switch {
	case !set:
		return sourceName(source) + " has no spec.verify"
	case ready && !apimeta.IsStatusConditionTrue(conditions, sourcev1.SourceVerifiedCondition):
		return fmt.Sprintf("condition %s of %s is not True", sourcev1.SourceVerifiedCondition, sourceName(source))
	}
	return ""
}

func sourceName(source client.Object) string {
	kind := strings.TrimPrefix(fmt.Sprintf("%T", source), "*v1.")
	return fmt.Sprintf("%s '%s'", kind, client.ObjectKeyFromObject(source))
}
