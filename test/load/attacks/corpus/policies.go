// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Source returns an OCIRepository with a chart.
func Source(namespace, name, url string) *sourcev1.OCIRepository {
	return &sourcev1.OCIRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: sourcev1.OCIRepositorySpec{
			URL: url, Interval: metav1.Duration{Duration: 10 * time.Hour}, Reference: &sourcev1.OCIRepositoryRef{Tag: Version},
			LayerSelector: &sourcev1.OCILayerSelector{
				MediaType: "application/vnd.cncf.helm.chart.content.v1.tar+gzip", Operation: sourcev1.OCILayerCopy,
			},
		},
	}
}

// policies are releases that would get past a ReleasePolicy. The registry of the attacks is plain
// HTTP on loopback, from which source-controller also fetches without `insecure`.
func policies() []Attack {
	oci := func(edit func(*sourcev1.OCIRepository)) func(Place) client.Object {
		return func(p Place) client.Object {
			o := Source(p.Namespace, p.Name, "oci://"+p.Registry+"/charts/"+HarmlessChart)
			edit(o)
			return o
		}
	}
	repository := func(scheme string, edit func(*sourcev1.HelmRepository)) func(Place) client.Object {
		return func(p Place) client.Object {
			o := &sourcev1.HelmRepository{ObjectMeta: meta(p), Spec: sourcev1.HelmRepositorySpec{URL: scheme + p.Registry + "/charts"}}
			edit(o)
			return o
		}
	}
	return []Attack{
		source("insecure-source", "has spec.insecure", oci(func(o *sourcev1.OCIRepository) { o.Spec.Insecure = true }), ownChart),
		source("proxied-source", "has spec.proxySecretRef", oci(func(o *sourcev1.OCIRepository) {
			// The registry also answers requests to a proxy.
			o.Spec.ProxySecretRef = &fluxmeta.LocalObjectReference{Name: o.Name}
		}), ownChart),
		source("static-repository", "is of type oci", repository("oci://", func(o *sourcev1.HelmRepository) { o.Spec.Type = sourcev1.HelmRepositoryTypeOCI }), repositoryChart),
		source("suspended-repository", "is suspended", repository("http://", func(o *sourcev1.HelmRepository) { o.Spec.Suspend = true }), repositoryChart),
		protected("secret-with-kind", Attack{
			// A plan hides what a Secret has.
			Secret: map[string]string{"values.yaml": "kind: PersistentVolumeClaim\nversion: v1\n"},
			Edit: func(hr *helmv2.HelmRelease) {
				claiming(true)(hr)
				from(helmv2.KindSecret, "", "", 1)(hr)
			},
			Later: []Step{{Edit: claiming(false), Outcome: refused("PersistentVolumeClaim")}},
		}),
		protected("rollback", Attack{
			Edit: claiming(false),
			Later: []Step{
				{Edit: claiming(true), Outcome: harmless()},
				{Edit: claiming(false), Outcome: refused("PersistentVolumeClaim")},
				{Policy: freeze("incident"), Outcome: Outcome{Status: metav1.ConditionUnknown, Reason: helmv2.ReasonFrozen, Says: []string{"incident"}}},
				{Edit: rollBack, Outcome: Outcome{Type: helmv2.ConditionRolledBack, Status: metav1.ConditionUnknown, Reason: helmv2.ReasonFrozen, Says: []string{"incident"}}},
				{Policy: freeze(""), Outcome: Outcome{
					Type: helmv2.ConditionRolledBack, Status: metav1.ConditionTrue, Reason: helmv2.ReasonRolledBack, Says: []string{"PersistentVolumeClaim", "ReleasePolicy/"},
				}},
			},
		}),
	}
}

// source returns an attack with a source that has an allowed URL, and whose content may come from
// elsewhere. edit selects it.
func source(name, says string, of func(Place) client.Object, edit func(*helmv2.HelmRelease)) Attack {
	return Attack{
		Name:   "policies/" + name,
		Policy: &v1alpha1.ReleasePolicySpec{Charts: &v1alpha1.ChartPolicy{Sources: []string{"*://*/charts/*"}}},
		Setting: func(p Place) Setting {
			proxy := &corev1.Secret{ObjectMeta: meta(p), StringData: map[string]string{"address": "http://" + p.Registry}}
			return Setting{
				Before: []client.Object{Source(p.Namespace, p.Name+"-other", "oci://"+p.Registry+"/other/"+HarmlessChart), of(p), proxy},
				Never: []client.Object{
					&corev1.ConfigMap{ObjectMeta: meta(p)},
					&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: "sh.helm.release.v1." + p.Name + ".v1"}},
				},
			}
		},
		// The refusal of a URL without a chart proves that the controller knows the policy.
		Edit: otherChart, Outcome: refused("is not one of the allowed sources"),
		Later: []Step{{Edit: edit, Outcome: refused(says)}},
	}
}

// protected returns an attack of the short form on a PersistentVolumeClaim that a policy protects.
func protected(name string, a Attack) Attack {
	a.Name, a.Worst = "policies/"+name, true
	a.Archive = template("---\n{{ if .Values.claim }}\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: {{ .Release.Name }}\n" +
		"spec:\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}\n{{ end }}\n")
	a.Policy = &v1alpha1.ReleasePolicySpec{Protect: []v1alpha1.Protection{{
		Kinds: []string{"PersistentVolumeClaim"}, Operations: []v1alpha1.ProtectedOperation{v1alpha1.ProtectDelete}, Deny: true,
	}}}
	a.Setting = func(p Place) Setting {
		return Setting{Kept: []client.Object{&corev1.PersistentVolumeClaim{ObjectMeta: meta(p)}}}
	}
	return a
}

func meta(p Place) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name} }

// refused returns the outcome of a chart or a change that a policy refuses.
func refused(says ...string) Outcome { return rejected(helmv2.ReasonPolicyRefused, says...) }

// otherChart selects a source whose URL the policy does not allow, and ownChart one with the name of the
// release.
func otherChart(hr *helmv2.HelmRelease) { chartOf(hr, hr.Name+"-other") }

func ownChart(hr *helmv2.HelmRelease) { chartOf(hr, hr.Name) }

func chartOf(hr *helmv2.HelmRelease, source string) {
	hr.Spec.ChartRef = &helmv2.CrossNamespaceSourceReference{Kind: helmv2.KindOCIRepository, Name: source}
}

// repositoryChart selects the chart in the HelmRepository with the name of the release.
func repositoryChart(hr *helmv2.HelmRelease) {
	hr.Spec.ChartRef, hr.Spec.Chart = nil, &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
		Chart: HarmlessChart, Version: Version, SourceRef: helmv2.CrossNamespaceObjectReference{Kind: sourcev1.HelmRepositoryKind, Name: hr.Name},
	}}
}

// claiming sets whether the release has the claim. No volume is bound to it.
func claiming(has bool) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) {
		inline(map[string]any{"claim": has})(hr)
		hr.Spec.Install, hr.Spec.Upgrade = &helmv2.Install{DisableWait: true}, &helmv2.Upgrade{DisableWait: true}
		hr.Spec.Rollback, hr.Spec.Uninstall = &helmv2.Rollback{DisableWait: true}, &helmv2.Uninstall{DisableWait: true}
	}
}

func freeze(why string) func(*v1alpha1.ReleasePolicySpec) {
	return func(s *v1alpha1.ReleasePolicySpec) { s.Freeze = why }
}

// rollBack requests the first revision.
func rollBack(hr *helmv2.HelmRelease) {
	metav1.SetMetaDataAnnotation(&hr.ObjectMeta, helmv2.AnnotationRollbackTo, "1")
}
