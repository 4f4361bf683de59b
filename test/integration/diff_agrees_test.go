// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/drift"
	"github.com/pintle-dev/pintle/internal/view"
)

// agreeGroup is the API group of the chart's CRD.
const agreeGroup = "agrees.example.com"

const agreeTemplates = `apiVersion: v1
kind: ConfigMap
metadata: {name: app, labels: {{ toJson .Values.labels }}, annotations: {{ toJson .Values.annotations }}}
data: {message: {{ quote .Values.message }}, given: {{ quote .Values.given }}, app: {{ quote .Chart.AppVersion }}}
---
apiVersion: v1
kind: Secret
metadata: {name: token}
stringData: {token: {{ quote .Values.token }}}
---
apiVersion: v1
kind: Service
metadata: {name: app, labels: {{ toJson .Values.labels }}}
spec: {selector: {app: app}, ports: [{name: web, port: {{ .Values.port }}}, {name: fixed, port: 9}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, annotations: {{ toJson .Values.annotations }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: {{ quote .Values.selector }}}}
  template:
    metadata: {labels: {app: {{ quote .Values.selector }}}}
    spec: {containers: [{name: app, image: "app:{{ .Values.message }}", env: {{ toJson .Values.env }}}]}
{{- range .Values.more }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "more-{{ . }}"}
data: {message: {{ quote $.Values.message }}}
{{- end }}
`

// agreement is a release that is changed at random, and the inputs that it has.
type agreement struct {
	*world

	random     *rand.Rand
	kubeconfig string
	hr         *helmv2.HelmRelease
	values     map[string]any
	// chart is the number of the published chart, next that of the proposed one.
	chart, next int
	// refused is true if the API server refuses the proposed objects.
	refused bool
	kinds   map[string]int
}

// archive returns a version of the chart. Versions differ in an object, a label and the CRD.
func (a *agreement) archive(n int) []byte {
	version := fmt.Sprintf("1.%d.0", n)
	files := map[string]string{
		"Chart.yaml":         fmt.Sprintf("apiVersion: v2\nname: note\nversion: %s\nappVersion: %q\n", version, "v"+strconv.Itoa(n)),
		"templates/all.yaml": agreeTemplates,
		"crds/thing.yaml":    strings.Replace(definition(agreeGroup, "v1"), "singular: thing", fmt.Sprintf("singular: thing, shortNames: [t%d]", n%3), 1),
	}
	if n%2 == 1 {
		files["templates/odd.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: odd, labels: {chart: \"" + version + "\"}}\n"
	}
	return pack(a.t, "note", version, files)
}

// some returns one of several texts.
func (a *agreement) some(all ...string) string { return all[a.random.IntN(len(all))] }

// someMap returns a map with some of the keys.
func (a *agreement) someMap(keys ...string) map[string]any {
	all := map[string]any{}
	for _, key := range keys {
		if a.random.IntN(2) == 0 {
			all[key] = "v" + strconv.Itoa(a.random.IntN(5))
		}
	}
	return all
}

// mutations are the kinds of changes.
func (a *agreement) mutations() map[string]func(hr *helmv2.HelmRelease) {
	set := func(key string, value func() any) func(*helmv2.HelmRelease) {
		return func(*helmv2.HelmRelease) { a.values[key] = value() }
	}
	return map[string]func(hr *helmv2.HelmRelease){
		"message":     set("message", func() any { return "m" + strconv.Itoa(a.random.IntN(1000)) }),
		"labels":      set("labels", func() any { return a.someMap("a", "b", "c.example.com/d") }),
		"annotations": set("annotations", func() any { return a.someMap("e", "f", "g.example.com/h") }),
		"token":       set("token", func() any { return "t" + strconv.Itoa(a.random.IntN(1000)) }),
		"port":        set("port", func() any { return 80 + a.random.IntN(20) }),
		"replicas":    set("replicas", func() any { return a.random.IntN(5) }),
		"unused":      set("unused", func() any { return a.random.IntN(1000) }),
		"objects": set("more", func() any {
			return slices.Sorted(maps.Keys(a.someMap("a", "b", "c")))
		}),
		"env": set("env", func() any {
			env := []any{}
			for _, name := range slices.Sorted(maps.Keys(a.someMap("A", "B", "C"))) {
				env = append(env, map[string]any{"name": name, "value": a.some("x", "y")})
			}
			return env
		}),
		"selector": set("selector", func() any { a.refused = true; return "other" }),
		"chart":    func(*helmv2.HelmRelease) { a.next = a.random.IntN(6) },
		"valuesFrom": func(*helmv2.HelmRelease) {
			cm := a.configMap("given")
			cm.Data["values.yaml"] = "given: g" + strconv.Itoa(a.random.IntN(1000))
			a.must(suite.client.Update(a.t.Context(), cm))
		},
		"postRenderers": func(hr *helmv2.HelmRelease) {
			hr.Spec.PostRenderers = nil
			if a.random.IntN(3) > 0 {
				patch := fmt.Sprintf("[{op: add, path: /data, value: {patched: %q}}]", a.some("1", "2", "3"))
				hr.Spec.PostRenderers = []helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{Patches: []helmv2.Patch{{
					Patch: patch, Target: &helmv2.Selector{Kind: "ConfigMap", Name: a.some("app", "more-.*")},
				}}}}}
			}
		},
		"force": func(hr *helmv2.HelmRelease) {
			hr.Spec.Upgrade.Force, hr.Spec.Upgrade.ServerSideApply = !hr.Spec.Upgrade.Force, helmv2.ServerSideApplyDisabled
			if !hr.Spec.Upgrade.Force {
				hr.Spec.Upgrade.ServerSideApply = helmv2.ServerSideApplyMode(a.some("enabled", "disabled", "auto"))
			}
		},
		"edit": func(*helmv2.HelmRelease) {
			cm := a.configMap("app")
			cm.Data["edited"] = strconv.Itoa(a.random.IntN(1000))
			cm.Data["message"] = "edited"
			a.must(suite.client.Update(a.t.Context(), cm, client.FieldOwner("kubectl-edit")))
		},
	}
}

// change makes one or two random changes, and returns their names and the file with the HelmRelease.
func (a *agreement) change() (what, file string) {
	a.next, a.refused, a.values["selector"] = a.chart, false, "app"
	all := a.mutations()
	var names []string
	for range 1 + a.random.IntN(2) {
		names = append(names, a.some(slices.Sorted(maps.Keys(all))...))
	}
	file = a.proposal(a.hr, func(hr *helmv2.HelmRelease) {
		for _, name := range slices.Compact(names) {
			a.kinds[name]++
			all[name](hr)
		}
		hr.Spec.Suspend, hr.Spec.Values = false, rawValues(a.t, a.values)
		a.hr.Spec = hr.Spec
	})
	return strings.Join(names, ", "), file
}

// diff returns the exit code and the content of a diff. An archive is given for another chart than the
// published one.
func (a *agreement) diff(file string) (int, view.Diff) {
	a.t.Helper()
	args := []string{"diff", "-f", file, "-o", "json"}
	if a.next != a.chart {
		args = append(args, "--chart", a.file(fmt.Sprintf("note-1.%d.0.tgz", a.next), a.archive(a.next)))
	}
	code, output := a.plugin(a.kubeconfig, args...)
	var d view.Diff
	if err := json.NewDecoder(strings.NewReader(output)).Decode(&d); err != nil {
		a.t.Fatalf("%v in %s", err, output)
	}
	return code, d
}

// live returns the objects of the release, and the CRD of its chart.
func (a *agreement) live() map[string]*unstructured.Unstructured {
	a.t.Helper()
	all := map[string]*unstructured.Unstructured{}
	for kind, version := range map[string]string{"ConfigMap": "v1", "Secret": "v1", "Service": "v1", "Deployment": "apps/v1"} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.FromAPIVersionAndKind(version, kind+"List"))
		a.must(suite.client.List(a.t.Context(), list, client.InNamespace(a.namespace)))
		for i := range list.Items {
			if o := &list.Items[i]; o.GetAnnotations()["meta.helm.sh/release-name"] == "app" {
				all[kind+" "+o.GetName()] = o
			}
		}
	}
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.FromAPIVersionAndKind("apiextensions.k8s.io/v1", "CustomResourceDefinition"))
	if err := suite.client.Get(a.t.Context(), client.ObjectKey{Name: "things." + agreeGroup}, crd); client.IgnoreNotFound(err) != nil {
		a.t.Fatal(err)
	} else if err == nil {
		all["CustomResourceDefinition "+crd.GetName()] = crd
	}
	return all
}

// content returns an object without the fields that the API server writes.
func content(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	delete(o.Object, "status")
	for _, name := range []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"} {
		unstructured.RemoveNestedField(o.Object, "metadata", name)
	}
	return o.Object
}

// done returns what an upgrade has changed, one line for each object.
func (a *agreement) done(before, after map[string]*unstructured.Unstructured) (lines []string) {
	a.t.Helper()
	for name, was := range before {
		is := after[name]
		switch {
		case is == nil:
			lines = append(lines, view.DiffDeleted+" "+name)
		case is.GetUID() != was.GetUID():
			lines = append(lines, "recreated "+name)
		case !gocmp.Equal(content(was), content(is)):
			fields, err := drift.Answered(was, is, nil)
			a.must(err)
			line := view.DiffChanged + " " + name
			for _, f := range fields {
				line += fmt.Sprintf(" %s:%s>%s", f.Path, f.Have, f.Want)
			}
			lines = append(lines, line)
		}
	}
	for name := range after {
		if before[name] == nil {
			lines = append(lines, view.DiffCreated+" "+name)
		}
	}
	slices.Sort(lines)
	return lines
}

// announced returns what a diff has announced, in the form of done.
func announced(d view.Diff) (lines []string) {
	for _, o := range d.Objects {
		change := o.Change
		if change == view.DiffReplaced {
			change = view.DiffChanged // by a PUT, which keeps the UID
		}
		line := change + " " + o.Kind + " " + o.Name
		if change == view.DiffChanged {
			for _, f := range o.Fields {
				line += fmt.Sprintf(" %s:%s>%s", f.Path, f.From, f.To)
			}
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// upgrade publishes the chart, applies the spec of the file, and waits for the result.
func (a *agreement) upgrade(refused bool) {
	a.t.Helper()
	if a.next != a.chart {
		a.publish("app", fmt.Sprintf("1.%d.0", a.next), a.archive(a.next))
		a.chart = a.next
	}
	attempted := func(hr *helmv2.HelmRelease) bool {
		return strings.HasPrefix(hr.Status.LastAttemptedRevision, fmt.Sprintf("1.%d.0", a.chart))
	}
	spec := a.hr.Spec
	// A merge patch would remove values that are null.
	a.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		a.must(suite.client.Get(a.t.Context(), client.ObjectKeyFromObject(a.hr), a.hr))
		a.hr.Spec = spec
		return suite.client.Update(a.t.Context(), a.hr)
	}))
	if refused {
		a.until(a.hr, "a failure", func(hr *helmv2.HelmRelease) bool {
			return attempted(hr) && hr.Status.ObservedGeneration == hr.Generation && condition(hr, helmv2.ConditionReady).Status == metav1.ConditionFalse
		})
	} else {
		// The controller may read the HelmRelease before the chart.
		a.until(a.hr, "the attempt", attempted)
		a.untilReady(a.hr)
	}
	a.suspend()
}

// suspend lets the next changes be made one after another, and not applied before the diff.
func (a *agreement) suspend() {
	a.t.Helper()
	a.edit(a.hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true })
	a.until(a.hr, "the suspension", func(hr *helmv2.HelmRelease) bool {
		return hr.Status.ObservedGeneration == hr.Generation && condition(hr, "Reconciling").Status != metav1.ConditionTrue
	})
}

// TestDiffAgrees: for random changes of a release, kubectl pintle diff -f announces exactly the objects
// and fields that the following upgrade changes. PINTLE_DIFF_SEED chooses other changes.
func TestDiffAgrees(t *testing.T) {
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("PINTLE_DIFF_SEED"), "1"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("PINTLE_DIFF_SEED=%d", seed)
	a := &agreement{world: newWorld(t), random: rand.New(rand.NewPCG(seed, seed)), kinds: map[string]int{}}
	t.Cleanup(func() {
		crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "things." + agreeGroup}}
		_ = suite.client.Delete(context.WithoutCancel(t.Context()), crd)
	})
	a.values = map[string]any{
		"message": "one", "token": "t", "port": 80, "replicas": 1, "selector": "app", "more": []string{"a"},
		"labels": map[string]any{}, "annotations": map[string]any{}, "env": []any{},
	}
	a.publish("app", "1.0.0", a.archive(0))
	given := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "given"}, Data: map[string]string{"values.yaml": "given: g"}}
	a.must(suite.client.Create(t.Context(), given))
	a.kubeconfig = a.world.kubeconfig()
	a.hr = a.release("app", a.values, func(hr *helmv2.HelmRelease) {
		hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: "ConfigMap", Name: "given"}}
		hr.Spec.Install = &helmv2.Install{DisableWait: true}
		hr.Spec.Upgrade = &helmv2.Upgrade{DisableWait: true, CRDs: helmv2.CRDsCreateReplace}
	})
	a.untilReady(a.hr)
	a.suspend()
	agreed, changes := 0, 50
	if testing.Short() {
		changes = 5
	}
	for i := range changes {
		if a.agrees(i) {
			agreed++
		}
	}
	t.Logf("%d of %d changes agree: %v", agreed, changes, a.kinds)
}

// agrees makes one change, and reports whether the diff of it was right.
func (a *agreement) agrees(i int) bool {
	a.t.Helper()
	what, file := a.change()
	before, revision := a.live(), newest(a.hr)
	code, d := a.diff(file)
	if (len(d.Problems) > 0) != a.refused || (code == 2) != a.refused || (code == 1) != (d.Differs() && !a.refused) {
		a.t.Errorf("change %d (%s): exit code %d, problems %q, refused is %t", i, what, code, d.Problems, a.refused)
		return false
	}
	a.upgrade(a.refused)
	after := a.live()
	if a.refused {
		return a.wasRefused(i, d, before, after)
	}
	if upgraded := newest(a.hr) != revision; upgraded != (d.Action != "") {
		a.t.Errorf("change %d (%s): action %q was announced, upgraded is %t", i, what, d.Action, upgraded)
		return false
	}
	done := a.done(before, after)
	if diff := gocmp.Diff(done, announced(d)); diff != "" {
		a.t.Errorf("change %d (%s), without what was done, and with what was announced:\n%s", i, what, diff)
		return false
	}
	return true
}

// wasRefused reports whether the refused object is named, and has not changed.
func (a *agreement) wasRefused(i int, d view.Diff, before, after map[string]*unstructured.Unstructured) bool {
	a.t.Helper()
	named := slices.ContainsFunc(d.Objects, func(o view.ObjectDiff) bool { return o.Kind == "Deployment" && o.Change == view.DiffRefused })
	if same := gocmp.Equal(content(before["Deployment app"]), content(after["Deployment app"])); !named || !same {
		a.t.Errorf("change %d: the refused Deployment is named: %t, unchanged: %t", i, named, same)
		return false
	}
	return true
}
