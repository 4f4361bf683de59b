// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/repo"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

// k3s is a world of HelmCharts of k3s. Its repositories have chart note in three versions.
type k3s struct {
	world

	// replace replaces the addresses and certificates in manifests.
	replace *strings.Replacer
}

// TestHelmCharts: HelmCharts of k3s become releases, with the real source-controller and repositories.
func TestHelmCharts(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	w := newWorld(t)
	w.Must(env.ApplyCRDs(t.Context(), filepath.Join(harness.Root(), "config", "helmchart", "crd")))
	ours, with := env.Controller, env.Variant("--feature-gates=HelmChartAPI=true,ExternalArtifact=true",
		"--helmchart-archive-cidr=127.0.0.0/8", "--default-service-account=deployer")
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(with.LogTail(200))
		}
		takeOver(context.WithoutCancel(t.Context()), t, ours)
	})
	takeOver(t.Context(), t, with)
	k := newK3s(w)
	t.Run("all", func(t *testing.T) {
		t.Run("fields", func(t *testing.T) {
			t.Parallel()
			k.in(t).playCases()
		})
		for name, change := range k3sChanges() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				change(newK3s(newWorld(t)))
			})
		}
	})
}

func (k k3s) in(t *testing.T) k3s {
	t.Helper()
	k.World = k.In(t)
	return k
}

// noteVersions are the versions of chart note. The newest is the last.
func noteVersions() []string { return []string{"1.0.0", "1.1.0", "2.0.0"} }

// note is a chart with a ConfigMap of its own name, and a Secret with all values.
func note(version string) *helmchart.Chart {
	return &helmchart.Chart{
		Metadata: &helmchart.Metadata{APIVersion: "v2", Name: "note", Version: version},
		Values:   map[string]any{"layer": "defaults", "number": 1.0, "map": map[string]any{"kept": "defaults", "gone": "defaults"}},
		Raw:      []*helmchart.File{{Name: chartutil.ValuesfileName, Data: []byte("layer: defaults\nnumber: 1\nmap: {kept: defaults, gone: defaults}\n")}},
		Templates: []*helmchart.File{
			{Name: "templates/configmap.yaml", Data: []byte(`apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data:
  release: {{ .Release.Namespace }}/{{ .Release.Name }}
  chart: {{ .Chart.Name }}-{{ .Chart.Version }}
  number: {{ .Values.number | quote }}
`)},
			{Name: "templates/secret.yaml", Data: []byte(`apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}-values}
data: {values: {{ .Values | toJson | b64enc }}}
`)},
			{Name: "templates/hook.yaml", Data: []byte(`{{ with .Values.hook }}apiVersion: batch/v1
kind: Job
metadata: {name: {{ $.Release.Name }}-hook, annotations: {helm.sh/hook: 'post-install,post-upgrade'}}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {{ toJson . }}}
    spec: {restartPolicy: Never, containers: [{name: hook, image: example.com/pintle/note:1.0.0}]}
{{ end }}`)},
		},
	}
}

// k3sUser has the credentials of the protected repositories.
const k3sUser, k3sPassword = "k3s-user", "k3s-password-of-a-repository"

// protected serves requests with the credentials only.
func protected(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		if user, password, _ := req.BasicAuth(); user != k3sUser || password != k3sPassword {
			rw.Header().Set("WWW-Authenticate", `Basic realm="k3s"`)
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(rw, req)
	})
}

// folder serves a repository with archives of chart note, whose index has their URLs below base.
func (w world) folder(base string) http.Handler {
	w.Helper()
	files, index := map[string][]byte{}, repo.NewIndexFile()
	for _, version := range noteVersions() {
		archive, err := harness.Pack(note(version))
		w.Must(err)
		name := "note-" + version + ".tgz"
		files[name] = archive
		w.Must(index.MustAdd(note(version).Metadata, name, base, digest.FromBytes(archive).Encoded()))
	}
	index.SortEntries()
	content, err := yaml.Marshal(index)
	w.Must(err)
	files["index.yaml"] = content
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		file, ok := files[strings.TrimPrefix(req.URL.Path, "/")]
		if !ok {
			http.NotFound(rw, req)
			return
		}
		_, _ = rw.Write(file)
	})
}

// newK3s starts the repositories of a world, and creates the objects that manifests refer to.
func newK3s(w world) k3s {
	w.Helper()
	for _, version := range noteVersions() {
		w.Publish(note(version))
	}
	start := func(server *httptest.Server) string {
		w.Cleanup(server.Close)
		return server.Listener.Addr().String()
	}
	plain := http.NewServeMux()
	plain.Handle("/charts/", http.StripPrefix("/charts", w.folder("")))
	plain.Handle("/moved/", http.RedirectHandler("/charts/note-1.1.0.tgz", http.StatusFound))
	plain.Handle("/inside/", http.RedirectHandler("http://169.254.10.20/note.tgz", http.StatusFound))
	open, closed := start(httptest.NewServer(plain)), httptest.NewTLSServer(protected(w.folder("")))
	away := start(httptest.NewTLSServer(protected(w.folder("https://" + start(closed) + "/"))))
	forward := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: env.Registry.Address})
	registry, secure := start(httptest.NewServer(protected(forward))), start(httptest.NewTLSServer(forward))
	// Servers of httptest have the same certificate, which is its own certificate authority.
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: closed.Certificate().Raw}))
	archive, err := harness.Pack(note("1.1.0"))
	w.Must(err)
	ociDigest, err := env.Registry.Digest(w.Context(), w.Namespace+"/note", "1.1.0")
	w.Must(err)
	config, err := json.Marshal(map[string]any{"auths": map[string]any{registry: map[string]any{
		"username": k3sUser, "password": k3sPassword, "auth": base64.StdEncoding.EncodeToString([]byte(k3sUser + ":" + k3sPassword)),
	}}})
	w.Must(err)
	w.Create(
		&corev1.ConfigMap{ObjectMeta: w.Meta("repo-ca"), Data: map[string]string{"ca.pem": ca}},
		&corev1.Secret{ObjectMeta: w.Meta("repo-auth"), Type: corev1.SecretTypeBasicAuth, StringData: map[string]string{"username": k3sUser, "password": k3sPassword}},
		&corev1.Secret{ObjectMeta: w.Meta("registry-auth"), Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: config}},
		&corev1.Secret{ObjectMeta: w.Meta("layers"), StringData: map[string]string{
			"first": "layer: valuesSecrets first\nsecrets: first", "second": "layer: valuesSecrets second\nsecrets: second", "config": "layer: layer-of-config-secrets",
		}},
	)
	k := k3s{world: w, replace: strings.NewReplacer(
		"${HTTP}", "http://"+open, "${HTTPS}", "https://"+closed.Listener.Addr().String(), "${AWAY}", "https://"+away,
		"${OCI}", env.Registry.Address+"/"+w.Namespace, "${OCI_AUTH}", registry+"/"+w.Namespace, "${OCI_TLS}", secure+"/"+w.Namespace,
		"${DIGEST}", ociDigest, "${CONTENT}", base64.StdEncoding.EncodeToString(archive),
		"${CA}", strings.ReplaceAll(strings.TrimSpace(ca), "\n", "\n    "), "${NAMESPACE}", w.Namespace,
	)}
	k.account("deployer")
	return k
}

// account creates a ServiceAccount with all rights, as k3s does for each HelmChart.
func (k k3s) account(name string) {
	k.Helper()
	k.Create(&corev1.ServiceAccount{ObjectMeta: k.Meta(name)}, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: k.Namespace + "-" + name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: k.Namespace, Name: name}},
	})
}

// manifest is a manifest of a user of k3s, with the annotation for Pintle.
const manifest = `apiVersion: helm.cattle.io/v1
kind: %s
metadata:
  name: %s
  namespace: ${NAMESPACE}
  annotations:
    helmcharts.cattle.io/managed-by: pintle
spec:
%s`

// apply creates an object from the YAML of its spec, which is indented. Unknown fields are an error.
func (k k3s) apply(kind, name, spec string) {
	k.Helper()
	o := &unstructured.Unstructured{}
	k.Must(yaml.UnmarshalStrict([]byte(k.replace.Replace(fmt.Sprintf(manifest, kind, name, strings.Trim(spec, "\n")))), &o.Object))
	k.Must(env.Client.Create(k.Context(), o, client.FieldValidation(metav1.FieldValidationStrict)))
}

// chart creates a HelmChart, and its ServiceAccount.
func (k k3s) chart(name, spec string) *cattlev1.HelmChart {
	k.Helper()
	k.account("helm-" + name)
	k.apply(cattlev1.HelmChartKind, name, spec)
	return &cattlev1.HelmChart{ObjectMeta: k.Meta(name)}
}

// edit merges YAML into the spec of a HelmChart.
func (k k3s) edit(c *cattlev1.HelmChart, spec string) {
	k.Helper()
	patch, err := yaml.YAMLToJSON([]byte(k.replace.Replace("spec:\n" + strings.Trim(spec, "\n"))))
	k.Must(err)
	k.Must(env.Client.Patch(k.Context(), c, client.RawPatch("application/merge-patch+json", patch)))
}

func k3sCondition(c *cattlev1.HelmChart, kind string) cattlev1.HelmChartCondition {
	for _, condition := range c.Status.Conditions {
		if condition.Type == kind {
			return condition
		}
	}
	return cattlev1.HelmChartCondition{}
}

// until waits for a condition of a HelmChart that contains a text.
func (k k3s) until(c *cattlev1.HelmChart, kind string, status metav1.ConditionStatus, text string) {
	k.Helper()
	k.Must(env.Until(k.Context(), fmt.Sprintf("HelmChart %s to have %s=%s %s", c.Name, kind, status, text), func() (string, bool) {
		k.Get(c.Name, c)
		seen, _ := json.MarshalIndent(c.Status, "", " ")
		got := k3sCondition(c, kind)
		return string(seen), got.Status == status && strings.Contains(got.Reason+" "+got.Message, text)
	}, &cattlev1.HelmChart{ObjectMeta: k.Meta(c.Name)}))
}

// untilRevision waits until the release of a HelmChart is at a revision, and its HelmChart is ready.
func (k k3s) untilRevision(c *cattlev1.HelmChart, revision int) *helmv2.HelmRelease {
	k.Helper()
	k.until(c, cattlev1.ConditionJobCreated, yes, "")
	hr := &helmv2.HelmRelease{ObjectMeta: k.Meta(c.Name)}
	k.Until(hr, fmt.Sprint("to be at revision ", revision), func(hr *helmv2.HelmRelease) bool {
		return harness.Ready(hr) && hr.Status.History[0].Version >= revision
	})
	k.equal("revision of "+c.Name, hr.Status.History[0].Version, revision)
	k.until(c, cattlev1.ConditionReady, yes, "")
	return hr
}

// decoded returns a text in YAML as data.
func (w world) decoded(text string) map[string]any {
	w.Helper()
	all := map[string]any{}
	w.Must(yaml.Unmarshal([]byte(text), &all))
	return all
}

// released checks the newest revision of a release of chart note: its version, its values as data, and
// its objects.
func (k k3s) released(name, namespace, version, want string) {
	k.Helper()
	history, err := env.History(namespace, name)
	k.Must(err)
	if len(history) == 0 {
		k.Fatalf("there is no release %s/%s", namespace, name)
	}
	newest := history[len(history)-1]
	given := k.decoded(want)
	if newest.Config == nil {
		newest.Config = map[string]any{}
	}
	k.equal("values", newest.Config, given)
	k.equal("namespace", newest.Namespace, namespace)
	// The version of a chart in a registry has its digest.
	got, _, _ := strings.Cut(newest.Chart.Metadata.Version, "+")
	k.equal("chart", newest.Chart.Metadata.Name+"-"+got, "note-"+version)

	there := k
	there.Namespace = namespace
	cm, secret := &corev1.ConfigMap{}, &corev1.Secret{}
	there.Get(name, cm)
	there.Get(name+"-values", secret)
	for _, o := range []client.Object{cm, secret} {
		k.equal("owner of "+o.GetName(), o.GetAnnotations()["meta.helm.sh/release-namespace"]+"/"+o.GetAnnotations()["meta.helm.sh/release-name"], namespace+"/"+name)
	}
	all := chartutil.CoalesceTables(given, note(version).Values)
	k.equal("ConfigMap", cm.Data, map[string]string{
		"release": namespace + "/" + name, "chart": "note-" + newest.Chart.Metadata.Version, "number": cm.Data["number"],
	})
	k.equal("all values", k.decoded(string(secret.Data["values"])), all)
	var objects []string
	for _, line := range strings.Split(newest.Manifest, "\n") {
		if kind, is := strings.CutPrefix(line, "kind: "); is {
			objects = append(objects, kind)
		}
	}
	slices.Sort(objects)
	k.equal("objects", objects, []string{"ConfigMap", "Secret"})
}

// TestHelmChartFields: the cases of TestHelmCharts set every field, and every value of those that have a
// list of values.
func TestHelmChartFields(t *testing.T) {
	t.Parallel()
	w := world{}
	w.T = t
	used := map[string]bool{}
	var add func(prefix string, fields map[string]any)
	add = func(prefix string, fields map[string]any) {
		for name, v := range fields {
			used[prefix+name] = true
			if text, is := v.(string); is {
				used[prefix+name+"="+text] = true
			}
			if list, is := v.([]any); is {
				for _, item := range list {
					if below, is := item.(map[string]any); is {
						add(prefix+name+".", below)
					}
				}
			}
		}
	}
	for _, c := range k3sCases() {
		add("HelmChart.", w.decoded(c.spec))
		add("HelmChartConfig.", w.decoded(c.config))
	}
	for kind, of := range map[string]reflect.Type{
		"HelmChart.": reflect.TypeFor[cattlev1.HelmChartSpec](), "HelmChartConfig.": reflect.TypeFor[cattlev1.HelmChartConfigSpec](),
		"HelmChart.valuesSecrets.": reflect.TypeFor[cattlev1.SecretSpec](), "HelmChartConfig.valuesSecrets.": reflect.TypeFor[cattlev1.SecretSpec](),
	} {
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if !used[kind+name] {
				t.Errorf("no case sets %s%s", kind, name)
			}
		}
	}
	for _, value := range []string{
		"serverSide=true", "serverSide=false", "serverSide=auto", "failurePolicy=reinstall", "failurePolicy=abort", "failurePolicy=retry",
		"driver=secret", "driver=configmap", "helmVersion=v2", "helmVersion=v3",
	} {
		if !used["HelmChart."+value] {
			t.Errorf("no case sets %s", value)
		}
	}
}
