// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/render/postrender"
)

const (
	hookPath  = "/api/v1/namespaces/prod/configmaps/before"
	probePath = "/api/v1/namespaces/prod/pods/probe"

	beforeHook = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: before # first\n  annotations: {helm.sh/hook: 'pre-install,pre-upgrade', helm.sh/hook-weight: '5'}"

	labelAll = `
postRenderers:
- kustomize:
    patches:
    - target: {kind: ConfigMap|Pod}
      patch: "metadata: {labels: {patched: by-target}}"
commonMetadata: {annotations: {team: one}}
`
)

// hooked is a chart with a hook and a test.
func configAndHook() map[string]string {
	files := note()
	files["templates/before.yaml"], files["templates/tests/probe.yaml"] = beforeHook+"\n", testHook
	return files
}

// rendered returns a job whose spec has the fields in a YAML document.
func rendered(t *testing.T, j Job, spec string) Job {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(spec), &j.Spec); err != nil {
		t.Fatal(err)
	}
	return j
}

// hookOf returns the hook with the name in the newest stored revision.
func hookOf(t *testing.T, w *world, name string) *helmrelease.Hook {
	t.Helper()
	stored := slices.MaxFunc(w.stored(), func(a, b *helmrelease.Release) int { return a.Version - b.Version })
	for _, h := range stored.Hooks {
		if h.Name == name {
			return h
		}
	}
	return nil
}

func TestPostRenderStrategies(t *testing.T) {
	for strategy, hooks := range map[string]bool{"": true, "combined": true, "separate": true, "nohooks": false} {
		t.Run(strategy, func(t *testing.T) {
			w := newWorld(t)
			spec := labelAll + "postRenderStrategy: '" + strategy + "'\n"
			check := func(out release.Outcome) {
				t.Helper()
				if out.Err != nil {
					t.Fatal(out.Err)
				}
				changed := func(path string, want bool) {
					t.Helper()
					o := w.Object(path)
					if o == nil {
						t.Fatalf("%s is missing", path)
					}
					if got := o.GetLabels()["patched"] == "by-target" && o.GetAnnotations()["team"] == "one"; got != want {
						t.Errorf("%s: changed %t, want %t", path, got, want)
					}
					if o.GetLabels()[helmv2.LabelName] != "app" {
						t.Errorf("%s does not say where it is from: %v", path, o.GetLabels())
					}
				}
				changed(configMapPath, true)
				changed(hookPath, hooks)
				before := hookOf(t, w, "before")
				if (before.Manifest == beforeHook) == hooks || strings.Contains(before.Manifest, "by-target") != hooks {
					t.Errorf("stored hook:\n%s", before.Manifest)
				}
				if before.Path != "note/templates/before.yaml" || before.Kind != "ConfigMap" || before.Weight != 5 || len(before.Events) != 2 ||
					before.LastRun.Phase != helmrelease.HookPhaseSucceeded {
					t.Errorf("stored hook %+v", before)
				}
				if probe := hookOf(t, w, "probe"); strings.Contains(probe.Manifest, "by-target") != hooks || !slices.Equal(probe.Events, []helmrelease.HookEvent{"test"}) {
					t.Errorf("stored test %+v", probe)
				}
			}
			artifact := w.chart("1.0.0", configAndHook())
			check(w.runner.Run(t.Context(), w.conn, rendered(t, job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", nil), spec)))
			check(w.runner.Run(t.Context(), w.conn, rendered(t, job(release.Upgrade{Timeout: time.Minute}, artifact, "1.0.0", nil), spec)))
		})
	}
}

// TestManifestKeepsItsBytes: without changes, Helm has no renderer. Removing common metadata from
// the spec removes it from the objects, because the stored manifest contains it.
func TestManifestKeepsItsBytes(t *testing.T) {
	w := newWorld(t)
	artifact := w.chart("1.0.0", configAndHook())
	out := w.runner.Run(t.Context(), w.conn, rendered(t, job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", nil), "postRenderers: [{}]\ninstall: {serverSideApply: false}"))
	if out.Err != nil {
		t.Fatal(out.Err)
	}
	manifest := w.stored()[0].Manifest
	if !strings.HasPrefix(manifest, "---\n# Source: note/templates/cm.yaml\n"+configMap[:strings.Index(configMap, "{{")]) {
		t.Errorf("stored manifest:\n%s", manifest)
	}
	if h := hookOf(t, w, "before"); h.Manifest != beforeHook {
		t.Errorf("stored hook:\n%s", h.Manifest)
	}
	if out := w.runner.Run(t.Context(), w.conn, rendered(t, job(release.Upgrade{Timeout: time.Minute}, artifact, "1.0.0", nil), labelAll)); out.Err != nil {
		t.Fatal(out.Err)
	}
	if a := w.Object(configMapPath).GetAnnotations(); a["team"] != "one" {
		t.Errorf("annotations %v", a)
	}
	if out := w.runner.Run(t.Context(), w.conn, job(release.Upgrade{Timeout: time.Minute}, artifact, "1.0.0", nil)); out.Err != nil {
		t.Fatal(out.Err)
	}
	newest := slices.MaxFunc(w.stored(), func(a, b *helmrelease.Release) int { return a.Version - b.Version })
	if newest.Version != 3 || newest.Manifest != manifest || hookOf(t, w, "before").Manifest != beforeHook {
		t.Errorf("revision %d:\n%s", newest.Version, newest.Manifest)
	}
	if a := w.Object(configMapPath).GetAnnotations(); a["team"] != "" {
		t.Errorf("what common metadata added stayed: %v", a)
	}
}

// TestPatchedHooks: fields that Helm reads from a hook are those of the patched manifest.
func TestPatchedHooks(t *testing.T) {
	w := newWorld(t)
	files := configAndHook()
	files["templates/gone.yaml"] = strings.ReplaceAll(beforeHook, "before", "gone")
	out := w.runner.Run(t.Context(), w.conn, rendered(t, job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", files), "1.0.0", nil), `
postRenderers:
- kustomize:
    patches:
    - patch: |
        apiVersion: v1
        kind: ConfigMap
        metadata:
          name: before
          annotations: {helm.sh/hook: post-install, helm.sh/hook-weight: "-3", helm.sh/hook-delete-policy: hook-succeeded}
    - patch: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: gone}\n$patch: delete"
    - target: {kind: Pod}
      patch: '[{op: replace, path: /metadata/name, value: renamed}]'
`))
	if out.Err != nil {
		t.Fatal(out.Err)
	}
	before := hookOf(t, w, "before")
	got := []any{before.Weight, before.Events, before.DeletePolicies}
	want := []any{-3, []helmrelease.HookEvent{"post-install"}, []helmrelease.HookDeletePolicy{"hook-succeeded"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what Helm goes by (-want +got):\n%s", diff)
	}
	if w.Object(hookPath) != nil || !slices.Contains(w.Requests, "DELETE "+hookPath) {
		t.Error("the hook was not deleted after it ran")
	}
	if hookOf(t, w, "gone") != nil || slices.ContainsFunc(w.Requests, func(r string) bool { return strings.Contains(r, "gone") }) {
		t.Error("the deleted hook is there")
	}
	if hookOf(t, w, "renamed") == nil {
		t.Error("the renamed hook is not there")
	}
}

// TestHookAndTemplateAlike: an object may be a hook and a template, as in charts whose hooks need a
// service account of the release.
func TestHookAndTemplateAlike(t *testing.T) {
	w := newWorld(t)
	files := configAndHook()
	files["templates/before.yaml"] = strings.Replace(beforeHook, "{", "{helm.sh/hook-delete-policy: hook-succeeded, ", 1)
	files["templates/alike.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: before}\n"
	out := w.runner.Run(t.Context(), w.conn, rendered(t, job(release.Install{Timeout: time.Minute}, w.chart("1.0.0", files), "1.0.0", nil), labelAll))
	if out.Err != nil {
		t.Fatal(out.Err)
	}
	if m := w.stored()[0].Manifest; strings.Count(m, "by-target") != 2 || !strings.Contains(hookOf(t, w, "before").Manifest, "by-target") {
		t.Errorf("stored manifest:\n%s", m)
	}
}

func TestPostRenderErrorsStoreNothing(t *testing.T) {
	patch := func(p string) string { return "postRenderers: [{kustomize: {patches: [" + p + "]}}]\n" }
	const first = "spec.postRenderers[0].kustomize.patches[0]"
	cases := map[string]struct{ spec, want string }{
		"Invalid":        {patch(`{patch: "[]"}`), first + ": operations need a target"},
		"Template":       {patch(`{target: {name: app}, patch: '[{op: remove, path: /none}]'}`), first + " cannot be applied to ConfigMap app: "},
		"Hook":           {patch(`{target: {name: before}, patch: '[{op: remove, path: /none}]'}`), "hook note/templates/before.yaml: " + first + " cannot be applied to ConfigMap before: "},
		"Missing":        {patch(`{patch: "apiVersion: v1\nkind: Pod\nmetadata: {name: none}"}`), first + ": the rendered manifests do not contain the Pod none"},
		"HookLeftOut":    {patch(`{patch: "apiVersion: v1\nkind: Pod\nmetadata: {name: probe}"}`) + "postRenderStrategy: nohooks\n", first + ": the rendered manifests do not contain the Pod probe"},
		"HookNoMore":     {patch(`{target: {name: before}, patch: "metadata: {annotations: {helm.sh/hook: null}}"}`), "makes the hook ConfigMap before (note/templates/before.yaml) something else than a hook"},
		"HookOfNoEvent":  {patch(`{target: {name: before}, patch: "metadata: {annotations: {helm.sh/hook: whenever}}"}`), "makes the hook ConfigMap before (note/templates/before.yaml) something else than a hook"},
		"TemplateAsHook": {patch(`{target: {name: app}, patch: "metadata: {annotations: {helm.sh/hook: post-install}}"}`), "post-rendering makes ConfigMap app a hook"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			artifact := w.chart("1.0.0", configAndHook())
			j := rendered(t, job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", nil), tc.spec)
			j.Spec.Install.CreateNamespace, j.Spec.TargetNamespace = false, "prod"
			out := w.runner.Run(t.Context(), w.conn, j)
			if out.Err == nil || !strings.Contains(out.Err.Error(), tc.want) {
				t.Errorf("install: error %v, want %s", out.Err, tc.want)
			}
			if out.Stored() || len(w.Requests) > 0 {
				t.Errorf("install: stored %t, wrote %v", out.Stored(), w.Requests)
			}
			if out := w.runner.Run(t.Context(), w.conn, job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", nil)); out.Err != nil {
				t.Fatal(out.Err)
			}
			w.Requests = nil
			j.Action = release.Upgrade{Timeout: time.Minute}
			out = w.runner.Run(t.Context(), w.conn, j)
			if out.Err == nil || !strings.Contains(out.Err.Error(), tc.want) {
				t.Errorf("upgrade: error %v, want %s", out.Err, tc.want)
			}
			if out.Stored() || len(w.Requests) > 0 {
				t.Errorf("upgrade: stored %t, wrote %v", out.Stored(), w.Requests)
			}
		})
	}
}

// BenchmarkRendering renders a chart with 20 Deployments, without and with post-renderers.
func BenchmarkRendering(b *testing.B) {
	template := &helmchart.File{Name: "templates/all.yaml", Data: []byte("{{- range until 20 }}\n---\n" +
		"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app-{{ . }}\nspec:\n  template:\n    spec:\n" +
		"      containers:\n      - name: app\n        image: nginx:1\n        env: [{name: A, value: b}]\n{{- end }}\n")}
	c := &helmchart.Chart{Metadata: &helmchart.Metadata{APIVersion: "v2", Name: "c", Version: "1.0.0"}, Templates: []*helmchart.File{template}}
	for name, spec := range map[string]string{
		"None": "{}", "Metadata": "commonMetadata: {labels: {a: b}}",
		"Images": "postRenderers: [{kustomize: {images: [{name: nginx, newTag: '2'}]}}]",
		"Patch":  "postRenderers: [{kustomize: {patches: [{target: {kind: Deployment}, patch: 'spec: {replicas: 2}'}]}}]",
	} {
		b.Run(name, func(b *testing.B) {
			var s helmv2.HelmReleaseSpec
			if err := yaml.UnmarshalStrict([]byte(spec), &s); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				renderer, err := postrender.NewAction(s, helmv2.Defaults{})
				if err != nil {
					b.Fatal(err)
				}
				i := action.NewInstall(&action.Configuration{Log: func(string, ...any) {}})
				i.ReleaseName, i.ClientOnly, i.DryRun, i.PostRenderer = "app", true, true, renderer.Manifest
				if _, err := i.Run(c, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
