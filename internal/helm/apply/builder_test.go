// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/helm/kinds"
	"github.com/pintle-dev/pintle/test/apitest"
)

// built has the fields of an object that are compared.
type built struct {
	Name, Namespace, Source, ResourceVersion string
	Resource, Kind, Scope                    string
	// Path is that of requests for objects of the kind.
	Path   string
	Object string
}

func summary(t *testing.T, list kube.ResourceList) []built {
	t.Helper()
	all := make([]built, 0, len(list))
	for _, info := range list {
		raw, err := json.Marshal(info.Object)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, built{
			info.Name, info.Namespace, info.Source, info.ResourceVersion,
			info.Mapping.Resource.String(), info.Mapping.GroupVersionKind.String(), string(info.Mapping.Scope.Name()),
			info.Client.Get().Resource(info.Mapping.Resource.Resource).URL().String(),
			fmt.Sprintf("%T %s", info.Object, raw),
		})
	}
	return all
}

// manifests are the input of TestBuildAsHelm.
func manifests() map[string]string {
	const cm = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
	return map[string]string{
		"Nothing":           "",
		"OneObject":         cm,
		"Several":           "---\n# Source: note/templates/a.yaml\n" + cm + "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: b, namespace: other}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: c}\n",
		"EmptyDocuments":    "---\n---\n# nothing\n---\n" + cm + "---\nnull\n---\n~\n---\n",
		"OnlySeparators":    "---\n---\n",
		"OnlyComments":      "# a\n# b\n",
		"SeparatorComment":  "--- # begin\n" + cm + "--- # end\n",
		"WindowsLines":      strings.ReplaceAll(cm+"---\n"+cm, "\n", "\r\n"),
		"ByteOrderMark":     "\ufeff" + cm,
		"NamespaceOfScope":  "apiVersion: v1\nkind: Namespace\nmetadata: {name: c, namespace: x}\n",
		"GenerateName":      "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n",
		"NoName":            "apiVersion: v1\nkind: Pod\nmetadata: {}\n",
		"NoMetadata":        "apiVersion: v1\nkind: Pod\n",
		"NullMetadata":      "apiVersion: v1\nkind: Pod\nmetadata: null\n",
		"ResourceVersion":   "apiVersion: v1\nkind: Pod\nmetadata: {name: a, resourceVersion: \"7\"}\n",
		"NoKind":            "apiVersion: v1\nmetadata: {name: a}\n",
		"NoVersion":         "kind: ConfigMap\nmetadata: {name: a}\n",
		"EmptyKind":         "apiVersion: v1\nkind: \"\"\nmetadata: {name: a}\n",
		"WrongKindType":     "apiVersion: v1\nkind: 7\nmetadata: {name: a}\n",
		"UnknownKind":       "apiVersion: v1\nkind: Thing\nmetadata: {name: a, namespace: n}\n",
		"UnknownGroup":      "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n",
		"UnknownVersion":    "apiVersion: apps/v9\nkind: Deployment\nmetadata: {name: a}\n",
		"BadVersion":        "apiVersion: a/b/c\nkind: Deployment\nmetadata: {name: a}\n",
		"SeveralUnknown":    cm + "---\napiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n---\napiVersion: example.com/v1\nkind: Thing\nmetadata: {name: b}\n---\n" + cm,
		"SameErrorTwice":    strings.Repeat("---\napiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n", 2),
		"LowerCaseKind":     "apiVersion: v1\nkind: configmap\nmetadata: {name: a}\n",
		"ListOfKind":        "apiVersion: v1\nkind: ConfigMapList\nmetadata: {resourceVersion: \"5\"}\nitems:\n- metadata: {name: a}\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: b, resourceVersion: \"6\"}\n",
		"List":              "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(cm, "\n", "\n  ") + "\n- apiVersion: v1\n  kind: Namespace\n  metadata: {name: c, namespace: d}\n",
		"EmptyList":         "apiVersion: v1\nkind: List\nitems: []\n---\n" + cm,
		"NullList":          "apiVersion: v1\nkind: List\nitems: null\n---\n" + cm,
		"ListWithoutItems":  "apiVersion: v1\nkind: List\n",
		"ListInList":        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  - apiVersion: v1\n    kind: Pod\n    metadata: {name: inner}\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: outer}\n",
		"ListWithUnknown":   "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Thing\n  metadata: {name: a}\n- apiVersion: x.y/v1\n  kind: Other\n  metadata: {name: a}\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n",
		"ListOfNonsense":    "apiVersion: v1\nkind: List\nitems:\n- 7\n- text\n",
		"ListOfNull":        "apiVersion: v1\nkind: List\nitems:\n- null\n",
		"ListItemNoKind":    "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  metadata: {name: a}\n- kind: Pod\n  metadata: {name: a}\n- {}\n",
		"ListBadMetadata":   "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: 7}\n- apiVersion: v1\n  kind: Pod\n  metadata: text\n",
		"ItemsNoList":       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nitems: text\n",
		"UnknownList":       "apiVersion: example.com/v1\nkind: ThingList\nitems:\n- metadata: {name: a}\n",
		"DuplicateKeys":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: \"1\"}\ndata: {x: \"2\"}\n",
		"DuplicateJSONKeys": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":1,"name":"a"},"data":{"x":"1","x":"2"}}`,
		"JSON":              `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`,
		"JSONs":             `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`,
		"JSONThenYAML":      `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}` + "\n---\n" + cm,
		"YAMLThenJSON":      cm + "---\n" + `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`,
		"JSONNull":          "null",
		"Anchors":           "apiVersion: v1\nkind: ConfigMap\nmetadata: &m\n  name: a\n  labels: &l {x: y}\ndata: *l\nother: {<<: *l, z: 1}\n",
		"BigNumbers":        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, generation: 9223372036854775807}\nn: [9223372036854775807, 9223372036854775808, 18446744073709551616, -9223372036854775808, 1.0, 1e3, 1e400, 0.1, 0x10, 0o17, 017, 1_000]\n",
		"Scalars":           "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nn: [yes, on, ~, null, 2001-01-01, .inf, \"1\", 1, true, .5, 12:30:45, '']\n",
		"KeysOfOtherTypes":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {1: a, true: b, 1.5: c, null: d}\n",
		"NumberAsName":      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 7}\n",
		"NumberAsLabel":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {x: 7}}\n",
		"BadMetadata":       "apiVersion: v1\nkind: ConfigMap\nmetadata: text\n",
		"BadTime":           "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, creationTimestamp: yesterday}\n",
		"NullLabels":        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: null, annotations: {x: null}, creationTimestamp: null}\n",
		"BrokenYAML":        cm + "---\na: [\n---\n" + cm,
		"Tabs":              "apiVersion: v1\n\tkind: ConfigMap\n",
		"Scalar":            "text\n",
		"Sequence":          "- a\n- b\n",
		"BrokenJSON":        `{"apiVersion":"v1",`,
		"ManyErrors":        "text\n---\napiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n---\napiVersion: v1\nmetadata: {name: a}\n---\n" + cm,
		"Multiline":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: |\n    ---\n    not a separator\n  y: >-\n    folded\n    text\n",
		"Binary":            "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {x: !!binary aGVsbG8=}\n",
		"Unicode":           "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: \"\\u00e9\\u2028<&>\", \"é\": ü}\n",
	}
}

// TestBuildAsHelm: objects, their order and the errors are those of Helm's own
// client.
func TestBuildAsHelm(t *testing.T) {
	for name, manifest := range manifests() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			theirs := kube.New(w.conn)
			theirs.Namespace = "prod"
			want, wantErr := theirs.Build(strings.NewReader(manifest), false)
			b := &builder{getter: w.conn, namespace: "prod", kinds: kinds.New(t.Context(), w.conn, nil)}
			got, err := b.build(strings.NewReader(manifest), wanted)
			if diff := cmp.Diff(summary(t, want), summary(t, got)); diff != "" {
				t.Errorf("objects (-Helm +ours):\n%s", diff)
			}
			if wantErr == nil {
				existing, err := b.build(strings.NewReader(manifest), stored)
				if diff := cmp.Diff(summary(t, want), summary(t, existing)); diff != "" || err != nil {
					t.Errorf("objects of a stored manifest (-Helm +ours): %v\n%s", err, diff)
				}
			}
			// Helm has no hint at another version.
			text := fmt.Sprint(err)
			if name == "UnknownVersion" {
				text = strings.Replace(text, "the API server serves Deployment in apps/v1, so the manifest must have that apiVersion", "ensure CRDs are installed first", 1)
			}
			if fmt.Sprint(wantErr) != text {
				t.Errorf("error\n%v\nHelm has\n%v", err, wantErr)
			}
			if (want == nil) != (got == nil) || meta.IsNoMatchError(wantErr) && !meta.IsNoMatchError(err) {
				t.Errorf("nil %t, Helm %t; no match %t, Helm %t", got == nil, want == nil, meta.IsNoMatchError(err), meta.IsNoMatchError(wantErr))
			}
		})
	}
}

// TestBuildLimits: a document whose aliases expand to more than a limit is rejected before it is
// decoded.
func TestBuildLimits(t *testing.T) {
	w := newWorld(t)
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\na: &x " + strings.Repeat("x", 1_000_000) + "\nb: [" + strings.Repeat("*x,", 100) + "]\n"
	_, err := (&builder{getter: w.conn, namespace: "prod"}).build(strings.NewReader(text), wanted)
	if err == nil || err.Error() != "error parsing : the content has more than 67108864 bytes after the expansion of its aliases" {
		t.Error(err)
	}
}

// TestBuildReadsKindsOnce: a kind that does not exist is requested once for all its objects, and
// there is one client for each group and version.
func TestBuildReadsKindsOnce(t *testing.T) {
	w := newWorld(t)
	asked := 0
	w.Refuse = func(_, path string) int {
		if path == "/apis/example.com/v1" {
			asked++
		}
		return 0
	}
	var manifest strings.Builder
	for n := range 20 {
		fmt.Fprintf(&manifest, "---\napiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t%d}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\n", n, n)
	}
	b := &builder{getter: w.conn, namespace: "prod", kinds: kinds.New(t.Context(), w.conn, nil)}
	list, err := b.build(strings.NewReader(manifest.String()), wanted)
	if err == nil || len(list) != 20 {
		t.Fatalf("%d objects, %v", len(list), err)
	}
	if asked != 1 {
		t.Errorf("the server was asked %d times for a group that it does not have", asked)
	}
	for _, info := range list {
		if info.Client != list[0].Client {
			t.Error("two clients for one group and version")
		}
	}
	if client, ok := list[0].Client.(*rest.RESTClient); !ok || client.Client != w.conn.HTTPClient() {
		t.Error("the client does not use the connection's transport")
	}
}

// TestJobsDoNotShareALimit: each job has a rate limit of its own. Otherwise jobs would wait for
// each other.
func TestJobsDoNotShareALimit(t *testing.T) {
	w := newWorld(t)
	config := w.Config()
	config.QPS, config.Burst = 50, 300
	var err error
	if w.conn, err = cluster.Connect(config); err != nil {
		t.Fatal(err)
	}
	limits := map[any]bool{}
	for range 3 {
		list, err := (&builder{getter: w.conn}).build(strings.NewReader("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"), wanted)
		if err != nil {
			t.Fatal(err)
		}
		limit := list[0].Client.(*rest.RESTClient).GetRateLimiter()
		if limit == nil || limits[limit] {
			t.Errorf("limit %v is none or shared", limit)
		}
		limits[limit] = true
	}
}

// benchManifest is the manifest of the benchmark chart, without its texts.
const benchManifest = `---
# Source: bench/templates/serviceaccount.yaml
apiVersion: v1
kind: ServiceAccount
metadata:
  name: app
  labels: {app.kubernetes.io/name: bench, app.kubernetes.io/instance: app, app.kubernetes.io/managed-by: Helm}
automountServiceAccountToken: false
---
# Source: bench/templates/service.yaml
apiVersion: v1
kind: Service
metadata:
  name: app
  labels: {app.kubernetes.io/name: bench, app.kubernetes.io/instance: app, app.kubernetes.io/managed-by: Helm}
spec:
  selector: {app.kubernetes.io/name: bench, app.kubernetes.io/instance: app}
  ports:
    - name: http
      port: 80
      targetPort: http
---
# Source: bench/templates/deployment.yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app
  labels: {app.kubernetes.io/name: bench, app.kubernetes.io/instance: app, app.kubernetes.io/managed-by: Helm}
spec:
  replicas: 0
  selector:
    matchLabels: {app.kubernetes.io/name: bench, app.kubernetes.io/instance: app}
  template:
    metadata:
      labels: {app.kubernetes.io/name: bench, app.kubernetes.io/instance: app}
    spec:
      serviceAccountName: app
      containers:
        - name: bench
          image: registry.example.com/bench:1.0.0
          env:
            - name: MESSAGE
              value: "hello"
          ports:
            - name: http
              containerPort: 8080
          readinessProbe:
            httpGet:
              path: /
              port: http
          resources:
            requests:
              cpu: 100m
              memory: 64Mi
---
# Source: bench/templates/ingress.yaml
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: app
  labels: {app.kubernetes.io/name: bench, app.kubernetes.io/instance: app, app.kubernetes.io/managed-by: Helm}
spec:
  rules:
    - host: app.example.com
      http:
        paths:
          - path: /
            pathType: Prefix
            backend:
              service:
                name: app
                port:
                  name: http
`

func BenchmarkBuild(b *testing.B) {
	w := &world{t: b, Server: apitest.New(b)}
	// Each client of a real configuration reads its TLS options.
	authority := httptest.NewTLSServer(nil)
	defer authority.Close()
	config := &rest.Config{Host: "https://cluster", QPS: 50, Burst: 300, BearerToken: "t", TLSClientConfig: rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Certificate().Raw}),
	}}
	config.Wrap(func(http.RoundTripper) http.RoundTripper { return w })
	var err error
	if w.conn, err = cluster.Connect(config); err != nil {
		b.Fatal(err)
	}
	theirs := kube.New(w.conn)
	theirs.Namespace = "prod"
	b.Run("Helm", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := theirs.Build(strings.NewReader(benchManifest), false); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			// One per job, so that its clients count.
			if _, err := (&builder{getter: w.conn, namespace: "prod"}).build(strings.NewReader(benchManifest), wanted); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func TestBuildLabels(t *testing.T) {
	w := newWorld(t)
	list, err := w.client(t.Context(), nil).Build(strings.NewReader("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, labels: {own: kept, "+helmv2.LabelName+": forged}}\n---\n"+
		"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Namespace, metadata: {name: two}}\n"), false)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]string{}
	for _, info := range list {
		u, ok := info.Object.(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("object %T", info.Object)
		}
		got[info.Mapping.GroupVersionKind.Kind+" "+info.Namespace+"/"+info.Name] = u.GetLabels()
	}
	want := map[string]map[string]string{
		"ConfigMap prod/one": {"own": "kept", helmv2.LabelName: "app", helmv2.LabelNamespace: "prod"},
		"Namespace /two":     {helmv2.LabelName: "app", helmv2.LabelNamespace: "prod"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("every object, those in lists too, says where it comes from (-want +got):\n%s", diff)
	}
}
