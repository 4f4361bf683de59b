// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const (
	// namespace is that of everything.
	namespace   = "soak"
	benchChart  = "bench"
	fickleChart = "fickle"
	// repositoryName is the HelmRepository's.
	repositoryName = "charts"
	// nowhere is a tag that no registry has.
	nowhere = "missing"
	// failAfter is the timeout of a release whose Pods never become ready.
	failAfter = 15 * time.Second
)

func releaseName(i int) string { return fmt.Sprintf("soak-%04d", i) }

func configName(i int) string { return fmt.Sprintf("values-%d", i) }

// render returns an object to apply.
func (f *fleet) render(o object, registry string) (*unstructured.Unstructured, error) {
	switch o.kind {
	case aSource:
		return plain(f.ociRepository(o.index, registry), sourcev1.GroupVersion.String(), sourcev1.OCIRepositoryKind)
	case aConfig:
		values := fmt.Sprintf("service:\n  port: %d\n", f.port(o.index))
		return plain(&corev1.ConfigMap{ObjectMeta: shared(o.index), Data: map[string]string{"values.yaml": values}}, "v1", helmv2.KindConfigMap)
	case aSecret:
		values := fmt.Sprintf("ingress:\n  host: %s\n", f.host(o.index))
		return plain(&corev1.Secret{ObjectMeta: shared(o.index), Data: map[string][]byte{"values.yaml": []byte(values)}}, "v1", helmv2.KindSecret)
	case aRelease:
	}
	hr, err := f.helmRelease(o.index)
	if err != nil {
		return nil, err
	}
	return plain(hr, helmv2.GroupVersion.String(), helmv2.HelmReleaseKind)
}

func shared(i int) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: configName(i), Labels: map[string]string{"reconcile.fluxcd.io/watch": "Enabled"},
	}
}

// plain returns an object without fields that only the API server writes.
func plain(o client.Object, apiVersion, kind string) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return u, nil
}

func (f *fleet) ociRepository(i int, registry string) *sourcev1.OCIRepository {
	s := &f.sources[i]
	tag := s.version
	if s.broken {
		tag = nowhere
	}
	return &sourcev1.OCIRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: s.name},
		Spec: sourcev1.OCIRepositorySpec{
			URL: "oci://" + registry + "/charts/" + s.chart, Insecure: true,
			Reference: &sourcev1.OCIRepositoryRef{Tag: tag}, Interval: metav1.Duration{Duration: time.Hour},
		},
	}
}

func (f *fleet) helmRelease(i int) (*helmv2.HelmRelease, error) {
	r := &f.releases[i]
	values, err := json.Marshal(f.own(i))
	if err != nil {
		return nil, err
	}
	hr := &helmv2.HelmRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: releaseName(i), Annotations: requests(r)},
		Spec: helmv2.HelmReleaseSpec{
			Interval: metav1.Duration{Duration: r.interval}, Suspend: r.suspended,
			MaxHistory: new(maxHistory(i)), Values: &apiextensionsv1.JSON{Raw: values},
		},
	}
	if r.config >= 0 {
		hr.Spec.ValuesFrom = append(hr.Spec.ValuesFrom, helmv2.ValuesReference{Kind: helmv2.KindConfigMap, Name: configName(r.config)})
	}
	if r.secret >= 0 {
		hr.Spec.ValuesFrom = append(hr.Spec.ValuesFrom, helmv2.ValuesReference{Kind: helmv2.KindSecret, Name: configName(r.secret)})
	}
	f.chartOf(hr, i)
	return hr, nil
}

// maxHistory is that of a release's spec.
func maxHistory(i int) int { return 2 + i%4 }

func requests(r *release) map[string]string {
	annotations := map[string]string{}
	for key, token := range map[string]int{
		helmv2.AnnotationReconcileRequest: r.reconcile, helmv2.AnnotationForceRequest: r.force, helmv2.AnnotationResetRequest: r.reset,
	} {
		if token > 0 {
			annotations[key] = strconv.Itoa(token)
		}
	}
	return annotations
}

// chartOf sets the chart of a release, and the remediation of one that may fail.
func (f *fleet) chartOf(hr *helmv2.HelmRelease, i int) {
	from := func(name string) *helmv2.CrossNamespaceSourceReference {
		return &helmv2.CrossNamespaceSourceReference{Kind: helmv2.KindOCIRepository, Name: name}
	}
	switch mannerOf(i) {
	case pinned:
		hr.Spec.ChartRef = from("bench-" + f.releases[i].version)
	case rolling:
		hr.Spec.ChartRef = from(rollingName(i / 8 % rollers))
	case templated:
		hr.Spec.Chart = &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
			Chart: benchChart, Version: f.releases[i].version,
			SourceRef: helmv2.CrossNamespaceObjectReference{Kind: sourcev1.HelmRepositoryKind, Name: repositoryName},
		}}
	case fickle:
		hr.Spec.ChartRef = from(fickleChart)
		hr.Spec.Timeout = &metav1.Duration{Duration: failAfter}
		hr.Spec.Install = &helmv2.Install{Remediation: &helmv2.InstallRemediation{Retries: 3}}
		remedies := []helmv2.RemediationStrategy{helmv2.RemediationRollback, helmv2.RemediationUninstall}
		hr.Spec.Upgrade = &helmv2.Upgrade{Remediation: &helmv2.UpgradeRemediation{Retries: 3, Strategy: remedies[i/8%2]}}
	}
}
