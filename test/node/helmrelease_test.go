// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/json"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	helmchart "helm.sh/helm/v3/pkg/chart"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

type values map[string]any

// source pushes a chart and creates an OCIRepository for it.
func (w world) source(chart *helmchart.Chart) string {
	w.Helper()
	archive, err := harness.Pack(chart)
	w.must(err)
	w.must(env.Registry.PushChart(w.Context(), w.namespace, archive))
	name := chart.Metadata.Name
	o := &sourcev1.OCIRepository{
		ObjectMeta: w.meta(name),
		Spec: sourcev1.OCIRepositorySpec{
			URL: "oci://" + env.Registry.Address + "/" + w.namespace + "/" + name, Insecure: true,
			Interval:  metav1.Duration{Duration: time.Hour},
			Reference: &sourcev1.OCIRepositoryRef{SemVer: ">=0.0.0"},
			LayerSelector: &sourcev1.OCILayerSelector{
				MediaType: "application/vnd.cncf.helm.chart.content.v1.tar+gzip", Operation: sourcev1.OCILayerCopy,
			},
		},
	}
	w.must(env.Client.Create(w.Context(), o))
	return o.Name
}

// release creates a HelmRelease of test/charts/shell. Changes are made before.
func (w world) release(name string, v values, changes ...func(*helmv2.HelmRelease)) *helmv2.HelmRelease {
	w.Helper()
	chart, err := harness.LoadChart("shell")
	w.must(err)
	return w.releaseOf(chart, name, v, changes...)
}

// releaseOf creates a HelmRelease of a chart. Changes are made before.
func (w world) releaseOf(chart *helmchart.Chart, name string, v values, changes ...func(*helmv2.HelmRelease)) *helmv2.HelmRelease {
	w.Helper()
	hr := &helmv2.HelmRelease{
		ObjectMeta: w.meta(name),
		Spec: helmv2.HelmReleaseSpec{
			Interval: metav1.Duration{Duration: time.Hour},
			Timeout:  &metav1.Duration{Duration: patience},
			ChartRef: &helmv2.CrossNamespaceSourceReference{Kind: helmv2.KindOCIRepository, Name: w.source(chart)},
			Values:   w.raw(v),
		},
	}
	for _, change := range changes {
		change(hr)
	}
	w.must(env.Client.Create(w.Context(), hr))
	return hr
}

func (w world) raw(v values) *apiextensionsv1.JSON {
	w.Helper()
	content, err := json.Marshal(v)
	w.must(err)
	return &apiextensionsv1.JSON{Raw: content}
}

// edit changes a HelmRelease with retries on conflicts.
func (w world) edit(hr *helmv2.HelmRelease, change func(*helmv2.HelmRelease)) {
	w.Helper()
	w.must(env.Client.Get(w.Context(), client.ObjectKeyFromObject(hr), hr))
	before := hr.DeepCopy()
	change(hr)
	w.must(env.Client.Patch(w.Context(), hr, client.MergeFrom(before)))
}

// until waits until a HelmRelease is as wanted, and updates it.
func (w world) until(hr *helmv2.HelmRelease, what string, wanted func(*helmv2.HelmRelease) bool) {
	w.Helper()
	ctx, cancel := w.bounded()
	defer cancel()
	got, err := env.WaitRelease(ctx, client.ObjectKeyFromObject(hr), what, wanted)
	if err != nil {
		w.Fatalf("%v\n%s", err, w.podsText(w.Context()))
	}
	*hr = *got
}

func (w world) ready(hr *helmv2.HelmRelease) {
	w.Helper()
	w.until(hr, "to be ready", harness.Ready)
}

// says waits until a condition of the current generation has a status, a reason, and all parts in
// its message.
func (w world) says(hr *helmv2.HelmRelease, condition string, status metav1.ConditionStatus, reason string, parts ...string) {
	w.Helper()
	what := "to say " + condition + "=" + string(status) + " " + reason + ", naming " + strings.Join(parts, ", ")
	w.until(hr, what, func(hr *helmv2.HelmRelease) bool {
		c := apimeta.FindStatusCondition(hr.Status.Conditions, condition)
		if c == nil || c.Status != status || c.Reason != reason || c.ObservedGeneration != hr.Generation {
			return false
		}
		for _, part := range parts {
			if !strings.Contains(c.Message, part) {
				return false
			}
		}
		return true
	})
}

// revision checks a stored revision.
func (w world) revision(hr *helmv2.HelmRelease, number int, status string) {
	w.Helper()
	stored, err := env.Stored(w.Context(), w.namespace)
	w.must(err)
	revisions := stored[hr.Name]
	if len(revisions) < number || revisions[number-1].Status != status {
		w.Errorf("Helm has stored %+v, want revision %d to be %s", revisions, number, status)
	}
}
