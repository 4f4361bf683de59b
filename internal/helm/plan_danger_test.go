// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/release"
)

func dangersIn(p plan.Plan) []string {
	var all []string
	for _, d := range p.Status.Dangers {
		all = append(all, string(d.Class)+" "+d.Kind+"/"+d.Namespace+"/"+d.Name+": "+d.Reason)
	}
	return all
}

// TestPlanOfDangers: dangers are looked for in live objects, in CRDs of the crds folder, in lists and in
// the hooks that run, but not in tests.
func TestPlanOfDangers(t *testing.T) {
	w := newWorld(t)
	hook := func(event, image string) string {
		return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: " + event + ", annotations: {helm.sh/hook: " + event + "}}\n" +
			"spec: {template: {spec: {containers: [{name: main, image: '" + image + "'}]}}}\n"
	}
	files := note()
	files["templates/hook.yaml"] = hook("post-upgrade", "quay.io/a/b:1.0")
	files["templates/web.yaml"] = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: {{ .Values.n }}, template: {spec: {containers: [{name: main, image: 'quay.io/a/b:1.0'}]}}}\n"
	artifact := w.chart("1.0.0", files)
	w.Created = finished(true)
	w.Put(planThingsPath, map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "things.example.com"},
		"status": map[string]any{"storedVersions": []any{"v0", "v1"}},
	})
	first := job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", map[string]any{"message": "one", "n": 3})
	first.Spec.Install.DisableWait = true
	if out := w.runner.Run(t.Context(), w.conn, first); out.Err != nil {
		t.Fatal(out.Err)
	}
	// It is scaled to zero already, which the manifest does not show.
	const webPath = "/apis/apps/v1/namespaces/prod/deployments/web"
	live := w.Object(webPath).DeepCopy().Object
	live["spec"].(map[string]any)["replicas"] = int64(0)
	w.Put(webPath, live)
	files["crds/thing.yaml"] = planThings
	files["templates/hook.yaml"] = hook("post-upgrade", "quay.io/a/b:latest") + "---\n" + hook("test", "example.com/curl")
	files["templates/list.yaml"] = "apiVersion: v1\nkind: PodList\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: listed}\n  spec: {hostPID: true}\n"
	upgrade := job(release.Upgrade{Timeout: time.Minute}, w.chart("2.0.0", files), "2.0.0", map[string]any{"message": "one", "n": 0})
	upgrade.Spec.Upgrade.CRDs = helmv2.CRDsCreateReplace
	want := []string{
		"DataLoss CustomResourceDefinition//things.example.com: it drops version v0, in which objects are stored",
		"Access Pod/prod/listed: its Pods newly have access to their node: hostPID",
		"Supply Job//post-upgrade: container main runs quay.io/a/b:latest, which may be another image tomorrow",
	}
	if diff := cmp.Diff(want, dangersIn(planOf(t, w, upgrade, v1alpha1.PlanUpgrade))); diff != "" {
		t.Error(diff)
	}
	remove := job(release.Uninstall{Timeout: time.Minute, Target: target()}, chart.Artifact{}, "", nil)
	if diff := cmp.Diff([]string(nil), dangersIn(planOf(t, w, remove, v1alpha1.PlanUninstall))); diff != "" {
		t.Error(diff)
	}
}
