// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmchart

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// repo is the beginning of the spec of a HelmChart.
const repo = "chart: web\nrepo: https://charts.example\n"

// input returns the Input of a HelmChart web with a spec in YAML, which may use helm-web.
func input(t *testing.T, spec string, edit ...func(*Input)) Input {
	t.Helper()
	in := Input{Chart: &cattlev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}}, HasServiceAccount: true, ExternalArtifacts: true, Archive: &Archive{}}
	if err := yaml.UnmarshalStrict([]byte(spec), &in.Chart.Spec); err != nil {
		t.Fatal(err)
	}
	for _, e := range edit {
		e(&in)
	}
	return in
}

// config adds a HelmChartConfig with a spec in YAML.
func config(t *testing.T, spec string) func(*Input) {
	t.Helper()
	c := &cattlev1.HelmChartConfig{}
	if err := yaml.UnmarshalStrict([]byte(spec), &c.Spec); err != nil {
		t.Fatal(err)
	}
	return func(in *Input) { in.Config = c }
}

func annotated(key, value string) func(*Input) {
	return func(in *Input) { in.Chart.Annotations = map[string]string{key: value} }
}

// as returns a value as JSON.
func as(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestTranslate: each field of a HelmChart becomes fields of the HelmRelease. want lists parts of its
// spec, as JSON without braces.
func TestTranslate(t *testing.T) {
	for name, tc := range map[string]struct {
		spec string
		edit []func(*Input)
		want []string
	}{
		"Names": {repo, nil, []string{
			`"releaseName":"web"`, `"targetNamespace":"apps"`, `"storageNamespace":"apps"`, `"serviceAccountName":"helm-web"`, `"maxHistory":10`,
		}},
		"TargetNamespace": {repo + "targetNamespace: elsewhere\ncreateNamespace: true", nil, []string{
			`"targetNamespace":"elsewhere"`, `"storageNamespace":"elsewhere"`, `"createNamespace":true`,
		}},
		"Repository": {repo, nil, []string{`"chart":{"spec":{"chart":"web","version":"*","sourceRef":{"kind":"HelmRepository","name":"web"}`}},
		"Version":    {repo + "version: 1.x", nil, []string{`"version":"1.x"`}},
		"Registry":   {"chart: oci://registry.example/web", nil, []string{`"chartRef":{"kind":"OCIRepository","name":"web"}`}},
		"Archive":    {"chart: https://charts.example/web.tgz", nil, []string{`"chartRef":{"kind":"ExternalArtifact","name":"web"}`}},
		"Content":    {"chartContent: aGVsbG8=", nil, []string{`"chartRef":{"kind":"ExternalArtifact","name":"web"}`}},
		"Timeout":    {repo + "timeout: 90s", nil, []string{`"timeout":"1m30s"`}},
		"NoWaiting": {repo + "failurePolicy: retry", nil, []string{
			`"install":{"disableTakeOwnership":true,"disableWait":true,`, `"upgrade":{"disableTakeOwnership":true,"disableWait":true,`, `"rollback":{"disableWait":true`,
		}},
		"Waiting":        {repo, []func(*Input){annotated(cattlev1.AnnotationWait, "true")}, []string{`"disableTakeOwnership":true,"crds":"Create"`, `"disableTakeOwnership":true,"crds":"Skip"`, `"rollback":{"serverSideApply"`}},
		"TakeOwnership":  {repo + "takeOwnership: true\nfailurePolicy: retry", nil, []string{`"install":{"disableWait":true,`, `"upgrade":{"disableWait":true,`}},
		"ServerSide":     {repo, nil, []string{`"serverSideApply":true`, `"serverSideApply":"auto"`}},
		"ServerSideOn":   {repo + `serverSide: "true"`, nil, []string{`"serverSideApply":true`, `"serverSideApply":"enabled"`}},
		"ServerSideOff":  {repo + `serverSide: "false"`, nil, []string{`"serverSideApply":false`, `"serverSideApply":"disabled"`}},
		"ConfigWins":     {repo + `serverSide: "false"`, []func(*Input){config(t, `serverSide: "true"`)}, []string{`"serverSideApply":"enabled"`}},
		"ConfigDoesNot":  {repo + `serverSide: "false"`, []func(*Input){config(t, `{}`)}, []string{`"serverSideApply":"disabled"`}},
		"ForceConflicts": {repo + "forceConflicts: true", nil, []string{`"serverSideApply":true`}},
		"CRDs":           {repo, nil, []string{`"crds":"Create"`, `"crds":"Skip"`, `"chartNameChangeStrategy":"InPlaceUpdate"`}},
		"DefaultAccount": {repo, []func(*Input){func(in *Input) { in.HasServiceAccount, in.DefaultServiceAccount = false, "helm-release" }}, []string{`"storageNamespace":"apps","maxHistory"`}},
	} {
		t.Run(name, func(t *testing.T) {
			got, refusal := Translate(input(t, tc.spec, tc.edit...))
			if refusal != nil {
				t.Fatal(refusal)
			}
			for _, part := range tc.want {
				if raw := as(t, got.Release.Spec); !strings.Contains(raw, part) {
					t.Errorf("%s is not in %s", part, raw)
				}
			}
			if got.Release.Name != "web" || got.Release.Namespace != "apps" {
				t.Errorf("the HelmRelease is %s/%s", got.Release.Namespace, got.Release.Name)
			}
		})
	}
}

// TestSource: the source of each kind of chart has the credentials and certificates that it can have.
func TestSource(t *testing.T) {
	for name, tc := range map[string]struct {
		spec       string
		kind, want string
		ca         string
	}{
		"Repository": {repo, "HelmRepository", `{"interval":"1h0m0s","url":"https://charts.example"}`, ""},
		"Credentials": {
			repo + "authSecret: {name: creds}\nauthPassCredentials: true", "HelmRepository",
			`{"interval":"1h0m0s","passCredentials":true,"secretRef":{"name":"creds"},"url":"https://charts.example"}`, "",
		},
		"Certificates": {
			repo + "repoCA: one\nrepoCAConfigMap: {name: more}", "HelmRepository",
			`{"certSecretRef":{"name":"helmchart-web"},"interval":"1h0m0s","url":"https://charts.example"}`, "one\ntwo\nthree\n",
		},
		"PlainHTTP": {"chart: web\nrepo: http://charts.example\nplainHTTP: true", "HelmRepository", `{"interval":"1h0m0s","url":"http://charts.example"}`, ""},
		"Newest":    {"chart: oci://registry.example/web", "OCIRepository", registry(`"ref":{"semver":"*"},"url":"oci://registry.example/web"`), ""},
		"Exact":     {"chart: oci://registry.example/web\nversion: 1.2.3+b", "OCIRepository", registry(`"ref":{"tag":"1.2.3_b"},"url":"oci://registry.example/web"`), ""},
		"Range":     {"chart: oci://registry.example/web\nversion: 1.x", "OCIRepository", registry(`"ref":{"semver":"1.x"},"url":"oci://registry.example/web"`), ""},
		"Tag":       {"chart: oci://registry.example:5000/web:1.2.3", "OCIRepository", registry(`"ref":{"tag":"1.2.3"},"url":"oci://registry.example:5000/web"`), ""},
		"Digest":    {"chart: oci://registry.example:5000/web@sha256:aa", "OCIRepository", registry(`"ref":{"digest":"sha256:aa"},"url":"oci://registry.example:5000/web"`), ""},
		"RegistryCredentials": {
			"chart: oci://registry.example/web\ndockerRegistrySecret: {name: docker}\nplainHTTP: true", "OCIRepository",
			`{"insecure":true,"interval":"1h0m0s","layerSelector":{"mediaType":"application/vnd.cncf.helm.chart.content.v1.tar+gzip","operation":"copy"},"ref":{"semver":"*"},"secretRef":{"name":"docker"},"url":"oci://registry.example/web"}`, "",
		},
		"Archive": {
			"chart: https://charts.example/web.tgz\nversion: 1.x\nrepoCA: PEM\nrepoCAConfigMap: {name: more}\nauthSecret: {name: creds}\nauthPassCredentials: true", "ExternalArtifact",
			`{"sourceRef":{"apiVersion":"helm.cattle.io/v1","kind":"HelmChart","name":"web"}}`, "",
		},
		"Content": {
			"chartContent: aGVsbG8=\nchart: web\nrepo: https://charts.example", "ExternalArtifact",
			`{"sourceRef":{"apiVersion":"helm.cattle.io/v1","kind":"HelmChart","name":"web"}}`, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, refusal := Translate(input(t, tc.spec, func(in *Input) { in.RepoCA = map[string]string{"b": "three", "a": "two\n"} }))
			if refusal != nil {
				t.Fatal(refusal)
			}
			if got.Source.Kind != tc.kind || string(got.Secret[keyCA]) != tc.ca {
				t.Errorf("kind %s with certificates %q", got.Source.Kind, got.Secret[keyCA])
			}
			if diff := cmp.Diff(tc.want, as(t, got.Source.Spec)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func registry(rest string) string {
	return `{"interval":"1h0m0s","layerSelector":{"mediaType":"application/vnd.cncf.helm.chart.content.v1.tar+gzip","operation":"copy"},` + rest + `}`
}

// TestRefused: a field that cannot be meant is named.
func TestRefused(t *testing.T) {
	noAccount := func(in *Input) { in.HasServiceAccount = false }
	for name, tc := range map[string]struct {
		spec         string
		edit         []func(*Input)
		reason, want string
	}{
		"HelmVersion":        {repo + "helmVersion: v2", nil, cattlev1.ReasonUnsupportedVersion, "Only Helm v3 charts are supported"},
		"Driver":             {repo + "driver: configmap", nil, cattlev1.ReasonRefused, "spec.driver"},
		"Name":               {repo, []func(*Input){func(in *Input) { in.Chart.Name = strings.Repeat("a", 54) }}, cattlev1.ReasonRefused, "metadata.name"},
		"TargetNamespace":    {repo + "targetNamespace: A_b", nil, cattlev1.ReasonRefused, "spec.targetNamespace"},
		"NoAccount":          {repo, []func(*Input){noAccount}, cattlev1.ReasonNoServiceAccount, "ServiceAccount 'apps/helm-web' does not exist"},
		"ElsewhereNoAccount": {repo + "targetNamespace: other", []func(*Input){noAccount, func(in *Input) { in.DefaultServiceAccount = "helm-release" }}, cattlev1.ReasonNoServiceAccount, "spec.targetNamespace"},
		"NoRepo":             {"chart: web", nil, cattlev1.ReasonRefused, "spec.repo is not set"},
		"RepoURL":            {"chart: web\nrepo: oci://registry.example", nil, cattlev1.ReasonRefused, "spec.repo is not"},
		"RepoPassword":       {"chart: web\nrepo: https://me:secret@charts.example", nil, cattlev1.ReasonRefused, "spec.repo has credentials"},
		"Insecure":           {repo + "insecureSkipTLSVerify: true", nil, cattlev1.ReasonRefused, "spec.insecureSkipTLSVerify"},
		"InsecureArchive":    {"chart: https://charts.example/web.tgz\ninsecureSkipTLSVerify: true", nil, cattlev1.ReasonRefused, "spec.insecureSkipTLSVerify"},
		"RepoArchive":        {"chart: https://charts.example/web.tgz\nrepo: https://charts.example", nil, cattlev1.ReasonRefused, "spec.repo is"},
		"DockerArchive":      {"chart: https://charts.example/web.tgz\ndockerRegistrySecret: {name: a}", nil, cattlev1.ReasonRefused, "spec.dockerRegistrySecret"},
		"PassArchive":        {"chart: https://charts.example/web.tgz\nauthPassCredentials: true", nil, cattlev1.ReasonRefused, "spec.authPassCredentials without spec.authSecret"},
		"PlainArchive":       {"chart: https://charts.example/web.tgz\nplainHTTP: true", nil, cattlev1.ReasonRefused, "spec.plainHTTP"},
		"DockerForRepo":      {repo + "dockerRegistrySecret: {name: a}", nil, cattlev1.ReasonRefused, "spec.dockerRegistrySecret"},
		"AuthForRegistry":    {"chart: oci://registry.example/web\nauthSecret: {name: a}", nil, cattlev1.ReasonRefused, "spec.authSecret"},
		"PassForRegistry":    {"chart: oci://registry.example/web\nauthPassCredentials: true", nil, cattlev1.ReasonRefused, "spec.authPassCredentials"},
		"PassWithout":        {repo + "authPassCredentials: true", nil, cattlev1.ReasonRefused, "spec.authPassCredentials"},
		"RepoForRegistry":    {"chart: oci://registry.example/web\nrepo: https://charts.example", nil, cattlev1.ReasonRefused, "spec.repo"},
		"PlainHTTPS":         {repo + "plainHTTP: true", nil, cattlev1.ReasonRefused, "spec.plainHTTP"},
		"CAConfigMap":        {repo + "repoCAConfigMap: {name: gone}", nil, cattlev1.ReasonRefused, "ConfigMap 'apps/gone' does not exist"},
		"BackOffLimit":       {repo + "backOffLimit: -1", nil, cattlev1.ReasonRefused, "spec.backOffLimit"},
		"SecretName":         {repo + "valuesSecrets: [{name: ../other/secrets/s, keys: [a]}]", nil, cattlev1.ReasonRefused, "spec.valuesSecrets[0]: \"../other/secrets/s\" is not the name of an object"},
		"AuthName":           {repo + "authSecret: {name: other/s}", nil, cattlev1.ReasonRefused, "spec.authSecret: \"other/s\""},
		"CAName":             {repo + "repoCAConfigMap: {name: \"\"}", nil, cattlev1.ReasonRefused, "spec.repoCAConfigMap: \"\""},
		"SetPath":            {repo + `set: {"a b": x}`, nil, cattlev1.ReasonRefused, `spec.set["a b"]`},
		"ArchiveURL":         {"chart: ftp://charts.example/web.tgz", []func(*Input){func(in *Input) { in.Archive = nil }}, cattlev1.ReasonRefused, "spec.chart is not an http or https URL"},
		"NoCRD":              {"chartContent: aGVsbG8=", []func(*Input){func(in *Input) { in.ExternalArtifacts = false }}, cattlev1.ReasonRefused, "spec.chartContent needs the CRD ExternalArtifact"},
	} {
		t.Run(name, func(t *testing.T) {
			_, refusal := Translate(input(t, tc.spec, tc.edit...))
			if refusal == nil || refusal.Reason != tc.reason || !strings.Contains(refusal.Message, tc.want) {
				t.Errorf("got %+v", refusal)
			}
			if refusal != nil && strings.Contains(refusal.Message, "secret@") {
				t.Errorf("a password is shown: %s", refusal.Message)
			}
		})
	}
}

// TestLayers: the values are layers in the order of k3s, and the keys of the Secret name their fields.
func TestLayers(t *testing.T) {
	in := input(t, repo+`
values: {a: 3}
valuesContent: "a: 1"
valuesSecrets:
- {name: s1, keys: [k1, k2]}
- {name: unused}
- {name: s2, keys: [k3], ignoreUpdates: true}
- {name: gone, keys: [k4], ignoreUpdates: true}
set: {b: 5, a.b: "x,y", c: "True", d: '5', "e[0]": 'a\,b', f: "null"}
`, config(t, `
valuesContent: "a: 4"
values: {a: 5}
valuesSecrets: [{name: s3, keys: [k5]}]
`), func(in *Input) { in.Secrets = map[string]map[string][]byte{"s2": {"k3": []byte("a: 2")}} })
	got, refusal := Translate(in)
	if refusal != nil {
		t.Fatal(refusal)
	}
	var order []string
	for _, ref := range got.Release.Spec.ValuesFrom {
		line := ref.Name + " " + ref.ValuesKey
		if ref.TargetPath != "" {
			line += " at " + ref.TargetPath
		}
		if ref.Optional {
			line += " optional"
		}
		if ref.Name == "helmchart-web" {
			line += ": " + string(got.Secret[ref.ValuesKey])
		}
		order = append(order, line)
	}
	if diff := cmp.Diff([]string{
		"helmchart-web HelmChart.spec.valuesContent: a: 1",
		`helmchart-web HelmChart.spec.values: {"a":3}`,
		"s1 k1", "s1 k2",
		"helmchart-web HelmChart.spec.valuesSecrets-2.k3 optional: a: 2",
		"helmchart-web HelmChart.spec.valuesSecrets-3.k4 optional: ",
		"helmchart-web HelmChartConfig.spec.valuesContent: a: 4",
		`helmchart-web HelmChartConfig.spec.values: {"a":5}`,
		"s3 k5",
		"helmchart-web HelmChart.spec.set-000 at b: 5",
		"helmchart-web HelmChart.spec.set-001 at c: True",
		"helmchart-web HelmChart.spec.set-002 at f: null",
		`helmchart-web HelmChart.spec.set-003 at a.b: 'x\,y'`,
		"helmchart-web HelmChart.spec.set-004 at d: '5'",
		`helmchart-web HelmChart.spec.set-005 at e[0]: 'a\,b'`,
	}, order); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, found := got.Secret["HelmChart.spec.valuesSecrets-3.k4"]; found {
		t.Error("a Secret that does not exist has a content")
	}
}

// TestIgnoreUpdates: the content of a Secret with ignoreUpdates changes together with the HelmChart only.
func TestIgnoreUpdates(t *testing.T) {
	const spec = repo + "valuesSecrets: [{name: s, keys: [k], ignoreUpdates: true}]\n"
	const key = "HelmChart.spec.valuesSecrets-0.k"
	in := input(t, spec, func(in *Input) { in.Secrets = map[string]map[string][]byte{"s": {"k": []byte("a: 1")}} })
	first, _ := Translate(in)
	in.Before, in.Kept = first.Release, first.Secret
	in.Secrets["s"]["k"] = []byte("a: 2")
	if again, _ := Translate(in); string(again.Secret[key]) != "a: 1" {
		t.Errorf("a change of the Secret alone leads to %q", again.Secret[key])
	}
	delete(in.Secrets, "s")
	if again, _ := Translate(in); string(again.Secret[key]) != "a: 1" {
		t.Errorf("the deletion of the Secret leads to %q", again.Secret[key])
	}
	in.Secrets["s"] = map[string][]byte{"k": []byte("a: 3")}
	in.Chart.Spec.ValuesContent = "b: 1"
	if again, _ := Translate(in); string(again.Secret[key]) != "a: 3" {
		t.Errorf("a change of the HelmChart leads to %q", again.Secret[key])
	}
}

// TestRemediation: reinstall uninstalls a failed release. Unless the flag states otherwise, the HelmRelease
// is annotated so that a release that holds claims is excluded.
func TestRemediation(t *testing.T) {
	const (
		none      = `null null`
		uninstall = `{"retries":1000} {"retries":1000,"remediateLastFailure":false,"strategy":"uninstall"}`
		kept      = uninstall + " kept"
	)
	asK3s := func(in *Input) { in.AsK3s = true }
	for name, tc := range map[string]struct {
		spec string
		edit []func(*Input)
		want string
	}{
		"Default":      {repo, nil, kept},
		"Reinstall":    {repo + "failurePolicy: reinstall", nil, kept},
		"AsK3s":        {repo, []func(*Input){asK3s}, uninstall},
		"BackOffLimit": {repo + "backOffLimit: 2", nil, strings.ReplaceAll(kept, "1000", "2")},
		"NoRetries":    {repo + "backOffLimit: 0", []func(*Input){asK3s}, strings.ReplaceAll(strings.ReplaceAll(uninstall, `"retries":1000,`, ""), `"retries":1000`, "")},
		"Abort":        {repo + "failurePolicy: abort\nbackOffLimit: 2", []func(*Input){asK3s}, none},
		"Retry":        {repo + "failurePolicy: retry", nil, none},
		"ConfigWins":   {repo + "failurePolicy: reinstall", []func(*Input){config(t, "failurePolicy: abort")}, none},
		"ConfigAlone":  {repo, []func(*Input){config(t, "failurePolicy: retry")}, none},
		"ConfigSilent": {repo, []func(*Input){config(t, "{}")}, kept},
		"ConfigEmpty":  {repo + "failurePolicy: abort", []func(*Input){config(t, "{}")}, none},
	} {
		t.Run(name, func(t *testing.T) {
			got, refusal := Translate(input(t, tc.spec, tc.edit...))
			if refusal != nil {
				t.Fatal(refusal)
			}
			found := as(t, got.Release.Spec.Install.Remediation) + " " + as(t, got.Release.Spec.Upgrade.Remediation)
			if got.Release.Annotations[helmv2.AnnotationKeepClaims] == "true" {
				found += " kept"
			}
			if diff := cmp.Diff(tc.want, found); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestManages: only HelmCharts whose annotation names Pintle are managed.
func TestManages(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations map[string]string
		spec        cattlev1.HelmChartSpec
		want        bool
	}{
		"Ours":      {map[string]string{cattlev1.AnnotationManagedBy: "pintle"}, cattlev1.HelmChartSpec{Chart: "a"}, true},
		"Content":   {map[string]string{cattlev1.AnnotationManagedBy: "pintle"}, cattlev1.HelmChartSpec{ChartContent: "a"}, true},
		"Theirs":    {map[string]string{cattlev1.AnnotationManagedBy: "helm-controller"}, cattlev1.HelmChartSpec{Chart: "a"}, false},
		"None":      {nil, cattlev1.HelmChartSpec{Chart: "a"}, false},
		"Unmanaged": {map[string]string{cattlev1.AnnotationManagedBy: "pintle", cattlev1.AnnotationUnmanaged: ""}, cattlev1.HelmChartSpec{Chart: "a"}, false},
		"NoChart":   {map[string]string{cattlev1.AnnotationManagedBy: "pintle"}, cattlev1.HelmChartSpec{}, false},
	} {
		if got := Manages(&cattlev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Annotations: tc.annotations}, Spec: tc.spec}); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

// TestIgnored: fields of the Job have no effect, and are named.
func TestIgnored(t *testing.T) {
	in := input(t, repo+"bootstrap: true\njobImage: a\nsecurityContext: {}\npodSecurityContext: {runAsUser: 1}")
	if diff := cmp.Diff([]string{"spec.bootstrap", "spec.jobImage", "spec.podSecurityContext", "spec.securityContext"}, Ignored(in.Chart.Spec)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
