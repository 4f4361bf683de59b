// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TemplateKey returns the name of the source object that is created for spec.chart: a HelmChart is in
// the namespace of its repository, an OCIRepository in the namespace of hr. It panics if hr has no
// spec.chart.
func TemplateKey(hr *helmv2.HelmRelease) types.NamespacedName {
	return types.NamespacedName{Namespace: hr.Spec.Chart.GetNamespace(hr.Namespace), Name: hr.GetHelmChartName()}
}

// CheckTemplate returns a terminal *release.Blocked for a spec.chart that the rules of the CRD reject.
// An older CRD has no such rules, and drops the fields of an OCIRepository.
func CheckTemplate(hr *helmv2.HelmRelease) error {
	if !hr.HasChartTemplate() {
		return nil
	}
	if why := templateFault(hr.Spec.Chart); why != "" {
		return unsupported("%s", why)
	}
	return nil
}

// templateFault returns the first rule that a template breaks; empty if there is none.
func templateFault(tmpl *helmv2.HelmChartTemplate) string {
	spec := tmpl.Spec
	oci := tmpl.GetKind() == helmv2.KindOCIRepository
	switch {
	case !oci && tmpl.GetKind() != helmv2.KindHelmChart:
		return "spec.chart.kind " + tmpl.Kind + " is not supported by this version"
	case !oci && spec.URL != "":
		return "spec.chart.spec.url must not be set unless spec.chart.kind is OCIRepository"
	case !oci && (spec.Chart == "" || spec.SourceRef == helmv2.CrossNamespaceObjectReference{}):
		return "spec.chart.spec.chart and spec.chart.spec.sourceRef must be set unless spec.chart.kind is OCIRepository. " +
			"If the manifest has that kind, the installed CRD of HelmRelease does not know the field and dropped it: install the CRD of this version"
	case !oci && spec.Verify != nil && spec.Verify.TrustedRootSecretRef != nil:
		return "spec.chart.spec.verify.trustedRootSecretRef must not be set unless spec.chart.kind is OCIRepository: a HelmChart does not have the field"
	case !oci:
		return ""
	}
	for _, rule := range []struct {
		broken bool
		why    string
	}{
		{!strings.HasPrefix(spec.URL, sourcev1.OCIRepositoryPrefix), "spec.chart.spec.url must be set, and start with " + sourcev1.OCIRepositoryPrefix + ","},
		{spec.Chart != "", "spec.chart.spec.chart must not be set"},
		{spec.SourceRef != helmv2.CrossNamespaceObjectReference{}, "spec.chart.spec.sourceRef must not be set"},
		{spec.ValuesFiles != nil, "spec.chart.spec.valuesFiles must not be set"},
		{spec.IgnoreMissingValuesFiles, "spec.chart.spec.ignoreMissingValuesFiles must not be set"},
		{versionOf(spec) != anyVersion, "spec.chart.spec.version must not be set"},
		{strategyOf(spec) != helmv2.ReconcileStrategyChartVersion, "spec.chart.spec.reconcileStrategy must not be set"},
	} {
		if rule.broken {
			return rule.why + " if spec.chart.kind is OCIRepository"
		}
	}
	return ""
}

// anyVersion is the default version of a HelmChart. The CRD of helm-controller 1.6 sets it, and the
// default strategy, in each spec.chart.
const anyVersion = "*"

func versionOf(spec helmv2.HelmChartTemplateSpec) string { return cmp.Or(spec.Version, anyVersion) }

func strategyOf(spec helmv2.HelmChartTemplateSpec) helmv2.ReconcileStrategy {
	return cmp.Or(spec.ReconcileStrategy, helmv2.ReconcileStrategyChartVersion)
}

// TemplateSource returns the source object that spec.chart of a HelmRelease stands for. It sets the
// defaults of the source's CRD, so that it can be compared with the live object.
func TemplateSource(hr *helmv2.HelmRelease) client.Object {
	meta := templateMeta(hr)
	if hr.Spec.Chart.GetKind() == helmv2.KindOCIRepository {
		return &sourcev1.OCIRepository{
			TypeMeta:   metav1.TypeMeta{APIVersion: sourcev1.GroupVersion.String(), Kind: sourcev1.OCIRepositoryKind},
			ObjectMeta: meta,
			Spec:       ociRepositorySpec(hr),
		}
	}
	return &sourcev1.HelmChart{
		TypeMeta:   metav1.TypeMeta{APIVersion: sourcev1.GroupVersion.String(), Kind: sourcev1.HelmChartKind},
		ObjectMeta: meta,
		Spec:       helmChartSpec(hr),
	}
}

// templateMeta returns the metadata of the source object. There is no owner reference, which could
// not cross namespaces: labels name the owner.
func templateMeta(hr *helmv2.HelmRelease) metav1.ObjectMeta {
	key, tmpl := TemplateKey(hr), hr.Spec.Chart
	meta := metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace, Labels: map[string]string{}}
	if tmpl.ObjectMeta != nil {
		meta.Annotations = tmpl.ObjectMeta.Annotations
		maps.Copy(meta.Labels, tmpl.ObjectMeta.Labels)
	}
	meta.Labels[helmv2.LabelName], meta.Labels[helmv2.LabelNamespace] = hr.Name, hr.Namespace
	return meta
}

func helmChartSpec(hr *helmv2.HelmRelease) sourcev1.HelmChartSpec {
	tmpl := hr.Spec.Chart
	spec := sourcev1.HelmChartSpec{
		Chart:   tmpl.Spec.Chart,
		Version: versionOf(tmpl.Spec),
		SourceRef: sourcev1.LocalHelmChartSourceReference{
			Kind: tmpl.Spec.SourceRef.Kind, Name: tmpl.Spec.SourceRef.Name,
		},
		Interval:                 metav1.Duration{Duration: tmpl.GetInterval(hr.Spec.Interval.Duration)},
		ReconcileStrategy:        string(strategyOf(tmpl.Spec)),
		ValuesFiles:              tmpl.Spec.ValuesFiles,
		IgnoreMissingValuesFiles: tmpl.Spec.IgnoreMissingValuesFiles,
	}
	if v := tmpl.Spec.Verify; v != nil {
		spec.Verify = &sourcev1.HelmChartVerification{
			Provider: string(v.Provider), SecretRef: secretRef(v.SecretRef), MatchOIDCIdentity: identities(v),
		}
	}
	return spec
}

func ociRepositorySpec(hr *helmv2.HelmRelease) sourcev1.OCIRepositorySpec {
	tmpl := hr.Spec.Chart
	spec := sourcev1.OCIRepositorySpec{
		URL:                tmpl.Spec.URL,
		Provider:           cmp.Or(tmpl.Spec.Provider, sourcev1.GenericOCIProvider),
		SecretRef:          secretRef(tmpl.Spec.SecretRef),
		ServiceAccountName: tmpl.Spec.ServiceAccountName,
		CertSecretRef:      secretRef(tmpl.Spec.CertSecretRef),
		ProxySecretRef:     secretRef(tmpl.Spec.ProxySecretRef),
		Interval:           metav1.Duration{Duration: tmpl.GetInterval(hr.Spec.Interval.Duration)},
		Timeout:            tmpl.Spec.Timeout,
		Ignore:             tmpl.Spec.Ignore,
		Insecure:           tmpl.Spec.Insecure,
		Suspend:            tmpl.Spec.Suspend,
	}
	if spec.Timeout == nil {
		spec.Timeout = &metav1.Duration{Duration: 60 * time.Second}
	}
	if ref := tmpl.Spec.Reference; ref != nil {
		spec.Reference = &sourcev1.OCIRepositoryRef{Digest: ref.Digest, SemVer: ref.SemVer, SemverFilter: ref.SemverFilter, Tag: ref.Tag}
	}
	if layer := tmpl.Spec.LayerSelector; layer != nil {
		spec.LayerSelector = &sourcev1.OCILayerSelector{MediaType: layer.MediaType, Operation: layer.Operation}
	}
	if v := tmpl.Spec.Verify; v != nil {
		spec.Verify = &sourcev1.OCIRepositoryVerification{
			Provider: string(v.Provider), SecretRef: secretRef(v.SecretRef), MatchOIDCIdentity: identities(v),
			TrustedRootSecretRef: secretRef(v.TrustedRootSecretRef),
		}
	}
	return spec
}

func secretRef(ref *helmv2.LocalObjectReference) *fluxmeta.LocalObjectReference {
	if ref == nil {
		return nil
	}
	return &fluxmeta.LocalObjectReference{Name: ref.Name}
}

func identities(v *helmv2.HelmChartTemplateVerification) []sourcev1.OIDCIdentityMatch {
	var all []sourcev1.OIDCIdentityMatch
	for _, i := range v.MatchOIDCIdentity {
		all = append(all, sourcev1.OIDCIdentityMatch{Issuer: i.Issuer, Subject: i.Subject})
	}
	return all
}

// HasTemplateSpec reports whether a source object has the spec that its template stands for. A source
// may be suspended although its template is not: users do that.
func HasTemplateSpec(have, want client.Object) bool {
	switch want := want.(type) {
	case *sourcev1.HelmChart:
		if have, is := have.(*sourcev1.HelmChart); is {
			spec := want.Spec
			spec.Suspend = have.Spec.Suspend
			return equality.Semantic.DeepEqual(have.Spec, spec)
		}
	case *sourcev1.OCIRepository:
		if have, is := have.(*sourcev1.OCIRepository); is {
			spec := want.Spec
			spec.Suspend = spec.Suspend || have.Spec.Suspend
			return equality.Semantic.DeepEqual(have.Spec, spec)
		}
	}
	return false
}

// HasTemplateChart is HasTemplateSpec without the fields that do not select the chart.
func HasTemplateChart(have, want client.Object) bool {
	switch w := want.(type) {
	case *sourcev1.HelmChart:
		if have, is := have.(*sourcev1.HelmChart); is {
			w = w.DeepCopy()
			w.Spec.Interval = have.Spec.Interval
			return HasTemplateSpec(have, w)
		}
	case *sourcev1.OCIRepository:
		if have, is := have.(*sourcev1.OCIRepository); is {
			w = w.DeepCopy()
			w.Spec.Interval, w.Spec.Timeout, w.Spec.Suspend = have.Spec.Interval, have.Spec.Timeout, have.Spec.Suspend
			return HasTemplateSpec(have, w)
		}
	}
	return false
}

// DescribeChart names the chart of a source object of a template.
func DescribeChart(source client.Object) string {
	switch o := source.(type) {
	case *sourcev1.HelmChart:
		return fmt.Sprintf("chart %s in version %s", o.Spec.Chart, o.Spec.Version)
	case *sourcev1.OCIRepository:
		return "chart " + o.Spec.URL + referenceText(o.Spec.Reference)
	}
	return ""
}

func referenceText(ref *sourcev1.OCIRepositoryRef) string {
	switch {
	case ref == nil:
		return ""
	case ref.Digest != "":
		return "@" + ref.Digest
	case ref.SemVer != "":
		return " in version " + ref.SemVer
	case ref.Tag != "":
		return ":" + ref.Tag
	}
	return ""
}

// RecordOf returns the text for status.helmChart about the source object of a template: a HelmChart
// without its kind.
func RecordOf(kind string, key types.NamespacedName) string {
	if kind == helmv2.KindHelmChart {
		return key.String()
	}
	return kind + "/" + key.String()
}

// Recorded returns the source object that status.helmChart names; false if it names none that a
// template can stand for.
func Recorded(text string) (kind string, key types.NamespacedName, ok bool) {
	parts := strings.Split(text, "/")
	if len(parts) == 2 {
		parts = append([]string{helmv2.KindHelmChart}, parts...)
	}
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" || parts[0] != helmv2.KindHelmChart && parts[0] != helmv2.KindOCIRepository {
		return "", key, false
	}
	return parts[0], types.NamespacedName{Namespace: parts[1], Name: parts[2]}, true
}

// CheckObserved returns a *release.Blocked until source-controller has observed the generation of a
// source. Until then, its artifact may belong to the previous generation.
func CheckObserved(source client.Object) error {
	for _, k := range SourceKinds() {
		if status, ok := k.status(source); ok && status.observed == source.GetGeneration() {
			return nil
		}
	}
	return CheckSource(source)
}
