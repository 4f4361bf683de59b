// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/helm/planning"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/release"
)

const planPath = "/api/v1/namespaces/prod/secrets/pintle.plan.v1.app"

// planOf computes the plan of a job.
func planOf(t *testing.T, w *world, j Job, action v1alpha1.PlanAction) plan.Plan {
	t.Helper()
	p, err := w.runner.Plan(t.Context(), w.conn, j, PlanRequest{Action: action, Inputs: "sha256:inputs"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// changesIn returns changes as "<change> <kind>/<name> <paths>".
func changesIn(all []v1alpha1.PlanChange) []string {
	var texts []string
	for _, c := range all {
		text := string(c.Change) + " " + c.Kind + "/" + c.Name
		if c.Change == v1alpha1.ChangeCreate {
			c.Fields = nil
		}
		for _, f := range c.Fields {
			text += " " + f.Path + "=" + f.From + ">" + f.To
		}
		if c.Destructive {
			text += " destructive"
		}
		texts = append(texts, text)
	}
	return texts
}

// withPlan returns a job with the approved plan.
func withPlan(j Job, digest string) Job {
	ref := release.PlanRef{Digest: digest, ApprovedBy: "jane"}
	switch a := j.Action.(type) {
	case release.Install:
		a.Plan = ref
		j.Action = a
	case release.Upgrade:
		a.Plan = ref
		j.Action = a
	case release.Uninstall:
		a.Plan = ref
		j.Action = a
	case release.Rollback:
		a.Plan = ref
		j.Action = a
	}
	return j
}

// TestPlanOfEachAction: a plan states what the action changes, and the action with the digest of the
// plan does that and no more. The random text of the chart is that of the plan.
func TestPlanOfEachAction(t *testing.T) {
	w := newWorld(t)
	files := note()
	files["templates/random.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: random}\ndata: {r: {{ randAlphaNum 20 | quote }}, now: {{ now | quote }}}\n"
	files["templates/hook.yaml"] = hookJob + "\"pre-upgrade,post-install\"}\n"
	artifact := w.chart("1.0.0", files)
	w.Created = finished(true)
	run := func(j Job, action v1alpha1.PlanAction, want ...string) {
		t.Helper()
		p := planOf(t, w, j, action)
		if diff := cmp.Diff(want, changesIn(p.All)); diff != "" {
			t.Errorf("%s: changes (-want +got):\n%s", action, diff)
		}
		if strings.Contains(strings.Join(w.Requests, "\n"), "configmaps") {
			t.Errorf("%s: the plan has written %q", action, w.Requests)
		}
		out := w.runner.Run(t.Context(), w.conn, withPlan(j, p.Status.Digest))
		if out.Err != nil {
			t.Fatalf("%s: %v", action, out.Err)
		}
		w.Requests = nil
	}
	one := job(release.Install{Timeout: time.Minute}, artifact, "1.0.0", map[string]any{"message": "one"})
	run(one, v1alpha1.PlanInstall, "Create ConfigMap/app", "Create ConfigMap/random")
	two := job(release.Upgrade{Timeout: time.Minute}, artifact, "1.0.0", map[string]any{"message": "two"})
	p := planOf(t, w, two, v1alpha1.PlanUpgrade)
	if diff := cmp.Diff(p.Status.From, &v1alpha1.PlanRevision{Revision: 1, Chart: "note@1.0.0", AppVersion: "9"}); diff != "" {
		t.Error(diff)
	}
	if len(p.All) != 2 || len(p.All[0].Fields) == 0 {
		t.Errorf("changes %+v", p.All)
	}
	stored := contentOf(t, w, p.Status.Digest)
	w.Requests = nil
	if out := w.runner.Run(t.Context(), w.conn, withPlan(two, p.Status.Digest)); out.Err != nil {
		t.Fatal(out.Err)
	}
	h := w.stored()
	if last := h[len(h)-1]; last.Manifest != stored.Text.Manifest || last.Version != 2 {
		t.Errorf("the record has another manifest than the plan:\n%s\n%s", last.Manifest, stored.Text.Manifest)
	}
	if by := w.Object("/api/v1/namespaces/prod/secrets/sh.helm.release.v1.app.v2").GetAnnotations()[v1alpha1.AnnotationApprovedBy]; by != "jane" {
		t.Errorf("approved by %q", by)
	}
	w.Requests = nil
	gone := job(release.Uninstall{Timeout: time.Minute, Target: target()}, chart.Artifact{}, "", nil)
	run(gone, v1alpha1.PlanUninstall, "Delete ConfigMap/app destructive", "Delete ConfigMap/random destructive")
	if len(w.stored()) != 0 {
		t.Error("the release is not uninstalled")
	}
	if err := w.runner.DeletePlan(t.Context(), w.conn, target()); err != nil || w.Object(planPath) != nil {
		t.Errorf("the plan is not deleted: %v", err)
	}
	if err := w.runner.DeletePlan(t.Context(), w.conn, target()); err != nil {
		t.Errorf("no plan: %v", err)
	}
}

// contentOf returns the stored content of the plan with a digest.
func contentOf(t *testing.T, w *world, digest string) *planning.Content {
	t.Helper()
	store, err := planning.Open(w.conn, target())
	if err != nil {
		t.Fatal(err)
	}
	content, err := store.Read(t.Context(), digest)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestVoidPlan: a plan whose action would change anything else than it states is void, and nothing is
// written.
func TestVoidPlan(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, w *world, artifact chart.Artifact){
		"LiveObject": func(_ *testing.T, w *world, _ chart.Artifact) {
			w.Mu.Lock()
			defer w.Mu.Unlock()
			w.Objects[configMapPath]["data"] = map[string]any{"message": "two"}
		},
		"LiveObjectGone": func(_ *testing.T, w *world, _ chart.Artifact) {
			w.Mu.Lock()
			defer w.Mu.Unlock()
			w.Remove(configMapPath)
		},
		"Base": func(t *testing.T, w *world, artifact chart.Artifact) {
			if out := w.runner.Run(t.Context(), w.conn, job(release.Upgrade{Timeout: time.Minute}, artifact, "1.0.0", map[string]any{"message": "one"})); out.Err != nil {
				t.Fatal(out.Err)
			}
		},
		"OtherPlan": func(t *testing.T, w *world, artifact chart.Artifact) {
			planOf(t, w, job(release.Upgrade{Timeout: time.Minute}, artifact, "1.0.0", map[string]any{"message": "three"}), v1alpha1.PlanUpgrade)
		},
		"NoPlan": func(t *testing.T, w *world, _ chart.Artifact) {
			if err := w.runner.DeletePlan(t.Context(), w.conn, target()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			artifact := w.chart("1.0.0", note())
			install(t, w, artifact, "one")
			two := job(release.Upgrade{Timeout: time.Minute}, artifact, "1.0.0", map[string]any{"message": "two"})
			p := planOf(t, w, two, v1alpha1.PlanUpgrade)
			change(t, w, artifact)
			w.Requests = nil
			out := w.runner.Run(t.Context(), w.conn, withPlan(two, p.Status.Digest))
			if !errors.Is(out.Err, release.ErrPlanVoid) || !out.PlanVoid || out.Stored() || len(w.Requests) > 0 {
				t.Errorf("error %v, void %t, requests %q", out.Err, out.PlanVoid, w.Requests)
			}
		})
	}
}
