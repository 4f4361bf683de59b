// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// newRenderer returns a renderer for the fields of a spec.
func newRenderer(t testing.TB, spec string) (*Renderer, error) {
	t.Helper()
	var s struct {
		PostRenderers  []helmv2.PostRenderer  `json:"postRenderers"`
		CommonMetadata *helmv2.CommonMetadata `json:"commonMetadata"`
	}
	if err := yaml.UnmarshalStrict([]byte(spec), &s); err != nil {
		t.Fatalf("%v in\n%s", err, spec)
	}
	return New(s.PostRenderers, s.CommonMetadata)
}

// render returns the changed manifest of a release.
func render(t testing.TB, spec, manifest string) (string, error) {
	t.Helper()
	r, err := newRenderer(t, spec)
	if err != nil {
		return "", err
	}
	if r == nil {
		t.Fatal("the spec changes nothing")
	}
	out, err := r.Templates(manifest)
	if err != nil {
		return "", err
	}
	return out, r.Complete()
}

const (
	configMap = "---\n# Source: note/templates/cm.yaml\n# A comment.\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes}   # kept\ndata:\n  text: |\n    one\n\n    ---\n    two\n\n\n"

	deployment = `---
# Source: note/templates/deployment.yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app
  labels:
    tier: web
spec:
  replicas: 1 # one
  template:
    spec:
      initContainers:
        - name: wait
          image: registry.example.com:5000/tools/wait:v1
      containers:
        - name: app
          image: nginx:1.27
          resources: null
        - name: sidecar
          image: busybox
`

	labelDeployment = `
postRenderers:
- kustomize:
    patches:
    - patch: |
        apiVersion: apps/v1
        kind: Deployment
        metadata:
          name: app
          labels: {xxxx: yyyy}
    - target: {kind: Deployment}
      patch: |
        - op: add
          path: /metadata/labels/yyyy
          value: xxxx
`
)

// TestTemplates: post-renderers and common metadata change the manifest of a release.
func TestTemplates(t *testing.T) {
	cases := map[string]struct {
		reason, spec, in, want string
	}{
		"Patches": {
			reason: "only changed documents are printed again, and keep their first comments",
			spec:   labelDeployment, in: configMap + deployment,
			want: configMap + `---
# Source: note/templates/deployment.yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  labels:
    tier: web
    xxxx: yyyy
    yyyy: xxxx
  name: app
spec:
  replicas: 1
  template:
    spec:
      containers:
      - image: nginx:1.27
        name: app
        resources: null
      - image: busybox
        name: sidecar
      initContainers:
      - image: registry.example.com:5000/tools/wait:v1
        name: wait
`,
		},
		"ListsByKey": {
			reason: "a strategic merge patch finds a container by its name, puts new ones first, and deletes",
			spec: `
postRenderers:
- kustomize:
    patches:
    - patch: |
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: app}
        spec:
          replicas: null
          template:
            spec:
              initContainers: [{name: wait, $patch: delete}]
              containers:
              - {name: added, image: "x"}
              - name: app
                env: [{name: A, value: "yes"}]
`,
			in: deployment,
			want: `---
# Source: note/templates/deployment.yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  labels:
    tier: web
  name: app
spec:
  template:
    spec:
      containers:
      - image: x
        name: added
      - env:
        - name: A
          value: "yes"
        image: nginx:1.27
        name: app
        resources: null
      - image: busybox
        name: sidecar
      initContainers: []
`,
		},
		"Images": {
			reason: "names, tags and digests of images change in each list of containers",
			spec: `
postRenderers:
- kustomize:
    images:
    - {name: nginx, newName: mirror.example.com/nginx, newTag: "1.28"}
    - {name: busybox, digest: "sha256:aaaa"}
    - {name: "registry.example.com:5000/tools/wait", newName: wait, newTag: v2, digest: "sha256:bbbb"}
    - {name: ngin, newTag: never}
`,
			in: configMap + deployment,
			want: configMap + `---
# Source: note/templates/deployment.yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  labels:
    tier: web
  name: app
spec:
  replicas: 1
  template:
    spec:
      containers:
      - image: mirror.example.com/nginx:1.28
        name: app
        resources: null
      - image: busybox@sha256:aaaa
        name: sidecar
      initContainers:
      - image: wait:v2@sha256:bbbb
        name: wait
`,
		},
		"ImagesElsewhere": {
			reason: "containers of custom resources change, other fields named image do not",
			spec:   "postRenderers: [{kustomize: {images: [{name: nginx, newTag: new}]}}]",
			in:     "apiVersion: example.com/v1\nkind: Runner\nmetadata: {name: r}\nimage: nginx\nspec:\n  deep: {containers: [{image: 'nginx@sha256:cccc'}]}\n  volumes: [{image: {reference: 'nginx:1'}}]\n",
			want:   "apiVersion: example.com/v1\nimage: nginx\nkind: Runner\nmetadata:\n  name: r\nspec:\n  deep:\n    containers:\n    - image: nginx:new\n  volumes:\n  - image:\n      reference: nginx:new\n",
		},
		"Order": {
			reason: "post-renderers apply in order, and common metadata last",
			spec: `
postRenderers:
- kustomize:
    patches:
    - target: {kind: ConfigMap}
      patch: '[{"op": "add", "path": "/metadata/labels", "value": {"a": "1", "b": "1", "c": "1"}}]'
    images: [{name: none, newTag: x}]
- kustomize:
    patches:
    - target: {labelSelector: "a=1"}
      patch: '{"metadata": {"labels": {"b": "2", "c": "2"}}}'
commonMetadata: {labels: {c: "3"}, annotations: {d: "4"}}
`,
			in:   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
			want: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  annotations:\n    d: \"4\"\n  labels:\n    a: \"1\"\n    b: \"2\"\n    c: \"3\"\n  name: a\n",
		},
		"CommonMetadata": {
			reason: "labels and annotations are added to metadata only, and replace existing ones",
			spec:   "commonMetadata: {labels: {tier: db, team: one}, annotations: {note: 'yes'}}",
			in:     "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels: {tier: web, x: 'y'}\nspec:\n  template: {metadata: {labels: {tier: web}}}\n---\napiVersion: v1\nkind: Secret\n",
			want:   "---\napiVersion: v1\nkind: Pod\nmetadata:\n  annotations:\n    note: \"yes\"\n  labels:\n    team: one\n    tier: db\n    x: \"y\"\n  name: a\nspec:\n  template:\n    metadata:\n      labels:\n        tier: web\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  annotations:\n    note: \"yes\"\n  labels:\n    team: one\n    tier: db\n",
		},
		"CommonMetadataPresent": {
			reason: "an object that has the labels keeps its bytes",
			spec:   "commonMetadata: {labels: {a: b}}",
			in:     "---\n{apiVersion: v1, kind: Pod, metadata: {labels: {a: b}}} # so\n",
			want:   "---\n{apiVersion: v1, kind: Pod, metadata: {labels: {a: b}}} # so\n",
		},
		"TwinsWithoutPatches": {
			reason: "common metadata applies to objects with the same identity",
			spec:   "commonMetadata: {labels: {a: b}}",
			in:     strings.Repeat("---\napiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n    a: b\n  name: x\n", 2),
			want:   strings.Repeat("---\napiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n    a: b\n  name: x\n", 2),
		},
		"Lists": {
			reason: "each object of a list is changed, and the list remains a list",
			spec: `
postRenderers:
- kustomize:
    patches:
    - {target: {name: two}, patch: '{"$patch": "delete", "apiVersion": "v1", "kind": "Pod"}'}
    - {target: {kind: ConfigMap, name: one}, patch: '[{"op": "add", "path": "/data", "value": {}}]'}
commonMetadata: {labels: {a: b}}
`,
			in:   "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}}\n- {apiVersion: v1, kind: Pod, metadata: {name: two}}\n---\napiVersion: v1\nkind: ConfigMapList\nitems: [{metadata: {name: three}}]\n",
			want: "apiVersion: v1\nitems:\n- apiVersion: v1\n  data: {}\n  kind: ConfigMap\n  metadata:\n    labels:\n      a: b\n    name: one\nkind: List\n---\napiVersion: v1\nitems:\n- metadata:\n    labels:\n      a: b\n    name: three\nkind: ConfigMapList\n",
		},
		"Deleted": {
			reason: "a document whose object is deleted is removed with its separator, and later patches ignore it",
			spec: `
postRenderers:
- kustomize:
    patches:
    - patch: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app}\n$patch: delete"
    - {target: {kind: Deployment}, patch: '[{op: remove, path: /none}]'}
`,
			in: configMap + deployment + "---\n# the end\n", want: configMap + "---\n# the end\n",
		},
		"CRDs": {
			reason: "CRDs are objects like others, but their schema has no images",
			spec:   "postRenderers: [{kustomize: {images: [{name: nginx, newTag: x}]}}]\ncommonMetadata: {labels: {a: b}}",
			in:     "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: d}\nspec: {containers: [{image: nginx}]}\n",
			want:   "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  labels:\n    a: b\n  name: d\nspec:\n  containers:\n  - image: nginx\n",
		},
		"GeneratedNames": {
			reason: "objects with generated names may be equal, are selected by kind, and get no name from a patch",
			spec:   `postRenderers: [{kustomize: {patches: [{target: {kind: Job}, patch: "metadata: {name: placeholder, labels: {a: b}}\nspec: {parallelism: 1}"}]}}]`,
			in:     strings.Repeat("---\napiVersion: batch/v1\nkind: Job\nmetadata: {generateName: j-}\n", 2),
			want:   strings.Repeat("---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  generateName: j-\n  labels:\n    a: b\nspec:\n  parallelism: 1\n", 2),
		},
		"Anchors": {
			reason: "anchors and merge keys are resolved",
			spec:   "commonMetadata: {labels: {a: b}}",
			in:     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, labels: &l {k: v}}\nmore: {<<: *l, k2: v2}\nsame: *l\n",
			want:   "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  labels:\n    a: b\n    k: v\n  name: x\nmore:\n  k: v\n  k2: v2\nsame:\n  k: v\n",
		},
		"Windows": {
			reason: "line endings of Windows are accepted",
			spec:   "commonMetadata: {labels: {a: b}}",
			in:     "---\r\napiVersion: v1\r\nkind: ConfigMap\r\ndata:\r\n  t: |\r\n    one\r\n    two\r\n---\r\n# nothing\r\n",
			want:   "---\r\napiVersion: v1\ndata:\n  t: |\n    one\n    two\nkind: ConfigMap\nmetadata:\n  labels:\n    a: b\n---\r\n# nothing\r\n",
		},
		"YAML11": {
			reason: "values have Helm's types, and large numbers keep their digits",
			spec:   `postRenderers: [{kustomize: {patches: [{target: {kind: X}, patch: "spec: {on: yes, mode: 0755}"}]}}]`,
			in:     "kind: X\nmore: ~\nspec: {a: yes, b: 010, c: 12345678901234567890, d: 1.50, e: 'yes', f: ~, g: 1e3, h: [], i: {}}\n",
			want:   "kind: X\nmore: null\nspec:\n  a: true\n  b: 8\n  c: 12345678901234567890\n  d: 1.5\n  e: \"yes\"\n  f: null\n  g: 1000\n  h: []\n  i: {}\n  mode: 493\n  \"true\": true\n",
		},
		"NoObjects": {
			reason: "documents without an object do not change",
			spec:   labelDeployment + "commonMetadata: {labels: {a: b}}",
			in:     deployment + "---\n\n--- # empty\n# only a comment\n---\njust text\n---\n[1, 2]\n",
			want: `---
# Source: note/templates/deployment.yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  labels:
    a: b
    tier: web
    xxxx: yyyy
    yyyy: xxxx
  name: app
spec:
  replicas: 1
  template:
    spec:
      containers:
      - image: nginx:1.27
        name: app
        resources: null
      - image: busybox
        name: sidecar
      initContainers:
      - image: registry.example.com:5000/tools/wait:v1
        name: wait
---

--- # empty
# only a comment
---
just text
---
[1, 2]
`,
		},
		"Identity": {
			reason: "a patch that replaces an object keeps its identity, and operations can rename an object",
			spec: `
postRenderers:
- kustomize:
    patches:
    - target: {name: a}
      patch: '{"$patch": "replace", "kind": "Other", "metadata": {"name": "z", "namespace": "z"}, "data": {"k": "v"}}'
    - target: {name: b}
      patch: '[{"op": "replace", "path": "/metadata/name", "value": "c"}]'
`,
			in:   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: prod, labels: {l: m}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n",
			want: "apiVersion: v1\ndata:\n  k: v\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: prod\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := render(t, tc.spec, tc.in)
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestTargets: a target selects objects by identity, labels and annotations.
func TestTargets(t *testing.T) {
	const in = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web-1, namespace: prod, labels: {tier: web}, annotations: {a: 'x'}}\n"
	cases := map[string]struct {
		target string
		want   bool
	}{
		"Everything":       {"{}", true},
		"All":              {"{group: apps, version: v1, kind: Deployment, namespace: prod, name: web-1, labelSelector: tier=web, annotationSelector: a=x}", true},
		"Regex":            {"{group: a.*, version: 'v[12]', kind: Deploy.*|StatefulSet, name: web-.*, namespace: p...}", true},
		"WholeName":        {"{name: web}", false},
		"Group":            {"{group: batch}", false},
		"Version":          {"{version: v1beta1}", false},
		"Kind":             {"{kind: deployment}", false},
		"Namespace":        {"{namespace: default}", false},
		"Labels":           {"{labelSelector: 'tier in (db, web), !other'}", true},
		"OtherLabels":      {"{labelSelector: tier!=web}", false},
		"OtherAnnotations": {"{annotationSelector: b}", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			spec := "postRenderers: [{kustomize: {patches: [{target: " + tc.target + ", patch: '[{\"op\": \"add\", \"path\": \"/x\", \"value\": 1}]'}]}}]"
			got, err := render(t, spec, in)
			if err != nil || (got != in) != tc.want {
				t.Errorf("%v, selected %t, want %t", err, got != in, tc.want)
			}
		})
	}
}

// TestTargetsWithoutNamespace: as in kustomize, an object without a namespace is in the namespace
// default, unless its kind is cluster-scoped.
func TestTargetsWithoutNamespace(t *testing.T) {
	for kind, want := range map[string]bool{"ConfigMap": true, "Namespace": false} {
		in := "apiVersion: v1\nkind: " + kind + "\nmetadata: {name: x}\n"
		got, err := render(t, "postRenderers: [{kustomize: {patches: [{target: {namespace: default}, patch: 'data: {k: v}'}]}}]", in)
		if err != nil || (got != in) != want {
			t.Errorf("%s: %v, selected %t", kind, err, got != in)
		}
	}
}

// TestNothingToDo: a spec without changes needs no renderer.
func TestNothingToDo(t *testing.T) {
	for _, spec := range []string{"{}", "commonMetadata: {}", "postRenderers: [{}, {kustomize: {}}]", "commonMetadata: {labels: {}}"} {
		if r, err := newRenderer(t, spec); r != nil || err != nil {
			t.Errorf("%s makes a renderer, or %v", spec, err)
		}
	}
}

// TestErrors: errors name the field of the spec, and the object.
func TestErrors(t *testing.T) {
	patch := func(p string) string {
		return "postRenderers: [{}, {kustomize: {patches: [{target: {name: never}, patch: '{}'}, " + p + "]}}]"
	}
	const at = "spec.postRenderers[1].kustomize.patches[1]"
	cases := map[string]struct{ spec, in, want string }{
		"Empty":           {spec: patch(`{patch: "# nothing"}`), want: at + ": the patch is empty"},
		"NoYAML":          {spec: patch(`{patch: "a: b: c"}`), want: at + ": the patch is not YAML: "},
		"Scalar":          {spec: patch(`{patch: "text"}`), want: at + ": the patch is neither an object nor a list of operations"},
		"NoTarget":        {spec: patch(`{patch: '[{"op": "remove", "path": "/a"}]'}`), want: at + ": operations need a target"},
		"TwoLists":        {spec: patch(`{target: {name: a}, patch: "[]\n---\n[]"}`), want: at + ": operations have to be one document"},
		"UnknownOp":       {spec: patch(`{target: {name: a}, patch: '[{"op": "delete", "path": "/a"}]'}`), want: at + ": operation 0: op has to be"},
		"NoPath":          {spec: patch(`{target: {name: a}, patch: '[{"op": "remove"}]'}`), want: at + ": operation 0: path is missing"},
		"NoOperation":     {spec: patch(`{target: {name: a}, patch: '[1]'}`), want: at + ": operations have to be maps"},
		"Nameless":        {spec: patch(`{patch: "kind: Deployment"}`), want: at + ": a patch without a target has to name an object"},
		"SeveralAtTarget": {spec: patch(`{target: {name: a}, patch: "kind: A\n---\nkind: B"}`), want: at + ": a patch with a target has to be one object"},
		"BadRegex":        {spec: patch(`{target: {name: "("}, patch: "{}"}`), want: at + ": target: error parsing regexp"},
		"BadLabels":       {spec: patch(`{target: {labelSelector: "a in"}, patch: "{}"}`), want: at + ": target.labelSelector: "},
		"BadAnnotations":  {spec: patch(`{target: {annotationSelector: "a in"}, patch: "{}"}`), want: at + ": target.annotationSelector: "},
		"BadImage":        {spec: "postRenderers: [{kustomize: {images: [{name: '('}]}}]", want: "spec.postRenderers[0].kustomize.images[0]: name: error parsing regexp"},
		"NoImage":         {spec: "postRenderers: [{kustomize: {images: [{newTag: x}]}}]", want: "spec.postRenderers[0].kustomize.images[0]: name is missing"},
		"Missing": {
			spec: patch(`{patch: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: other}"}`), in: deployment,
			want: at + ": the rendered manifests do not contain the Deployment other that the patch names",
		},
		"DoesNotApply": {
			spec: patch(`{target: {kind: Deployment}, patch: '[{"op": "remove", "path": "/spec/none"}]'}`), in: deployment,
			want: at + " cannot be applied to Deployment app: ",
		},
		"NoObjectLeft": {
			spec: patch(`{target: {kind: Deployment}, patch: '[{"op": "replace", "path": "", "value": 1}]'}`), in: deployment,
			want: at + " cannot be applied to Deployment app: ",
		},
		"DoesNotMerge": {
			spec: patch(`{target: {kind: Deployment}, patch: "spec: [1]"}`), in: deployment,
			want: at + " cannot be applied to Deployment app: wrong node kind: expected MappingNode but got SequenceNode",
		},
		"Twins": {
			spec: patch(`{target: {kind: X}, patch: "{}"}`), in: configMap + deployment + deployment,
			want: "the chart renders Deployment app twice",
		},
		"Hook": {
			spec: "commonMetadata: {annotations: {helm.sh/hook: pre-install}}", in: deployment,
			want: "post-rendering makes Deployment app a hook, which is not supported",
		},
		"Labels": {
			spec: "commonMetadata: {labels: {a: b}}", in: "kind: X\nmetadata: {name: x, labels: [a]}\n",
			want: "spec.commonMetadata cannot be applied to X x: metadata.labels is not a map",
		},
		"Metadata": {
			spec: "commonMetadata: {labels: {a: b}}", in: "kind: X\nmetadata: text\n",
			want: "spec.commonMetadata cannot be applied to X *: metadata is not a map",
		},
		"Manifest": {
			spec: "commonMetadata: {labels: {a: b}}", in: configMap + "---\n# Source: note/templates/bad.yaml\na: b: c\n",
			want: "document 2 (note/templates/bad.yaml): ",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out, err := render(t, tc.spec, tc.in)
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "contents") {
				t.Errorf("error %v, want %s; made\n%s", err, tc.want, out)
			}
		})
	}
}

// TestSecretsAreNotQuoted: errors of kustomize, which quote the object, are shortened.
func TestSecretsAreNotQuoted(t *testing.T) {
	spec := `postRenderers: [{kustomize: {patches: [{target: {kind: Secret}, patch: "data: {k: {a: b}}"}]}}]`
	_, err := render(t, spec, "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {k: aHVudGVyMg==}\n")
	if err == nil || strings.Contains(err.Error(), "aHVudGVyMg") || !strings.Contains(err.Error(), "applied to Secret s: ") {
		t.Errorf("error %v", err)
	}
}

// TestHooks: a patch may name a hook, and changes all hooks of the same identity.
func TestHooks(t *testing.T) {
	r, err := newRenderer(t, `
postRenderers:
- kustomize:
    patches:
    - patch: "apiVersion: v1\nkind: Pod\nmetadata: {name: hook}\nspec: {a: b}"
    - patch: "apiVersion: v1\nkind: Pod\nmetadata: {name: gone}\n$patch: delete"
`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Templates(configMap); err != nil {
		t.Fatal(err)
	}
	if err := r.Complete(); err == nil || strings.Count(err.Error(), "the rendered manifests do not contain the Pod ") != 2 {
		t.Errorf("before the hooks: %v", err)
	}
	const hook = "apiVersion: v1\nkind: Pod\nmetadata: {name: hook, annotations: {helm.sh/hook: test}}"
	const want = "apiVersion: v1\nkind: Pod\nmetadata:\n  annotations:\n    helm.sh/hook: test\n  name: hook\nspec:\n  a: b\n"
	for range 2 {
		if got, err := r.Hook(hook); err != nil || got != want {
			t.Errorf("%v\n%s", err, got)
		}
	}
	if got, err := r.Hook(strings.ReplaceAll(hook, "name: hook", "name: gone")); err != nil || got != "" {
		t.Errorf("%v, deleted hook is %q", err, got)
	}
	if got, err := r.Hook("kind: [Pod"); err == nil {
		t.Errorf("a hook that cannot be parsed becomes %q", got)
	}
	if err := r.Complete(); err != nil {
		t.Error(err)
	}
}
