// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view"
)

// TestHooksOf: the hooks of both versions are listed, with their newest run.
func TestHooksOf(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}}
	op := func(namespace, name, target string, started time.Time) opsv1alpha1.Operation {
		at := metav1.NewTime(started)
		return opsv1alpha1.Operation{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec:       opsv1alpha1.OperationSpec{TargetRef: opsv1alpha1.TargetReference{APIVersion: "helm.toolkit.fluxcd.io/v2", Kind: "HelmRelease", Name: target}},
			Status:     opsv1alpha1.OperationStatus{Outputs: &opsv1alpha1.Outputs{Jobs: []opsv1alpha1.JobResult{{Hook: "migrate", Phase: "Failed", StartedAt: &at}, {Hook: "new"}}}},
		}
	}
	plan := func(digest, applied string) *v1alpha1.ReleasePlan {
		p := &v1alpha1.ReleasePlan{Status: v1alpha1.ReleasePlanStatus{Digest: digest, Action: v1alpha1.PlanUpgrade, Hooks: []v1alpha1.PlanHook{{Name: "new", Kind: "Job", Events: []string{"pre-upgrade", "test"}}}}}
		if applied != "" {
			p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionApplied, Status: metav1.ConditionStatus(applied), Reason: v1alpha1.ReasonApplied}}
		}
		return p
	}
	failed := plan("sha256:1", "False")
	failed.Status.Conditions[0].Reason = v1alpha1.ReasonFailed
	const unknown = "The hooks of the next version are not known. Request a plan: kubectl pintle plan web -n apps --request"
	const run = "kubectl pintle run web migrate -n apps"
	migrate := view.Hook{Name: "migrate", Kind: "Job", Events: "pre-upgrade", Weight: 1, DeletePolicy: "before-hook-creation", Ran: noon, Result: "Succeeded"}
	row := view.HookRow{
		Version: view.HookInstalled, Name: "migrate", Kind: "Job", Events: "pre-upgrade", Weight: new(1), DeletePolicy: "before-hook-creation",
		LastRun: &view.HookRun{By: "Helm", Result: "Succeeded", At: noon}, Command: run,
	}
	by := row
	by.LastRun = &view.HookRun{By: "Operation later", Result: "Failed", At: noon.Add(time.Hour)}
	for name, tc := range map[string]struct {
		facts view.HookFacts
		want  view.Hooks
	}{
		"nothing is known": {view.HookFacts{Notes: []string{"a note"}}, view.Hooks{Items: []view.HookRow{}, Notes: []string{"a note", unknown}}},
		"by Helm": {
			view.HookFacts{Revision: 3, Hooks: []view.Hook{migrate}, Operations: []opsv1alpha1.Operation{
				op("apps", "earlier", "web", noon.Add(-time.Hour)), op("apps", "other", "api", noon.Add(time.Hour)), op("more", "other", "web", noon.Add(time.Hour)),
			}},
			view.Hooks{Revision: 3, Items: []view.HookRow{row}, Notes: []string{unknown}},
		},
		"of a Job, not of another object with its name": {
			view.HookFacts{Hooks: []view.Hook{{Name: "migrate", Kind: "ConfigMap", Events: "test"}}, Operations: []opsv1alpha1.Operation{
				op("apps", "later", "web", noon),
			}},
			view.Hooks{Items: []view.HookRow{{Version: view.HookInstalled, Name: "migrate", Kind: "ConfigMap", Events: "test", Weight: new(0)}}, Notes: []string{unknown}},
		},
		"by Helm, beside an Operation that has not run": {
			view.HookFacts{Revision: 3, Hooks: []view.Hook{migrate}, Operations: []opsv1alpha1.Operation{{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "new"}, Spec: op("", "", "web", noon).Spec}}},
			view.Hooks{Revision: 3, Items: []view.HookRow{row}, Notes: []string{unknown}},
		},
		"by an Operation": {
			view.HookFacts{Revision: 3, Hooks: []view.Hook{migrate}, Operations: []opsv1alpha1.Operation{op("apps", "later", "web", noon.Add(time.Hour)), op("apps", "earlier", "web", noon)}},
			view.Hooks{Revision: 3, Items: []view.HookRow{by}, Notes: []string{unknown}},
		},
		"by weight and name, with a command for what an Operation runs": {
			view.HookFacts{Hooks: []view.Hook{
				migrate, {Name: "b", Kind: "ServiceAccount", Events: "pre-upgrade"}, {Name: "a", Kind: "Pod", Events: "pre-install, pre-delete, post-delete"}, {Name: "c", Kind: "Pod", Events: "pre-install, test"},
			}},
			view.Hooks{Items: []view.HookRow{
				{Version: view.HookInstalled, Name: "a", Kind: "Pod", Events: "pre-install, pre-delete, post-delete", Weight: new(0)},
				{Version: view.HookInstalled, Name: "b", Kind: "ServiceAccount", Events: "pre-upgrade", Weight: new(0)},
				{Version: view.HookInstalled, Name: "c", Kind: "Pod", Events: "pre-install, test", Weight: new(0), Command: "kubectl pintle run web c -n apps"},
				row,
			}, Notes: []string{unknown}},
		},
		"next":    {view.HookFacts{Plan: plan("sha256:1", "")}, view.Hooks{Items: []view.HookRow{{Version: view.HookNext, Name: "new", Kind: "Job", Events: "pre-upgrade, test", Command: "kubectl pintle run web new --from=next -n apps"}}}},
		"applied": {view.HookFacts{Plan: plan("sha256:1", "True")}, view.Hooks{Items: []view.HookRow{}, Notes: []string{unknown}}},
		"failed":  {view.HookFacts{Plan: failed}, view.Hooks{Items: []view.HookRow{}, Notes: []string{unknown}}},
		"pending": {view.HookFacts{Plan: plan("", "")}, view.Hooks{Items: []view.HookRow{}, Notes: []string{unknown}}},
	} {
		tc.facts.Release = hr
		if diff := cmp.Diff(tc.want, view.HooksOf(tc.facts)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
