// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/drift"
	"github.com/pintle-dev/pintle/internal/view"
)

// changingTemplate renders the objects that the values describe. Edition is a default of the chart. The
// version of the chart has the digest of the artifact, which is not known before it is published.
const changingTemplate = `{{ range $name, $data := .Values.maps }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $name }}
  labels: {{ $.Values.labels | toJson }}
  annotations: {example.com/chart: {{ $.Values.edition | quote }}}
data: {{ $data | toJson }}
{{ end }}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {{ .Values.keys | toJson }}
---
apiVersion: v1
kind: Service
metadata:
  name: web
  labels: {{ .Values.labels | toJson }}
spec:
  selector: {app: web}
  ports:{{ range $name, $port := .Values.ports }}
  - {name: {{ $name }}, port: {{ $port }}}{{ end }}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, version: {{ .Values.edition | quote }}}}
    spec:
      containers:
      - name: web
        image: example.com/web:{{ .Values.tag }}
        env:{{ range $name, $value := .Values.env }}
        - {name: {{ $name }}, value: {{ $value | quote }}}{{ end }}
{{ if .Values.account }}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: web}
{{ end }}
`

// changing makes random changes of a HelmRelease, its chart and its live objects.
type changing struct {
	*world

	random *rand.Rand
	// values are those of the HelmRelease. All parts are maps of texts, apart from a few scalars.
	values  map[string]map[string]string
	scalars map[string]any
	patched bool
	// archive is that of version chart, and published the version that is published.
	archive          []byte
	chart, published int
}

func newChanging(w *world, seed uint64) *changing {
	c := &changing{
		world: w, random: rand.New(rand.NewPCG(seed, 0)), chart: 1,
		values: map[string]map[string]string{
			"one": {"key": "1"}, "labels": {"team": "a"}, "keys": {"token": "first-token-of-all"}, "env": {"A": "1"}, "ports": {"http": "80"},
		},
		scalars: map[string]any{"replicas": 1, "tag": "1", "account": false},
	}
	c.pack()
	c.publishChart()
	return c
}

func (c *changing) pack() {
	version := fmt.Sprintf("1.0.%d", c.chart)
	c.archive = pack(c.t, "changing", version, map[string]string{
		"templates/all.yaml": changingTemplate, "values.yaml": fmt.Sprintf("edition: e%d\n", c.chart),
	})
}

func (c *changing) publishChart() {
	c.publish("app", fmt.Sprintf("1.0.%d", c.chart), c.archive)
	c.published = c.chart
}

// spec sets the parts of the HelmRelease that change.
func (c *changing) spec(hr *helmv2.HelmRelease) {
	all, configs := maps.Clone(c.scalars), map[string]any{}
	for name, v := range c.values {
		if slices.Contains([]string{"labels", "keys", "env"}, name) {
			all[name] = v
		} else if name != "ports" {
			configs[name] = v
		}
	}
	ports := map[string]any{}
	for name, port := range c.values["ports"] {
		n, err := strconv.Atoi(port)
		c.must(err)
		ports[name] = n
	}
	all["ports"], all["maps"] = ports, configs
	hr.Spec.Values, hr.Spec.PostRenderers = rawValues(c.t, all), nil
	if c.patched {
		hr.Spec.PostRenderers = []helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{Patches: []helmv2.Patch{{
			Patch: "apiVersion: v1\nkind: Service\nmetadata: {name: web, annotations: {example.com/patched: yes-it-is}}\n",
		}}}}}
	}
}

// next changes the spec or the chart, and sometimes a live object before.
func (c *changing) next() (what []string) {
	if c.random.IntN(4) == 0 {
		what = append(what, c.touch())
	}
	if c.random.IntN(6) == 0 {
		c.chart++
		c.pack()
		return append(what, "chart")
	}
	for range 1 + c.random.IntN(3) {
		what = append(what, c.change())
	}
	return what
}

// change changes a value, or the post-renderer.
func (c *changing) change() string {
	switch c.random.IntN(8) {
	case 0:
		c.scalars["replicas"] = c.random.IntN(4)
		return fmt.Sprint("replicas ", c.scalars["replicas"])
	case 1:
		c.scalars["tag"] = strconv.Itoa(c.random.IntN(4))
		return fmt.Sprint("tag ", c.scalars["tag"])
	case 2:
		c.scalars["account"] = c.scalars["account"] == false
		return "account"
	case 3:
		c.patched = !c.patched
		return "post-renderer"
	case 4:
		name := []string{"two", "three"}[c.random.IntN(2)]
		if _, ok := c.values[name]; ok {
			delete(c.values, name)
			return "remove " + name
		}
		c.values[name] = map[string]string{"key": "1"}
		return "add " + name
	case 5:
		return c.entry("ports", []string{"http", "https", "metrics"}, func() string { return strconv.Itoa(80 + c.random.IntN(4)) })
	}
	part := slices.Sorted(maps.Keys(c.values))[c.random.IntN(len(c.values))]
	if part == "ports" {
		part = "labels"
	}
	return c.entry(part, []string{"key", "token", "example.x"}, func() string { return fmt.Sprintf("value-%d", c.random.IntN(9)) })
}

// entry sets or removes an entry of a part of the values. Values of one part differ, and a part keeps
// one entry.
func (c *changing) entry(part string, keys []string, value func() string) string {
	values, key := c.values[part], keys[c.random.IntN(len(keys))]
	if _, ok := values[key]; ok && len(values) > 1 && c.random.IntN(2) == 0 {
		delete(values, key)
		return "remove " + part + "." + key
	}
	if v := value(); !slices.Contains(slices.Collect(maps.Values(values)), v) {
		values[key] = v
	}
	return part + "." + key + "=" + values[key]
}

// touch edits or deletes a live object as another client.
func (c *changing) touch() string {
	live := c.live()
	name := []string{"ConfigMap/one", "Service/web", "Deployment/web"}[c.random.IntN(3)]
	o := live[name]
	if o == nil {
		return "nothing"
	}
	if c.random.IntN(3) == 0 && o.GetKind() == "ConfigMap" {
		c.must(suite.client.Delete(c.t.Context(), o))
		return "delete " + name
	}
	patch := `{"metadata":{"annotations":{"example.com/seen":"by another client"},"labels":{"team":"` + fmt.Sprint("live-", c.random.IntN(9)) + `"}}}`
	if o.GetKind() == "Deployment" {
		patch = fmt.Sprintf(`{"spec":{"replicas":%d}}`, 5+c.random.IntN(3))
	}
	c.must(suite.client.Patch(c.t.Context(), o, client.RawPatch("application/merge-patch+json", []byte(patch)), client.FieldOwner("another-client")))
	return "edit " + name
}

// live returns the objects of the release, by kind and name.
func (c *changing) live() map[string]*unstructured.Unstructured {
	all := map[string]*unstructured.Unstructured{}
	for _, gvk := range []schema.GroupVersionKind{
		{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "ServiceAccount"},
		{Group: "apps", Version: "v1", Kind: "Deployment"},
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		c.must(suite.client.List(c.t.Context(), list, client.InNamespace(c.namespace), client.MatchingLabels{"app.kubernetes.io/managed-by": "Helm"}))
		for i := range list.Items {
			all[gvk.Kind+"/"+list.Items[i].GetName()] = &list.Items[i]
		}
	}
	return all
}

// happened returns the changes between two states, in the form of foretold.
func (c *changing) happened(before, after map[string]*unstructured.Unstructured) map[string]string {
	all := map[string]string{}
	for name, o := range after {
		was := before[name]
		switch {
		case was == nil:
			all[name] = view.DiffCreated
		case was.GetUID() != o.GetUID():
			all[name] = view.DiffReplaced
		default:
			fields, err := drift.Answered(was, o, nil)
			c.must(err)
			text := view.DiffChanged
			for _, f := range fields {
				text += fmt.Sprintf("\n%s: %s to %s", f.Path, f.Have, f.Want)
			}
			if len(fields) > 0 {
				all[name] = text
			}
		}
	}
	for name := range before {
		if after[name] == nil {
			all[name] = view.DiffDeleted
		}
	}
	return all
}

// foretold returns the changes that `kubectl pintle diff -f` shows for the HelmRelease as it would be.
func (c *changing) foretold(kubeconfig string, hr *helmv2.HelmRelease) (string, map[string]string) {
	c.t.Helper()
	next := &helmv2.HelmRelease{
		TypeMeta:   metav1.TypeMeta{APIVersion: helmv2.GroupVersion.String(), Kind: helmv2.HelmReleaseKind},
		ObjectMeta: metav1.ObjectMeta{Namespace: hr.Namespace, Name: hr.Name}, Spec: *hr.Spec.DeepCopy(),
	}
	c.spec(next)
	raw, err := yaml.Marshal(next)
	c.must(err)
	dir := c.t.TempDir()
	args := []string{"diff", "-o", "json", "-f", filepath.Join(dir, "release.yaml")}
	c.must(os.WriteFile(filepath.Join(dir, "release.yaml"), raw, 0o600))
	if c.chart != c.published {
		args = append(args, "--chart", filepath.Join(dir, "chart.tgz"))
		c.must(os.WriteFile(filepath.Join(dir, "chart.tgz"), c.archive, 0o600))
	}
	code, output := c.plugin(kubeconfig, args...)
	var d view.Diff
	if err := json.Unmarshal([]byte(output), &d); err != nil {
		c.t.Fatalf("exit code %d, %v", code, err)
	}
	if want := map[bool]int{false: 0, true: 1}[d.Action != ""]; code != want || len(d.Problems) > 0 {
		c.t.Errorf("exit code %d, want %d; problems %q", code, want, d.Problems)
	}
	all := map[string]string{}
	for _, o := range d.Objects {
		text := o.Change
		for _, f := range o.Fields {
			text += fmt.Sprintf("\n%s: %s to %s", f.Path, f.From, f.To)
		}
		all[o.Kind+"/"+o.Name] = text
	}
	return d.Action, all
}

// apply applies the change, and waits for its upgrade.
func (c *changing) apply(hr *helmv2.HelmRelease, upgrades bool) {
	c.t.Helper()
	version := newest(hr)
	if c.chart != c.published {
		c.publishChart()
	}
	c.edit(hr, c.spec)
	c.until(hr, "the change", func(hr *helmv2.HelmRelease) bool {
		return hr.Status.ObservedGeneration == hr.Generation && condition(hr, helmv2.ConditionReady).Status == metav1.ConditionTrue &&
			(!upgrades || newest(hr) > version)
	})
	c.settle(hr)
	if got := newest(hr) - version; got > 1 || (got == 1) != upgrades {
		c.t.Errorf("%d new revisions", got)
	}
}

// TestDiffAgrees: `kubectl pintle diff -f` names the changes that the following upgrade makes, for random
// changes of values, charts and post-renderers, some of them after edits of live objects.
// It writes nothing. PINTLE_SEED repeats other changes than the usual ones.
func TestDiffAgrees(t *testing.T) {
	t.Parallel()
	seed := uint64(1)
	if s := os.Getenv("PINTLE_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]helmv2.ServerSideApplyMode{"ServerSide": helmv2.ServerSideApplyEnabled, "ClientSide": helmv2.ServerSideApplyDisabled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c, kubeconfig := newChanging(w, seed), w.kubeconfig()
			hr := w.release("app", nil, c.spec, func(hr *helmv2.HelmRelease) {
				server := mode == helmv2.ServerSideApplyEnabled
				hr.Spec.Install = &helmv2.Install{ServerSideApply: &server, DisableWait: true}
				hr.Spec.Upgrade = &helmv2.Upgrade{ServerSideApply: mode, DisableWait: true}
			})
			w.untilReady(hr)
			w.settle(hr)
			agreed := 0
			for i := range 25 {
				what := strings.Join(c.next(), ", ")
				before := c.live()
				action, foretold := c.foretold(kubeconfig, hr)
				if diff := cmp.Diff(before, c.live()); diff != "" {
					t.Fatalf("change %d (%s): the diff has written: %s", i, what, diff)
				}
				c.apply(hr, action != "")
				if diff := cmp.Diff(foretold, c.happened(before, c.live())); diff != "" {
					t.Errorf("change %d (%s): foretold (-), happened (+): %s", i, what, diff)
					continue
				}
				agreed++
			}
			t.Logf("seed %d: %d of 25 agree", seed, agreed)
		})
	}
}
