// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// k3sCase is a HelmChart, and what becomes of it.
type k3sCase struct {
	name string
	// spec is the spec of the HelmChart, and config the spec of a HelmChartConfig of its name.
	spec, config string
	// prepare is called before.
	prepare func(k3s)

	// version is the version of the installed chart. It is empty if the HelmChart is not installed.
	version string
	// namespace is the namespace of the release. Default: the namespace of the HelmChart.
	namespace string
	// values are the values of the release, without the defaults of the chart.
	values string
	// ignored is in condition Ignored.
	ignored string
	// also checks what a field is for.
	also func(k3s, *helmv2.HelmRelease)

	// refused is in condition Failed.
	refused string
}

// inRepository is a spec for a chart of the repository without credentials.
const inRepository = `
  repo: ${HTTP}/charts
  chart: note
`

// k3sCases are HelmCharts that together set every field. ${NAME} are addresses and certificates.
func k3sCases() []k3sCase {
	layers := "{name: layers, keys: [first, second]}"
	return []k3sCase{
		// Sources.
		{name: "newest", spec: inRepository, version: "2.0.0"},
		{name: "exact", spec: inRepository + `  version: 1.0.0`, version: "1.0.0"},
		{name: "range", spec: inRepository + `  version: 1.x`, version: "1.1.0"},
		{name: "plain-http", spec: inRepository + `  plainHTTP: true`, version: "2.0.0"},
		{name: "private", spec: `
  repo: ${HTTPS}
  chart: note
  version: 1.1.0
  repoCA: |
    ${CA}
  authSecret:
    name: repo-auth
`, version: "1.1.0"},
		{name: "private-configmap", spec: `
  repo: ${HTTPS}
  chart: note
  repoCAConfigMap:
    name: repo-ca
  authSecret:
    name: repo-auth
`, version: "2.0.0"},
		{name: "other-host", spec: `
  repo: ${AWAY}
  chart: note
  repoCAConfigMap:
    name: repo-ca
  authSecret:
    name: repo-auth
  authPassCredentials: true
`, version: "2.0.0"},
		{name: "oci", spec: `
  chart: oci://${OCI}/note
  version: 1.0.0
  plainHTTP: true
`, version: "1.0.0"},
		{name: "oci-newest", spec: `
  chart: oci://${OCI_AUTH}/note
  dockerRegistrySecret:
    name: registry-auth
  plainHTTP: true
`, version: "2.0.0"},
		{name: "oci-tls", spec: `
  chart: oci://${OCI_TLS}/note
  version: ">=1.0.0 <2.0.0"
  repoCA: |
    ${CA}
`, version: "1.1.0"},
		{name: "oci-tag", spec: `
  chart: oci://${OCI}/note:1.1.0
  plainHTTP: true
`, version: "1.1.0"},
		{name: "oci-digest", spec: `
  chart: oci://${OCI}/note@${DIGEST}
  plainHTTP: true
`, version: "1.1.0"},
		{name: "archive", spec: `
  chart: ${HTTP}/charts/note-1.0.0.tgz
  version: 9.9.9
`, version: "1.0.0"},
		{name: "archive-moved", spec: `
  chart: ${HTTP}/moved/note.tgz
`, version: "1.1.0"},
		{name: "archive-auth", spec: `
  chart: ${HTTPS}/note-1.1.0.tgz
  repoCA: |
    ${CA}
  authSecret:
    name: repo-auth
`, version: "1.1.0"},
		{name: "content", spec: inRepository + `
  version: 2.0.0
  chartContent: ${CONTENT}
`, version: "1.1.0"},

		// Namespaces.
		{name: "elsewhere", spec: inRepository + `  targetNamespace: ${NAMESPACE}-there`, prepare: func(k k3s) {
			k.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: k.Namespace + "-there"}})
		}, version: "2.0.0", namespace: "${NAMESPACE}-there"},
		{name: "created", spec: inRepository + `
  targetNamespace: ${NAMESPACE}-created
  createNamespace: true
`, version: "2.0.0", namespace: "${NAMESPACE}-created"},

		// Values.
		{name: "set", spec: inRepository + `
  set:
    number: 10000000
    typed.int: 7
    typed.text: "7"
    typed.float: "1.5"
    typed.yes: "true"
    typed.no: "FALSE"
    typed.spaces: " a  b "
    typed.empty: ""
    map.gone: "null"
    commas: a,b\,c
    list[0]: first
    list[2]: third
    braces: "{a,b}"
    equals: a=b=c
    dotted\.key: x
    quotes: '"q"'
    apostrophes: "'q'"
    backslash: a\b\\c
    lines: "a\nb"
    negative: -1
    over: text
    over.number: 1
`, version: "2.0.0", values: `
number: 10000000
typed: {int: 7, text: "7", float: "1.5", "yes": true, "no": false, spaces: " a  b ", empty: ""}
map: {gone: null}
commas: "a,b,c"
list: [first, null, third]
braces: ["a,b"]
equals: a=b=c
dotted.key: x
quotes: '"q"'
apostrophes: "'q'"
backslash: ab\c
lines: "a\nb"
negative: -1
over: text
`, also: func(k k3s, _ *helmv2.HelmRelease) { k.number("set", "10000000") }},
		{name: "values", spec: inRepository + `
  values:
    number: 7
    text: "7"
    "on": true
    nothing: null
    list: [1, two, {three: 3.5}]
    a,b: {c.d: e}
`, version: "2.0.0", values: `{number: 7, text: "7", "on": true, nothing: null, list: [1, two, {three: 3.5}], "a,b": {c.d: e}}`},
		{name: "values-content", spec: inRepository + `
  valuesContent: |-
    # A comment.
    number: 7
    text: "7"
    anchor: &a {b: c}
    alias: *a
`, version: "2.0.0", values: `{number: 7, text: "7", anchor: {b: c}, alias: {b: c}}`},
		{name: "values-secrets", spec: inRepository + `
  valuesSecrets:
    - name: layers
      keys: [second, first]
    - name: absent
      keys: [any]
      ignoreUpdates: true
    - name: absent
    - name: layers
      ignoreUpdates: true
      keys: [config]
`, version: "2.0.0", values: `{layer: layer-of-config-secrets, secrets: first}`},
		{name: "layers", spec: inRepository + `
  valuesContent: |
    layer: valuesContent
    valuesContent: 1
    map: {a: valuesContent, b: valuesContent}
  values:
    layer: values
    values: 1
    map: {b: values, c: values}
  valuesSecrets: [` + layers + `]
`, version: "2.0.0", values: `
layer: valuesSecrets second
valuesContent: 1
values: 1
secrets: second
map: {a: valuesContent, b: values, c: values}
`},
		{name: "all-layers", spec: inRepository + `
  valuesContent: "{layer: valuesContent, chart: {content: 1}}"
  values: {layer: values, chart: {values: 1}}
  valuesSecrets: [` + layers + `]
  set:
    set.first: set
    config.set: 1
`, config: `
  valuesContent: |
    layer: layer-of-config-content
    secrets: config
    config: {content: 1, values: content, set: content}
    set: {first: content}
  values:
    layer: layer-of-config-values
    config: {values: 1}
  valuesSecrets:
    - name: layers
      keys: [config]
      ignoreUpdates: false
`, version: "2.0.0", values: `
layer: layer-of-config-secrets
chart: {content: 1, values: 1}
secrets: config
config: {content: 1, values: 1, set: 1}
set: {first: set}
`},

		// Actions.
		{name: "timeout", spec: inRepository + `  timeout: 90s`, version: "2.0.0", also: func(k k3s, hr *helmv2.HelmRelease) {
			k.equal("timeout", hr.Spec.Timeout, duration(90*time.Second))
		}},
		{name: "reinstall", spec: inRepository + `
  failurePolicy: reinstall
  backOffLimit: 3
`, version: "2.0.0"},
		{name: "abort", spec: inRepository + `  failurePolicy: abort`, version: "2.0.0"},
		{name: "retry", spec: inRepository + `  failurePolicy: retry`, version: "2.0.0"},
		{name: "config-first", spec: inRepository + `
  serverSide: "true"
  failurePolicy: retry
`, config: `
  serverSide: "false"
  forceConflicts: true
  failurePolicy: abort
`, version: "2.0.0", also: func(k k3s, _ *helmv2.HelmRelease) { k.method("config-first", 1, "csa") }},
		{name: "server-side", spec: inRepository + `
  serverSide: "true"
  forceConflicts: true
`, version: "2.0.0", also: func(k k3s, _ *helmv2.HelmRelease) { k.method("server-side", 1, "ssa") }},
		{
			name: "client-side", spec: inRepository + `  serverSide: "false"`, version: "2.0.0",
			also: func(k k3s, _ *helmv2.HelmRelease) { k.method("client-side", 1, "csa") },
		},
		{
			name: "auto", spec: inRepository + `  serverSide: auto`, version: "2.0.0",
			also: func(k k3s, _ *helmv2.HelmRelease) { k.method("auto", 1, "ssa") },
		},
		{name: "adopts", spec: inRepository + `  takeOwnership: true`, prepare: func(k k3s) {
			k.Create(&corev1.ConfigMap{ObjectMeta: k.Meta("adopts"), Data: map[string]string{"number": "by hand"}})
		}, version: "2.0.0"},
		{name: "v3", spec: inRepository + `
  helmVersion: v3
  driver: secret
`, version: "2.0.0"},
		{name: "job", spec: inRepository + `
  bootstrap: true
  jobImage: rancher/klipper-helm:v0.9.8
  podSecurityContext:
    runAsNonRoot: false
  securityContext:
    readOnlyRootFilesystem: false
    capabilities: {drop: [ALL]}
`, version: "2.0.0", ignored: "spec.bootstrap, spec.jobImage, spec.podSecurityContext, spec.securityContext have no effect"},

		// Refused.
		{name: "v2", spec: inRepository + `  helmVersion: v2`, refused: `UnsupportedVersion Only Helm v3 charts are supported: spec.helmVersion is "v2"`},
		{name: "driver", spec: inRepository + `  driver: configmap`, refused: "Refused spec.driver configmap is not supported"},
		{name: "insecure", spec: `
  repo: ${HTTPS}
  chart: note
  insecureSkipTLSVerify: true
`, refused: "Refused spec.insecureSkipTLSVerify is not supported"},
		{name: "plain-https", spec: `
  repo: ${HTTPS}
  chart: note
  plainHTTP: true
`, refused: "Refused spec.plainHTTP is not supported with spec.repo https://"},
		{name: "docker-repo", spec: inRepository + `
  dockerRegistrySecret:
    name: registry-auth
`, refused: "Refused spec.dockerRegistrySecret is not supported with spec.repo"},
		{name: "basic-oci", spec: `
  chart: oci://${OCI}/note
  authSecret:
    name: repo-auth
`, refused: "Refused spec.authSecret is not supported with spec.chart oci://"},
		{name: "pass-nothing", spec: inRepository + `  authPassCredentials: true`, refused: "Refused spec.authPassCredentials is not supported without spec.authSecret"},
		{name: "no-ca", spec: inRepository + `  repoCAConfigMap: {name: absent}`, refused: "Refused spec.repoCAConfigMap: ConfigMap '${NAMESPACE}/absent' does not exist"},
		{name: "no-repo", spec: `  chart: note`, refused: "Refused spec.repo is not set"},
		{name: "path", spec: inRepository + `  set: {"a b": 1}`, refused: `Refused spec.set["a b"] is not supported`},
		{name: "credentials", spec: `
  repo: https://user:password@charts.example
  chart: note
`, refused: "Refused spec.repo has credentials: set spec.authSecret"},
		{name: "inside", spec: `  chart: http://169.254.10.20/note.tgz`, refused: "ArtifactFailed The archive of the chart could not be read: "},
		{name: "moved-inside", spec: `  chart: ${HTTP}/inside/note.tgz`, refused: "the address 169.254.10.20 is not public"},
		{name: "no-base64", spec: `  chartContent: "%"`, refused: "spec.chartContent is not base64"},
	}
}

// number checks how the template renders a number.
func (k k3s) number(name, want string) {
	k.Helper()
	cm := &corev1.ConfigMap{}
	k.Get(name, cm)
	k.equal("number", cm.Data["number"], want)
}

// method checks how the objects of a revision were applied: ssa or csa.
func (k k3s) method(name string, revision int, want string) {
	k.Helper()
	got, err := env.ApplyMethod(k.Context(), k.Namespace, name, revision)
	k.Must(err)
	k.equal(fmt.Sprintf("method of revision %d", revision), got, want)
}

// playCases creates all HelmCharts at once, and checks each.
func (k k3s) playCases() {
	k.Helper()
	cases := k3sCases()
	charts := map[string]*cattlev1.HelmChart{}
	for _, c := range cases {
		if c.prepare != nil {
			c.prepare(k)
		}
		if c.config != "" {
			k.apply(cattlev1.HelmChartConfigKind, c.name, c.config)
		}
		charts[c.name] = k.chart(c.name, c.spec)
	}
	for _, c := range cases {
		if !k.Run(c.name, func(t *testing.T) { k.in(t).plays(c, charts[c.name]) }) && k.Context().Err() != nil {
			return
		}
	}
}

// plays checks what becomes of a HelmChart.
func (k k3s) plays(c k3sCase, chart *cattlev1.HelmChart) {
	k.Helper()
	if c.refused != "" {
		k.until(chart, cattlev1.ConditionFailed, yes, k.replace.Replace(c.refused))
		k.equal("JobCreated", k3sCondition(chart, cattlev1.ConditionJobCreated).Status, no)
		k.equal("Ready", k3sCondition(chart, cattlev1.ConditionReady).Status, no)
		var all helmv2.HelmReleaseList
		k.Must(env.Client.List(k.Context(), &all, client.InNamespace(k.Namespace), client.MatchingLabels{cattlev1.LabelHelmChart: c.name}))
		k.equal("number of HelmReleases", len(all.Items), 0)
		return
	}
	hr := k.untilRevision(chart, 1)
	k.equal("Failed", k3sCondition(chart, cattlev1.ConditionFailed).Status, no)
	k.equal("jobName", chart.Status.JobName, "")
	k.equal("ServiceAccount", hr.Spec.ServiceAccountName, "helm-"+c.name)
	ignored := k3sCondition(chart, cattlev1.ConditionIgnored).Message
	if c.ignored == "" {
		k.equal("Ignored", ignored, "")
	} else if !strings.HasPrefix(ignored, c.ignored) {
		k.Errorf("Ignored is %q", ignored)
	}
	namespace := k.Namespace
	if c.namespace != "" {
		namespace = k.replace.Replace(c.namespace)
	}
	k.released(c.name, namespace, c.version, c.values)
	if c.also != nil {
		c.also(k, hr)
	}
}
