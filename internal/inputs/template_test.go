// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// templated returns a HelmRelease whose spec.chart is YAML.
func templated(t *testing.T, text string) *helmv2.HelmRelease {
	t.Helper()
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "app"}}
	hr.Spec.Interval = metav1.Duration{Duration: time.Hour}
	hr.Spec.Chart = &helmv2.HelmChartTemplate{}
	if err := yaml.UnmarshalStrict([]byte(text), hr.Spec.Chart); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return hr
}

// TestTemplateRules: the rules of the CRD hold without them.
func TestTemplateRules(t *testing.T) {
	t.Parallel()
	const (
		chart = "chart: note, sourceRef: {kind: HelmRepository, name: charts}"
		url   = "url: 'oci://registry/charts/note'"
		both  = "must be set unless spec.chart.kind is OCIRepository"
	)
	for name, tc := range map[string]struct{ template, want string }{
		"HelmChart":          {"{spec: {" + chart + "}}", ""},
		"HelmChartNamed":     {"{kind: HelmChart, spec: {" + chart + ", version: 1.x, reconcileStrategy: Revision, valuesFiles: [a]}}", ""},
		"HelmChartOtherwise": {"{spec: {" + chart + ", ref: {tag: '1'}, insecure: true}}", ""},
		"OCIRepository":      {"{kind: OCIRepository, spec: {" + url + ", ref: {semver: 1.x}}}", ""},
		"FormerDefaults":     {"{kind: OCIRepository, spec: {" + url + ", version: '*', reconcileStrategy: ChartVersion}}", ""},
		"Dropped":            {"{spec: {version: '*', reconcileStrategy: ChartVersion}}", "install the CRD of this version"},
		"NoChart":            {"{spec: {sourceRef: {kind: HelmRepository, name: charts}}}", both},
		"NoSourceRef":        {"{spec: {chart: note}}", both},
		"URLOfHelmChart":     {"{spec: {" + chart + ", " + url + "}}", "spec.chart.spec.url must not be set unless"},
		"Unknown":            {"{kind: Bucket, spec: {" + chart + "}}", "spec.chart.kind Bucket is not supported"},
		"TrustedRoot":        {"{spec: {" + chart + ", verify: {provider: cosign, trustedRootSecretRef: {name: root}}}}", "trustedRootSecretRef must not be set unless"},
		"NoURL":              {"{kind: OCIRepository, spec: {ref: {tag: '1'}}}", "spec.chart.spec.url must be set"},
		"HTTP":               {"{kind: OCIRepository, spec: {url: 'https://registry/charts/note'}}", "start with oci://"},
		"ChartToo":           {"{kind: OCIRepository, spec: {" + url + ", chart: note}}", "spec.chart.spec.chart must not be set if"},
		"SourceRefToo":       {"{kind: OCIRepository, spec: {" + url + ", sourceRef: {kind: Bucket, name: b}}}", "sourceRef must not be set if"},
		"ValuesFilesToo":     {"{kind: OCIRepository, spec: {" + url + ", valuesFiles: []}}", "valuesFiles must not be set if"},
		"MissingToo":         {"{kind: OCIRepository, spec: {" + url + ", ignoreMissingValuesFiles: true}}", "ignoreMissingValuesFiles must not be set if"},
		"VersionToo":         {"{kind: OCIRepository, spec: {" + url + ", version: 1.x}}", "version must not be set if"},
		"StrategyToo":        {"{kind: OCIRepository, spec: {" + url + ", reconcileStrategy: Revision}}", "reconcileStrategy must not be set if"},
	} {
		err := CheckTemplate(templated(t, tc.template))
		b := &release.Blocked{}
		if err != nil {
			b = blocked(t, err)
		}
		if !strings.Contains(b.Message, tc.want) || (tc.want == "") != (err == nil) || err != nil && (b.Reason != helmv2.ReasonUnsupportedField || !b.Terminal) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	if err := CheckTemplate(app()); err != nil {
		t.Errorf("spec.chartRef: %v", err)
	}
}

// TestTemplateSource: each field of a template reaches its source, with the defaults of the source.
func TestTemplateSource(t *testing.T) {
	t.Parallel()
	meta := func(kind, namespace, labels string) string {
		return "{apiVersion: source.toolkit.fluxcd.io/v1, kind: " + kind + ", metadata: {name: prod-app, namespace: " + namespace +
			", labels: {helm.toolkit.fluxcd.io/name: app, helm.toolkit.fluxcd.io/namespace: prod" + labels + "}"
	}
	for name, tc := range map[string]struct{ template, want string }{
		"HelmChart": {
			"{spec: {chart: note, sourceRef: {kind: HelmRepository, name: charts, namespace: sources}}}",
			meta("HelmChart", "sources", "") + "}, spec: {chart: note, version: '*', reconcileStrategy: ChartVersion, interval: 1h0m0s, sourceRef: {kind: HelmRepository, name: charts}}}",
		},
		"HelmChartAll": {
			`{kind: HelmChart, metadata: {labels: {team: web}, annotations: {a: b}}, spec: {chart: note, version: 1.x, reconcileStrategy: Revision, interval: 5m,
			  sourceRef: {kind: Bucket, name: charts}, valuesFiles: [a], ignoreMissingValuesFiles: true,
			  verify: {provider: cosign, secretRef: {name: keys}, matchOIDCIdentity: [{issuer: i, subject: s}]}}}`,
			meta("HelmChart", "prod", ", team: web") + `, annotations: {a: b}}, spec: {chart: note, version: 1.x, reconcileStrategy: Revision, interval: 5m0s,
			  sourceRef: {kind: Bucket, name: charts}, valuesFiles: [a], ignoreMissingValuesFiles: true,
			  verify: {provider: cosign, secretRef: {name: keys}, matchOIDCIdentity: [{issuer: i, subject: s}]}}}`,
		},
		"OCIRepository": {
			"{kind: OCIRepository, spec: {url: 'oci://registry/charts/note', version: '*', reconcileStrategy: ChartVersion}}",
			meta("OCIRepository", "prod", "") + "}, spec: {url: 'oci://registry/charts/note', interval: 1h0m0s, provider: generic, timeout: 1m0s}}",
		},
		"OCIRepositoryAll": {
			`{kind: OCIRepository, metadata: {labels: {team: web}, annotations: {a: b}}, spec: {` + ociFields + `}}`,
			meta("OCIRepository", "prod", ", team: web") + `, annotations: {a: b}}, spec: {` + ociFields + `}}`,
		},
	} {
		hr := templated(t, tc.template)
		var got, want map[string]any
		raw, err := json.Marshal(TemplateSource(hr))
		if err == nil {
			err = json.Unmarshal(raw, &got)
		}
		if err == nil {
			err = yaml.Unmarshal([]byte(tc.want), &want)
		}
		if err != nil {
			t.Fatal(err)
		}
		delete(got, "status")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if kind, key := SourceOf(hr); kind != want["kind"] || key != client.ObjectKeyFromObject(TemplateSource(hr)) {
			t.Errorf("%s: the source is %s %s", name, kind, key)
		}
	}
}

// ociFields are all fields of an OCIRepository.
const ociFields = `url: 'oci://registry/charts/note', ref: {tag: '1', semver: 1.x, semverFilter: f, digest: 'sha256:a'},
	layerSelector: {mediaType: m, operation: copy}, provider: aws, secretRef: {name: a}, serviceAccountName: b, certSecretRef: {name: c},
	proxySecretRef: {name: d}, interval: 5m0s, timeout: 3m0s, ignore: i, insecure: true, suspend: true,
	verify: {provider: cosign, secretRef: {name: e}, matchOIDCIdentity: [{issuer: i, subject: s}], trustedRootSecretRef: {name: r}}`

// TestHasTemplateSpec: users may suspend a source, and the interval does not select the chart.
func TestHasTemplateSpec(t *testing.T) {
	t.Parallel()
	for _, template := range []string{
		"{spec: {chart: note, sourceRef: {kind: HelmRepository, name: charts}}}",
		"{kind: OCIRepository, spec: {url: 'oci://registry/charts/note'}}",
	} {
		want, other := TemplateSource(templated(t, template)), TemplateSource(templated(t, strings.ReplaceAll(template, "note", "other")))
		spec := func(edit func(chart *sourcev1.HelmChartSpec, oci *sourcev1.OCIRepositorySpec)) client.Object {
			have, _ := want.DeepCopyObject().(client.Object)
			switch o := have.(type) {
			case *sourcev1.HelmChart:
				edit(&o.Spec, &sourcev1.OCIRepositorySpec{})
			case *sourcev1.OCIRepository:
				edit(&sourcev1.HelmChartSpec{}, &o.Spec)
			}
			return have
		}
		suspended := spec(func(c *sourcev1.HelmChartSpec, o *sourcev1.OCIRepositorySpec) { c.Suspend, o.Suspend = true, true })
		faster := spec(func(c *sourcev1.HelmChartSpec, o *sourcev1.OCIRepositorySpec) {
			c.Interval.Duration, o.Interval.Duration = 1, 1
		})
		if !HasTemplateSpec(suspended, want) || HasTemplateSpec(faster, want) || HasTemplateSpec(other, want) || HasTemplateSpec(&sourcev1.Bucket{}, want) {
			t.Errorf("%s: the spec", template)
		}
		if !HasTemplateChart(suspended, want) || !HasTemplateChart(faster, want) || HasTemplateChart(other, want) || HasTemplateChart(&sourcev1.Bucket{}, want) {
			t.Errorf("%s: the chart", template)
		}
	}
	running, suspended := templated(t, "{kind: OCIRepository, spec: {url: 'oci://r/n'}}"), templated(t, "{kind: OCIRepository, spec: {url: 'oci://r/n', suspend: true}}")
	if HasTemplateSpec(TemplateSource(running), TemplateSource(suspended)) {
		t.Error("a template suspends its source")
	}
}

// TestRecorded: both forms of status.helmChart are read and written.
func TestRecorded(t *testing.T) {
	t.Parallel()
	key := types.NamespacedName{Namespace: "prod", Name: "app"}
	for text, kind := range map[string]string{
		"prod/app": "HelmChart", "OCIRepository/prod/app": "OCIRepository",
		"": "", "app": "", "/app": "", "prod/": "", "Secret/prod/app": "", "OCIRepository/prod/app/x": "", "OCIRepository//app": "",
	} {
		got, gotKey, ok := Recorded(text)
		if ok != (kind != "") || got != kind || ok && (gotKey != key || RecordOf(got, gotKey) != text) {
			t.Errorf("%q: %s %s %t", text, got, gotKey, ok)
		}
	}
	if kind, got, ok := Recorded("HelmChart/prod/app"); !ok || kind != "HelmChart" || got != key {
		t.Errorf("the long form of a HelmChart: %s %s", kind, got)
	}
}

// TestVersionKept: after spec.chart has changed its kind, the same chart has the same version.
func TestVersionKept(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	oci := repository(s)
	oci.Name = "prod-app"
	helmChart := func(a *fluxmeta.Artifact) *sourcev1.HelmChart {
		return &sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "prod-app"}, Status: sourcev1.HelmChartStatus{Artifact: a}}
	}
	// One has the same file in another archive.
	files := "apiVersion: v2\nname: note\nversion: 1.2.3\nappVersion: \"9\"\n"
	again, other := serveChart(t, files), serveChart(t, files+"description: other\n")
	const plain, digested = "1.2.3", "1.2.3+9933f58f8bf4"
	for name, tc := range map[string]struct {
		former *sourcev1.HelmChart
		edit   func(*helmv2.HelmRelease)
		want   string
	}{
		"Same":    {former: helmChart(s.artifact("1.2.3")), want: plain},
		"Again":   {former: helmChart(again), want: plain},
		"Other":   {former: helmChart(other), want: digested},
		"Gone":    {want: digested},
		"Unready": {former: helmChart(nil), want: digested},
		"Known": {edit: func(hr *helmv2.HelmRelease) {
			hr.Status.HelmChart, hr.Status.LastAttemptedRevision, hr.Status.LastAttemptedRevisionDigest = "OCIRepository/prod/prod-app", plain, tagDigest
		}, want: plain},
		"Moved": {edit: func(hr *helmv2.HelmRelease) {
			hr.Status.HelmChart, hr.Status.LastAttemptedRevision, hr.Status.LastAttemptedRevisionDigest = "OCIRepository/prod/prod-app", plain, "sha256:former"
		}, want: digested},
		"OtherRevision": {former: helmChart(s.artifact("1.2.3")), edit: func(hr *helmv2.HelmRelease) { hr.Status.History[0].ChartVersion = "1.2.2" }, want: digested},
		"NoRevision":    {former: helmChart(s.artifact("1.2.3")), edit: func(hr *helmv2.HelmRelease) { hr.Status.History = nil }, want: digested},
	} {
		hr := app(func(hr *helmv2.HelmRelease) {
			hr.Spec.ChartRef, hr.Spec.Chart = nil, templated(t, "{kind: OCIRepository, spec: {url: 'oci://registry/charts/note'}}").Spec.Chart
			hr.Status.HelmChart, hr.Status.LastAttemptedRevision = "prod/prod-app", plain
			hr.Status.History = helmv2.Snapshots{{ChartName: "note", ChartVersion: plain}}
			if tc.edit != nil {
				tc.edit(hr)
			}
		})
		objects := []client.Object{oci}
		if tc.former != nil {
			objects = append(objects, tc.former)
		}
		want, err := NewResolver(reader(t, objects...), nil, s.charts).Resolve(t.Context(), hr, release.Suspension{})
		if err != nil || want.Chart.Version != tc.want || want.Chart.OCIDigest != tagDigest {
			t.Errorf("%s: %+v, %v", name, want.Chart, err)
		}
	}
}

// TestDigestKept: after spec.chart has changed its kind to HelmChart, the same chart has the same version
// and the same digest.
func TestDigestKept(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	files := "apiVersion: v2\nname: note\nversion: 1.2.3\nappVersion: \"9\"\n"
	other := serveChart(t, files+"description: other\n")
	other.Revision = "1.2.3@" + tagDigest
	const plain, digested = "1.2.3", "1.2.3+9933f58f8bf4"
	for name, tc := range map[string]struct {
		former func(*sourcev1.OCIRepository)
		gone   bool
		edit   func(*helmv2.HelmRelease)
		want   string
	}{
		"Same":    {want: digested},
		"Other":   {former: func(o *sourcev1.OCIRepository) { o.Status.Artifact = other }, want: plain},
		"Unready": {former: func(o *sourcev1.OCIRepository) { o.Status.Artifact = nil }, want: plain},
		// The charts were compared before the OCIRepository was deleted.
		"Gone":          {gone: true, want: digested},
		"Another":       {gone: true, edit: func(hr *helmv2.HelmRelease) { hr.Status.LastAttemptedRevisionDigest = "" }, want: plain},
		"OtherDigest":   {edit: func(hr *helmv2.HelmRelease) { hr.Status.LastAttemptedRevisionDigest = "sha256:0123456789abcdef" }, want: plain},
		"NotAttempted":  {edit: func(hr *helmv2.HelmRelease) { hr.Status.LastAttemptedRevision = "1.2.4" }, want: plain},
		"OtherRevision": {edit: func(hr *helmv2.HelmRelease) { hr.Status.History[0].ChartVersion = "1.2.2" }, want: plain},
	} {
		hr := app(func(hr *helmv2.HelmRelease) {
			hr.Spec.ChartRef, hr.Spec.Chart = nil, templated(t, "{spec: {chart: note, sourceRef: {kind: HelmRepository, name: charts}}}").Spec.Chart
			hr.Status.HelmChart, hr.Status.LastAttemptedRevision, hr.Status.LastAttemptedRevisionDigest = "prod/prod-app", digested, tagDigest
			hr.Status.History = helmv2.Snapshots{{ChartName: "note", ChartVersion: digested}}
			if tc.edit != nil {
				tc.edit(hr)
			}
		})
		objects := []client.Object{&sourcev1.HelmChart{
			ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "prod-app"}, Status: sourcev1.HelmChartStatus{Artifact: s.artifact(plain)},
		}}
		if !tc.gone {
			oci := repository(s)
			oci.Name = "prod-app"
			if tc.former != nil {
				tc.former(oci)
			}
			objects = append(objects, oci)
		}
		wantDigest := ""
		if tc.want == digested {
			wantDigest = tagDigest
		}
		want, err := NewResolver(reader(t, objects...), nil, s.charts).Resolve(t.Context(), hr, release.Suspension{})
		if err != nil || want.Chart.Version != tc.want || want.Chart.OCIDigest != wantDigest {
			t.Errorf("%s: %+v, %v", name, want.Chart, err)
		}
	}
}

// serveChart serves a chart of one file in an archive without compression.
func serveChart(t *testing.T, file string) *fluxmeta.Artifact {
	t.Helper()
	var archive bytes.Buffer
	gz, _ := gzip.NewWriterLevel(&archive, gzip.NoCompression)
	tw := tar.NewWriter(gz)
	err := tw.WriteHeader(&tar.Header{Name: "note/Chart.yaml", Mode: 0o600, Size: int64(len(file))})
	if err == nil {
		_, err = tw.Write([]byte(file))
	}
	if err := errors.Join(err, tw.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive.Bytes()) }))
	t.Cleanup(server.Close)
	return &fluxmeta.Artifact{URL: server.URL + "/chart.tgz", Digest: digest.SHA256.FromBytes(archive.Bytes()).String(), Revision: "1.2.3"}
}
