// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os"
	"strings"
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
)

// inRegistry makes a HelmRelease use an OCIRepository of its own.
func inRegistry(hr *helmv2.HelmRelease) {
	hr.Spec.ChartRef, hr.Spec.Chart = nil, &helmv2.HelmChartTemplate{Kind: helmv2.KindOCIRepository}
	hr.Spec.Chart.Spec.URL = "oci://localhost/charts/note"
	hr.Spec.Chart.Spec.Reference = &helmv2.OCIRepositoryRef{Tag: "1.0.0"}
}

func (w *world) ociRepository(key client.ObjectKey) (*sourcev1.OCIRepository, bool) {
	w.t.Helper()
	o := &sourcev1.OCIRepository{}
	err := suite.client.Get(w.t.Context(), key, o)
	if !apierrors.IsNotFound(err) {
		w.must(err)
	}
	return o, err == nil
}

// TestOCIRepositoryOfARelease: one HelmRelease is enough for a chart in a registry, and a template that
// changes its kind keeps the release.
func TestOCIRepositoryOfARelease(t *testing.T) {
	if os.Getenv("PINTLE_CRDS") != "" {
		t.Skip("spec.chart.kind is not a part of the definitions in PINTLE_CRDS")
	}
	t.Parallel()
	w := newWorld(t)
	hr := w.release("reg", nil, inRegistry)
	key := inputs.TemplateKey(hr)
	oci := "OCIRepository/" + key.String()
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonSourceNotReady, "OCIRepository '"+key.String()+"' is not ready")
	w.untilEvent(hr, corev1.EventTypeNormal, helmv2.EventReasonHelmChartCreated, "Created "+oci+" with URL 'oci://localhost/charts/note'")
	w.publish(key.Name, "1.0.0", configMapChart(t, "1.0.0"))
	w.untilReady(hr)
	source, _ := w.ociRepository(key)
	if hr.Status.HelmChart != oci || source.Generation != 1 || source.Labels[helmv2.LabelName] != "reg" || source.Spec.Interval != hr.Spec.Interval {
		t.Errorf("recorded %q, generation %d, labels %v, %+v", hr.Status.HelmChart, source.Generation, source.Labels, source.Spec)
	}
	if !inputs.HasTemplateSpec(source, inputs.TemplateSource(hr)) {
		t.Errorf("the API server changes the OCIRepository that is applied: %+v", source.Spec)
	}

	w.edit(hr, templated(""))
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonSourceNotReady, "HelmChart '"+key.String()+"' is not ready")
	if _, found := w.ociRepository(key); !found {
		t.Error("the OCIRepository was deleted before the HelmChart has an artifact")
	}
	w.fill(key, "1.0.0")
	w.untilReady(hr)
	w.until(hr, "the end of the OCIRepository", func(*helmv2.HelmRelease) bool { _, found := w.ociRepository(key); return !found })
	if hr.Status.HelmChart != key.String() || newest(hr) != 1 || !strings.HasPrefix(hr.Status.History[0].ChartVersion, "1.0.0+") {
		t.Errorf("the same chart made a revision, or recorded %q: %+v", hr.Status.HelmChart, hr.Status.History[0])
	}
	w.fill(key, "1.0.1")
	w.until(hr, "the upgrade", func(hr *helmv2.HelmRelease) bool { return newest(hr) == 2 })
	w.untilReady(hr)
	if hr.Status.History[0].ChartVersion != "1.0.1" || hr.Status.LastAttemptedRevisionDigest != "" {
		t.Errorf("another version of the HelmChart has the digest still: %+v", hr.Status)
	}
	before := newest(hr)

	w.edit(hr, func(hr *helmv2.HelmRelease) {
		inRegistry(hr)
		hr.Spec.Chart.Spec.Reference.Tag = "1.0.1"
	})
	w.untilSays(hr, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonSourceNotReady, "OCIRepository '"+key.String()+"' is not ready")
	if _, found := w.helmChart(key); !found || hr.Status.HelmChart != key.String() {
		t.Errorf("the HelmChart was given up before the OCIRepository has an artifact: %q", hr.Status.HelmChart)
	}
	w.publish(key.Name, "1.0.1", configMapChart(t, "1.0.1"))
	w.untilReady(hr)
	w.until(hr, "its OCIRepository", func(hr *helmv2.HelmRelease) bool { return hr.Status.HelmChart == oci })
	if _, found := w.helmChart(key); found || newest(hr) != before || !strings.HasPrefix(hr.Status.LastAttemptedRevisionDigest, "sha256:") {
		t.Errorf("the HelmChart is left (%t), or the same chart made a revision: %d after %d; %+v", found, newest(hr), before, hr.Status)
	}

	// A tag that was moved is a change nevertheless.
	w.publish(key.Name, "1.0.1", pack(t, "note", "1.0.1", map[string]string{"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: reg\n"}))
	w.until(hr, "the upgrade", func(hr *helmv2.HelmRelease) bool { return newest(hr) == before+1 })
	w.untilReady(hr)
	if !strings.HasPrefix(hr.Status.History[0].ChartVersion, "1.0.1+") {
		t.Errorf("the version is %s", hr.Status.History[0].ChartVersion)
	}
	w.must(suite.client.Delete(t.Context(), hr))
	w.untilGone(hr)
	if _, found := w.ociRepository(key); found {
		t.Error("the OCIRepository is left")
	}
}

// TestTemplateRules: the API server rejects what the controller would refuse. Without the fields in the
// CRD it rejects the object too.
func TestTemplateRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tc := range map[string]struct {
		edit func(*helmv2.HelmRelease)
		// want is a part of the error; empty if the object is accepted.
		want string
		// former is true if the CRD of helm-controller 1.6 does the same.
		former bool
	}{
		"HelmChart":       {edit: templated(""), former: true},
		"OCIRepository":   {edit: inRegistry},
		"Dropped":         {edit: func(hr *helmv2.HelmRelease) { inRegistry(hr); hr.Spec.Chart.Kind, hr.Spec.Chart.Spec.URL = "", "" }, want: "spec.chart", former: true},
		"NoURL":           {edit: func(hr *helmv2.HelmRelease) { inRegistry(hr); hr.Spec.Chart.Spec.URL = "" }, want: "spec.url must be set if kind is OCIRepository"},
		"HTTP":            {edit: func(hr *helmv2.HelmRelease) { inRegistry(hr); hr.Spec.Chart.Spec.URL = "https://localhost" }, want: "spec.chart.spec.url"},
		"ChartToo":        {edit: func(hr *helmv2.HelmRelease) { inRegistry(hr); hr.Spec.Chart.Spec.Chart = "note" }, want: "spec.chart must not be set if kind is OCIRepository"},
		"VersionToo":      {edit: func(hr *helmv2.HelmRelease) { inRegistry(hr); hr.Spec.Chart.Spec.Version = "1.x" }, want: "use spec.ref"},
		"AnyVersion":      {edit: func(hr *helmv2.HelmRelease) { inRegistry(hr); hr.Spec.Chart.Spec.Version = "*" }},
		"ValuesFilesToo":  {edit: func(hr *helmv2.HelmRelease) { inRegistry(hr); hr.Spec.Chart.Spec.ValuesFiles = []string{"a"} }, want: "spec.valuesFiles must not be set"},
		"URLOfAHelmChart": {edit: func(hr *helmv2.HelmRelease) { templated("")(hr); hr.Spec.Chart.Spec.URL = "oci://localhost" }, want: "spec.url must not be set unless"},
		"UnknownKind":     {edit: func(hr *helmv2.HelmRelease) { templated("")(hr); hr.Spec.Chart.Kind = "Bucket" }, want: "spec.chart.kind"},
	} {
		if os.Getenv("PINTLE_CRDS") != "" && !tc.former {
			continue
		}
		hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: strings.ToLower(name)}}
		hr.Spec.Interval.Duration = actionTimeout
		tc.edit(hr)
		err := suite.client.Create(t.Context(), hr, client.DryRunAll)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
