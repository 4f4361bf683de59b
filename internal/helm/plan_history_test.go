// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/storagetest"
)

// TestPlanHasLeftovers: a plan has the objects that only failed revisions have created, and the action
// deletes them.
func TestPlanHasLeftovers(t *testing.T) {
	bothMethods(t, func(t *testing.T, w *leftoversWorld) {
		w.succeed(release.Install{Timeout: time.Minute}, "a", "kept keep")
		w.fail(release.Upgrade{Timeout: time.Minute}, "a", "b", "kept keep")
		up := w.job(release.Upgrade{Timeout: time.Minute}, "a")
		if diff := cmp.Diff([]string{"Delete ConfigMap/b destructive"}, changesIn(planOf(t, w.world, up, v1alpha1.PlanUpgrade).All)); diff != "" {
			t.Errorf("upgrade (-want +got):\n%s", diff)
		}
		remove := w.job(release.Uninstall{Timeout: time.Minute, Target: target()})
		p := planOf(t, w.world, remove, v1alpha1.PlanUninstall)
		if diff := cmp.Diff([]string{"Delete ConfigMap/a destructive", "Delete ConfigMap/b destructive"}, changesIn(p.All)); diff != "" {
			t.Errorf("uninstall (-want +got):\n%s", diff)
		}
		if p.Status.Summary.Unchanged != 1 || !strings.Contains(strings.Join(p.Status.Warnings, "\n"), "ConfigMap/prod/kept is kept") {
			t.Errorf("kept objects: %+v", p.Status)
		}
		if out := w.runner.Run(t.Context(), w.conn, withPlan(remove, p.Status.Digest)); out.Err != nil {
			t.Fatal(out.Err)
		}
		w.expect("kept")
	})
}

// TestPlanChecksAllOwners: if no revision ever worked, its objects may be those of other releases.
func TestPlanChecksAllOwners(t *testing.T) {
	w := newLeftoversWorld(t, helmv2.ServerSideApplyEnabled)
	w.fail(release.Install{Timeout: time.Minute}, "a", "b")
	storagetest.Store(t, w.Server, "prod", storagetest.Revision(1, helmrelease.StatusDeployed, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"))
	a := w.Object(mapsPath + "a")
	a.SetAnnotations(map[string]string{"meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": "prod"})
	w.Put(mapsPath+"a", a.Object)
	up := w.job(release.Upgrade{Timeout: time.Minute}, "a keep", "b keep")
	p := planOf(t, w.world, up, v1alpha1.PlanUpgrade)
	if len(p.All) != 2 || p.All[0].Change != v1alpha1.ChangeRefused || p.All[0].Name != "a" || p.All[1].Change != v1alpha1.ChangeUpdate {
		t.Errorf("changes %+v", p.All)
	}
}

// TestPlanNamesGoneKinds: objects whose kinds are no longer served are warnings, and no changes.
func TestPlanNamesGoneKinds(t *testing.T) {
	w := newGoneWorld(t, helmv2.ServerSideApplyEnabled)
	w.succeed(release.Install{Timeout: time.Minute}, widgetYAML, cronYAML)
	w.serve(false, func() {
		w.removeKind()
		w.removeVersion()
	})
	for action, of := range map[v1alpha1.PlanAction]release.HelmAction{
		v1alpha1.PlanUpgrade: release.Upgrade{Timeout: time.Minute}, v1alpha1.PlanUninstall: release.Uninstall{Timeout: time.Minute, Target: target()},
	} {
		p := planOf(t, w.world, w.job(of), action)
		if want := []string{"example.com/v1 is not served any more: Widget/web"}; !slices.Equal(p.Status.Warnings, want) {
			t.Errorf("%s: warnings %q, want %q", action, p.Status.Warnings, want)
		}
		if got := strings.Join(changesIn(p.All), "; "); !strings.Contains(got, "Delete CronJob/web") || strings.Contains(got, "Widget") {
			t.Errorf("%s: changes %q", action, got)
		}
	}
}

// TestOutageOfCheck: an action that cannot check its plan is interrupted, and writes nothing. The plan
// is not void.
func TestOutageOfCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		path   string
		action v1alpha1.PlanAction
	}{
		"Secret": {planPath, v1alpha1.PlanUpgrade}, "Object": {configMapPath, v1alpha1.PlanUpgrade},
		"RemovedObject": {configMapPath, v1alpha1.PlanUninstall}, "SecretOfRemoval": {planPath, v1alpha1.PlanUninstall},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				artifact := w.chart("1.0.0", note())
				install(t, w, artifact, "one")
				j := job(release.Upgrade{Timeout: time.Minute}, artifact, "1.0.0", map[string]any{"message": "two"})
				if tc.action == v1alpha1.PlanUninstall {
					j = job(release.Uninstall{Timeout: time.Minute, Target: target()}, chart.Artifact{}, "", nil)
				}
				p := planOf(t, w, j, tc.action)
				w.Requests = nil
				away := false
				w.Refuse = func(_, path string) int {
					if away = away || path == tc.path; away {
						return http.StatusServiceUnavailable
					}
					return 0
				}
				out := w.runner.Run(t.Context(), w.conn, withPlan(j, p.Status.Digest))
				if out.Err == nil || out.Interrupted == nil || out.PlanVoid || out.Stored() || len(w.Requests) > 0 {
					t.Errorf("error %v, interrupted %v, void %t, requests %q", out.Err, out.Interrupted, out.PlanVoid, w.Requests)
				}
				w.Refuse = nil
				if out := w.runner.Run(t.Context(), w.conn, withPlan(j, p.Status.Digest)); out.Err != nil {
					t.Errorf("it does not go on: %v", out.Err)
				}
			})
		})
	}
}

// TestRollbackPlanHasNoFormerSecrets: a plan of a rollback has no values that came from a Secret when
// either revision was made.
func TestRollbackPlanHasNoFormerSecrets(t *testing.T) {
	w := newWorld(t)
	artifact := w.chart("1.0.0", note())
	install(t, w, artifact, "former-canary")
	two := job(release.Upgrade{Timeout: time.Minute}, artifact, "1.0.0", map[string]any{"message": "newest-canary"})
	if out := w.runner.Run(t.Context(), w.conn, two); out.Err != nil {
		t.Fatal(out.Err)
	}
	back := job(release.Rollback{Timeout: time.Minute, Version: 1}, chart.Artifact{}, "", nil)
	back.Layers = func() []plan.Layer {
		return []plan.Layer{{Name: "Secret/message", Values: map[string]any{"message": "present"}}}
	}
	p := planOf(t, w, back, v1alpha1.PlanRollback)
	raw, err := json.Marshal(p)
	if err != nil || len(p.All) != 1 || strings.Contains(string(raw), "canary") {
		t.Errorf("error %v, plan %s", err, raw)
	}
}

// TestPlanBeforeRecord: an action with a plan stores the values and the chart of the plan, and reads no
// chart.
func TestPlanBeforeRecord(t *testing.T) {
	w := newWorld(t)
	artifact := w.chart("1.0.0", note())
	j := job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", map[string]any{"message": "one", "n": int64(7)})
	p := planOf(t, w, j, v1alpha1.PlanInstall)
	w.archive = []byte("no chart")
	j.Artifact.URL, j.Artifact.Digest, j.Values = "http://charts/other", "sha256:other", nil
	if out := w.runner.Run(t.Context(), w.conn, withPlan(j, p.Status.Digest)); out.Err != nil {
		t.Fatal(out.Err)
	}
	h := w.stored()[0]
	if diff := cmp.Diff(map[string]any{"message": "one", "n": 7.0}, h.Config); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	artifact = w.chart("2.0.0", note())
	if out := w.runner.Run(t.Context(), w.conn, job(release.Upgrade{Timeout: time.Minute}, artifact, "2.0.0", nil)); out.Err != nil {
		t.Fatal(out.Err)
	}
	for name, want := range map[string]string{"v1": "jane", "v2": ""} {
		record := w.Object("/api/v1/namespaces/prod/secrets/sh.helm.release.v1.app." + name)
		if by := record.GetAnnotations()[v1alpha1.AnnotationApprovedBy]; by != want {
			t.Errorf("%s was approved by %q, want %q", name, by, want)
		}
	}
	if h.Chart.Metadata.Name != "note" || len(h.Chart.Templates) != 1 || h.Chart.Values["message"] != "default" {
		t.Errorf("chart %+v", h.Chart)
	}
}
