// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helmchart/archive"
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
	// An archive of a HelmChart has an ExternalArtifact with the name of its HelmRelease.
	archive := r.settings.HelmCharts && ofHelmChart(hr) && key == client.ObjectKeyFromObject(hr)
	if row, _ := SourceKindOf(kind); row.Gated && !r.settings.ExternalArtifacts && !archive {
		return gateDisabled(kind, key)
	}
	return r.checkFiles(hr)
}

func gateDisabled(kind string, key types.NamespacedName) error {
	return accessDenied("can't access '%s/%s', ExternalArtifact feature gate is disabled", kind, key)
}

// ofHelmChart reports whether the controller of an object is the HelmChart of k3s of its name.
func ofHelmChart(object metav1.Object) bool {
	owner := metav1.GetControllerOf(object)
	return owner != nil && owner.Kind == cattlev1.HelmChartKind && owner.APIVersion == cattlev1.GroupVersion.String() && owner.Name == object.GetName()
}

// checkArchive returns a *release.Blocked unless an ExternalArtifact has no artifact of a HelmChart of
// k3s, or exactly the artifact that its own HelmChart has. A tenant may have written the
// ExternalArtifact and its status, and the controller reads such an artifact with its own rights.
func (r *Resolver) checkArchive(ctx context.Context, hr *helmv2.HelmRelease, source client.Object) error {
	o, is := source.(*sourcev1.ExternalArtifact)
	if !is || o.Status.Artifact == nil {
		return nil
	}
	key, url := client.ObjectKeyFromObject(o), o.Status.Artifact.URL
	if !archive.Is(url) {
		if !r.settings.ExternalArtifacts {
			return gateDisabled(KindOf(o), key)
		}
		return nil
	}
	switch {
	case !r.settings.HelmCharts:
		return accessDenied("%s is the archive of a HelmChart of k3s, and the feature gate HelmChartAPI is disabled", SourceName(o))
	case o.Namespace != hr.Namespace:
		return accessDenied("%s is the archive of a HelmChart of k3s, which only HelmReleases in its namespace can use", SourceName(o))
	}
	c := &cattlev1.HelmChart{}
	err := r.reader.Get(ctx, key, c)
	if client.IgnoreNotFound(err) != nil {
		return release.BlockedBy(helmv2.ReasonArtifactFailed, err, "could not get HelmChart '%s'", key)
	}
	if owned, ok := archive.ArtifactURL(c); err != nil || !ofHelmChart(o) || !metav1.IsControlledBy(o, c) || !ok || owned != url {
		return &release.Blocked{
			Reason: helmv2.ReasonSourceNotReady, Quiet: true, Retry: release.Interval(sourceRetry),
			Message: fmt.Sprintf("%s is not ready: its artifact is not the archive of HelmChart '%s'", SourceName(o), key),
		}
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

// Refused is the error for a chart or values that a policy refuses.
type Refused struct{ policy.Refusal }

// Error implements error.
func (r *Refused) Error() string {
	return fmt.Sprintf("%s refuses %s: %s", r.Policy, r.Field, r.Why)
}

// Facts returns the facts about the chart of a source that policies restrict. repository is the name
// of the HelmRepository in the namespace of the source, whose facts InRepository adds; empty if there
// is none.
func Facts(hr *helmv2.HelmRelease, source client.Object) (c policy.Chart, repository string) {
	switch o := source.(type) {
	case *sourcev1.OCIRepository:
		return ociFacts(hr, o), ""
	case *sourcev1.HelmChart:
		return helmChartFacts(hr, o)
	case *sourcev1.ExternalArtifact:
		if c, is := archiveFacts(o); is {
			return c, ""
		}
	}
	fault := policy.Fault{Field: "spec.chartRef", Why: fmt.Sprintf("%s has no version, signature or URL that can be checked", SourceName(source))}
	return policy.Chart{Inexact: fault, Unverified: fault, Unlocated: fault}, ""
}

// archiveFacts returns the facts about the archive of a HelmChart of k3s; false if an ExternalArtifact
// has another artifact. The URL of the artifact determines where the archive is read, and its digest
// what is accepted.
func archiveFacts(o *sourcev1.ExternalArtifact) (policy.Chart, bool) {
	const field = "spec.chartRef"
	a := o.Status.Artifact
	if a == nil {
		return policy.Chart{}, false
	}
	at, is := archive.Locate(a.URL)
	if !is {
		return policy.Chart{}, false
	}
	c := policy.Chart{Unverified: policy.Fault{Field: field, Why: SourceName(o) + " is an archive, which has no signature"}}
	if at.Archive == "" {
		c.Unlocated = policy.Fault{Field: field, Why: SourceName(o) + " has its chart in a HelmChart, which has no URL"}
		return c, true
	}
	c.URL, c.Located = at.Archive, field
	if at.OwnCAs {
		c.OwnCAs = policy.Fault{Field: field, Why: SourceName(o) + " has certificate authorities of its HelmChart: if the policy may trust them, set transport: Any there"}
	}
	switch {
	case !strings.HasPrefix(at.Archive, "https://"):
		c.Unproven = policy.Fault{Field: field, Why: SourceName(o) + " is read without TLS"}
	case at.Query:
		c.Unproven = policy.Fault{Field: field, Why: SourceName(o) + " has a query in its URL, which may choose another archive"}
	}
	return c, true
}

// ociFacts returns the facts about an OCIRepository. Faults name the fields of spec.chart if the
// HelmRelease has it.
func ociFacts(hr *helmv2.HelmRelease, o *sourcev1.OCIRepository) policy.Chart {
	field := func(name string) string {
		if hr.HasChartTemplate() {
			return "spec.chart.spec." + name
		}
		return "spec.chartRef"
	}
	url, ref, verify := field("url"), field("ref"), field("verify")
	c := policy.Chart{URL: o.Spec.URL, Located: url}
	switch r := o.Spec.Reference; {
	case r == nil, r.Digest == "" && r.SemVer == "" && r.Tag == "":
		c.Inexact = policy.Fault{Field: ref, Why: SourceName(o) + " has neither a tag nor a digest"}
	case r.Digest == "" && r.SemVer != "":
		c.Inexact = policy.Fault{Field: ref, Why: SourceName(o) + " has a range of versions in spec.ref.semver"}
	}
	if why := whyUnverified(o, o.Spec.Verify != nil, o.Status.ObservedGeneration, o.Status.Conditions); why != "" {
		c.Unverified = policy.Fault{Field: verify, Why: why}
	} else {
		c.Signature = signature(o, verify, o.Spec.Verify.Provider, o.Spec.Verify.SecretRef, o.Spec.Verify.MatchOIDCIdentity)
		c.Signature.OwnRoot = o.Spec.Verify.TrustedRootSecretRef != nil
	}
	if why := whyRerouted(o, o.Spec.ProxySecretRef, o.Spec.Insecure); why != "" {
		c.Unproven = policy.Fault{Field: url, Why: why}
	}
	if o.Spec.CertSecretRef != nil {
		c.OwnCAs = policy.Fault{Field: url, Why: ownCAs(o, "spec.certSecretRef")}
	}
	return c
}

// helmChartFacts returns the facts about a HelmChart. Faults name the fields of spec.chart if the
// HelmRelease has it.
func helmChartFacts(hr *helmv2.HelmRelease, o *sourcev1.HelmChart) (c policy.Chart, repository string) {
	version, verify, ref := "spec.chart.spec.version", "spec.chart.spec.verify", "spec.chart.spec.sourceRef"
	if hr.HasChartRef() {
		version, verify, ref = "spec.chartRef", "spec.chartRef", "spec.chartRef"
	}
	if why := whyUnverified(o, o.Spec.Verify != nil, o.Status.ObservedGeneration, o.Status.Conditions); why != "" {
		c.Unverified = policy.Fault{Field: verify, Why: why}
	} else {
		c.Signature = signature(o, verify, o.Spec.Verify.Provider, o.Spec.Verify.SecretRef, o.Spec.Verify.MatchOIDCIdentity)
	}
	if o.Spec.SourceRef.Kind != sourcev1.HelmRepositoryKind {
		// The revision of the source determines version and content.
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

// InRepository adds the facts about its HelmRepository to the facts about a HelmChart.
func InRepository(c policy.Chart, repo *sourcev1.HelmRepository) policy.Chart {
	name := SourceName(repo)
	c.URL = strings.TrimSuffix(repo.Spec.URL, "/") + c.URL
	unproven := whyRerouted(repo, nil, repo.Spec.Insecure)
	switch {
	case repo.Spec.Type == sourcev1.HelmRepositoryTypeOCI:
		unproven = name + " is of type oci and has no status, so that its URL may have changed since the chart was fetched: use an OCIRepository"
	case repo.Spec.Suspend:
		unproven = name + " is suspended, so that its URL may have changed since the chart was fetched"
	}
	if unproven != "" {
		c.Unproven = policy.Fault{Field: c.Located, Why: unproven}
	}
	switch {
	case repo.Spec.CertSecretRef != nil:
		c.OwnCAs = policy.Fault{Field: c.Located, Why: ownCAs(repo, "spec.certSecretRef")}
	case repo.Spec.SecretRef != nil:
		// source-controller reads certificate authorities from this Secret, too.
		c.OwnCAs = policy.Fault{Field: c.Located, Why: ownCAs(repo, "spec.secretRef")}
	}
	return c
}

// Unfetched returns a *release.Blocked if the artifact of a ready source may belong to a former
// spec: source-controller keeps the artifact while a fetch fails, even after the URL or the keys
// have changed. repo is the HelmRepository of a HelmChart; nil if it was not read.
func Unfetched(source client.Object, repo *sourcev1.HelmRepository) error {
	if _, err := readSource(source); err != nil || source.GetUID() == "" {
		return nil //nolint:nilerr // the source is not used, and its condition states why
	}
	var conditions []metav1.Condition
	observed := ""
	switch o := source.(type) {
	case *sourcev1.OCIRepository:
		conditions = o.Status.Conditions
	case *sourcev1.HelmChart:
		conditions, observed = o.Status.Conditions, o.Status.ObservedSourceArtifactRevision
	default:
		return nil
	}
	stored := apimeta.FindStatusCondition(conditions, sourcev1.ArtifactInStorageCondition)
	switch {
	case stored == nil || stored.Status != metav1.ConditionTrue || stored.ObservedGeneration != source.GetGeneration():
		return unfetched(source, "its artifact is not known to be of its latest generation")
	case repo == nil || repo.Spec.Suspend || repo.Spec.Type == sourcev1.HelmRepositoryTypeOCI:
		// A policy that restricts the URL refuses the last two.
		return nil
	case repo.Status.ObservedGeneration != repo.Generation || repo.Status.Artifact == nil:
		return unfetched(source, SourceName(repo)+" has not been fetched since it was changed")
	case repo.Status.Artifact.Revision != observed:
		return unfetched(source, fmt.Sprintf("its chart was made of revision '%s' of %s, which has revision '%s'", observed, SourceName(repo), repo.Status.Artifact.Revision))
	}
	return nil
}

func unfetched(source client.Object, why string) error {
	return &release.Blocked{
		Reason: helmv2.ReasonSourceNotReady, Quiet: true, Retry: release.Interval(sourceRetry),
		Message: fmt.Sprintf("%s is not ready for a policy that restricts charts: %s", SourceName(source), why),
	}
}

// whyUnverified returns why source-controller does not verify the signature of a chart; empty if it
// does. A source that is not ready is not used anyway, and its conditions are of another chart.
// source-controller keeps the condition of a former spec while it cannot verify.
func whyUnverified(source client.Object, set bool, observed int64, conditions []metav1.Condition) string {
	ready := source.GetUID() != "" && observed == source.GetGeneration()
	verified := apimeta.FindStatusCondition(conditions, sourcev1.SourceVerifiedCondition)
	switch {
	case !set:
		return SourceName(source) + " has no spec.verify"
	case ready && (verified == nil || verified.Status != metav1.ConditionTrue):
		return fmt.Sprintf("condition %s of %s is not True", sourcev1.SourceVerifiedCondition, SourceName(source))
	case ready && verified.ObservedGeneration != source.GetGeneration():
		return fmt.Sprintf("condition %s of %s is not of its latest generation", sourcev1.SourceVerifiedCondition, SourceName(source))
	}
	return ""
}

// signature returns how a source verifies signatures.
func signature(source client.Object, field, provider string, secret *fluxmeta.LocalObjectReference, identities []sourcev1.OIDCIdentityMatch) policy.Signature {
	// The CRD has this default, but a HelmChart that is to be applied has none.
	s := policy.Signature{Field: field, Source: SourceName(source), Provider: cmp.Or(provider, string(v1alpha1.ProviderCosign))}
	if secret != nil {
		s.Secret = source.GetNamespace() + "/" + secret.Name
	}
	for _, i := range identities {
		s.Identities = append(s.Identities, v1alpha1.SignerIdentity{Issuer: i.Issuer, Subject: i.Subject})
	}
	return s
}

// whyRerouted returns why another server than the host of the URL may answer a source; empty if
// none may.
func whyRerouted(source client.Object, proxy *fluxmeta.LocalObjectReference, insecure bool) string {
	switch {
	case proxy != nil:
		return SourceName(source) + " has spec.proxySecretRef, so that another server may answer for the URL"
	case insecure:
		return SourceName(source) + " has spec.insecure, so that another server may answer for the URL"
	}
	return ""
}

func ownCAs(source client.Object, field string) string {
	return fmt.Sprintf("%s has %s, which may have certificate authorities of its own: if the policy may trust them, set transport: Any there", SourceName(source), field)
}

// KindOf returns the kind of a source object.
func KindOf(source client.Object) string {
	return strings.TrimPrefix(fmt.Sprintf("%T", source), "*v1.")
}

// SourceName returns the kind and the name of a source object for messages.
func SourceName(source client.Object) string {
	return fmt.Sprintf("%s '%s'", KindOf(source), client.ObjectKeyFromObject(source))
}
