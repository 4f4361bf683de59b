// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

//go:build reference

package e2e

import (
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	helmchart "helm.sh/helm/v3/pkg/chart"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

// odd are values with several possible encodings.
func odd() values {
	return values{
		"million": 1000000, "fraction": 1234567.8, "tenth": 0.1, "big": 12345678901234567, "whole": 3.0, "small": 1e-7,
		"string": "5", "null": nil, "yes": true, "empty": values{}, "none": []any{},
		"deep": values{"list": []any{1, "two", values{"three": 3.5}, []any{nil, false}}, "markup": "<a & b>", "ümlaut": "\u2028"},
	}
}

// motley is test/charts/fickle that also renders odd values.
func (w world) motley() *helmchart.Chart {
	w.Helper()
	c := w.fickle("0.1.0")
	c.Templates = append(c.Templates, &helmchart.File{Name: "templates/odd.yaml", Data: []byte(`
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "fickle.fullname" . }}
data:
  all: {{ toJson .Values.odd | quote }}
  {{- range $key, $value := .Values.odd }}
  {{ $key | quote }}: {{ $value | toString | quote }}
  {{- end }}
`)})
	c.Values["odd"] = map[string]any{}
	return c
}

func spare(annotation string) values { return values{"podAnnotations": values{"note": annotation}} }

// changelings are releases of all kinds, not created yet. The objects that they need exist.
func (w world) changelings() []*changeling {
	w.Helper()
	w.push("0.1.0")
	w.Publish(w.motley())
	archive, err := harness.Pack(w.fickle("0.1.0"))
	w.Must(err)
	w.Must(env.charts.Add(w.Namespace, archive))
	w.Must(env.git.Commit(w.Context(), w.Namespace, w.fickle("0.1.0")))
	w.source("hello", env.Registry.Address)
	w.artifact(sourcev1.OCIRepositoryRef{Tag: "0.1.0"})
	w.Create(w.repository(), w.clone(), &corev1.ConfigMap{
		ObjectMeta: w.Meta("values"), Data: map[string]string{"values.yaml": "replicas: 2\nodd: {million: 1000000, t: 0.10}\n", "n": "1e3"},
	})

	fickle := fixture.ChartRef(helmv2.KindOCIRepository, "fickle")
	no, yes := metav1.ConditionFalse, metav1.ConditionTrue
	ofGit := w.chartOf(sourcev1.GitRepositoryKind, "git", "./charts/fickle")
	ofGit.Chart.Spec.ReconcileStrategy = "Revision"
	failing := func(remediate bool) func(*helmv2.HelmReleaseSpec) {
		return upgrade(func(u *helmv2.Upgrade) {
			u.Remediation = &helmv2.UpgradeRemediation{RemediateLastFailure: &remediate}
		})
	}
	all := []*changeling{
		{HelmRelease: w.Draft("numbers", fickle, nil), first: values{"odd": odd()}, second: values{"odd": odd(), "replicas": 2}},
		{HelmRelease: w.Draft("chart", w.chartOf(sourcev1.HelmRepositoryKind, "charts", "fickle"), nil), second: spare("second")},
		{HelmRelease: w.Draft("git", ofGit, nil), second: spare("second")},
		{
			HelmRelease: w.Draft("hook", fixture.ChartRef(helmv2.KindOCIRepository, "hello"), nil),
			first:       values{"message": "one", "global": values{"odd": odd()}}, second: values{"message": "two", "global": values{"odd": odd()}},
		},
		{
			HelmRelease: w.Draft("hooks", fickle, nil), first: values{"hook": values{"when": "post-install,post-upgrade"}},
			second: values{"hook": values{"when": "post-install,post-upgrade"}, "replicas": 2},
		},
		{HelmRelease: w.rendered(), second: spare("second")},
		{HelmRelease: w.Draft("tested", fickle, nil), second: spare("second"), unlike: tested},
		{HelmRelease: w.Draft("from", fickle, nil), second: spare("second")},
		{HelmRelease: w.Draft("csa", fickle, nil), second: spare("second"), unlike: upgradeApply(helmv2.ServerSideApplyDisabled)},
		{HelmRelease: w.Draft("elsewhere", fickle, nil), second: spare("second")},
		{HelmRelease: w.Draft("called-so-long-that-helm-would-not-take-it-as-it-is-given", fickle, nil), second: spare("second")},
		{HelmRelease: w.Draft("bare", fickle, nil), second: spare("second")},
		{
			HelmRelease: w.Draft("rolledback", fickle, nil), second: unready(), unlike: failing(true), stay: true,
			end: conditions{helmv2.ConditionRemediated: yes, helmv2.ConditionReady: no},
		},
		{
			HelmRelease: w.Draft("failed", fickle, nil), second: unready(), unlike: failing(false), stay: true,
			end: conditions{helmv2.ConditionStalled: yes, helmv2.ConditionReady: no},
		},
		{
			HelmRelease: w.Draft("untested", fickle, nil), second: failedTest(), unlike: tested, stay: true,
			end: conditions{helmv2.ConditionTestSuccess: no, helmv2.ConditionReady: no},
		},
	}
	for _, c := range all {
		switch c.Name {
		case "from":
			c.Spec.ValuesFrom = []helmv2.ValuesReference{
				{Kind: helmv2.KindConfigMap, Name: "values"},
				{Kind: helmv2.KindConfigMap, Name: "values", ValuesKey: "n", TargetPath: "odd.n"},
			}
		case "elsewhere":
			c.Spec.TargetNamespace, c.Spec.StorageNamespace = w.Namespace, w.Namespace
		case "csa":
			installApply(false)(&c.Spec)
		}
	}
	return all
}

// rendered is a release with all that changes manifests.
func (w world) rendered() *helmv2.HelmRelease {
	w.Helper()
	hr := w.Draft("rendered", fixture.ChartRef(helmv2.KindOCIRepository, "fickle"), nil)
	hr.Spec.CommonMetadata = &helmv2.CommonMetadata{
		Labels: map[string]string{"team": "a"}, Annotations: map[string]string{"example.com/note": "n", "b": "true"},
	}
	hr.Spec.PostRenderers = []helmv2.PostRenderer{
		{Kustomize: &helmv2.Kustomize{
			Patches: []helmv2.Patch{{
				Target: &helmv2.Selector{Kind: "Deployment"},
				Patch:  "- op: add\n  path: /metadata/labels/yyyy\n  value: xxxx\n",
			}},
			Images: []helmv2.Image{{Name: "example.com/pintle/fickle", NewTag: "7"}},
		}},
		{Kustomize: &helmv2.Kustomize{Patches: []helmv2.Patch{{
			Patch: "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: rendered-fickle\n  labels:\n    second: \"1\"\n",
		}}}},
	}
	return hr
}
