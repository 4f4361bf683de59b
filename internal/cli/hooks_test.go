// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/read"
)

// TestHooks: the hooks of the deployed revision and of the plan are listed.
func TestHooks(t *testing.T) {
	w := newWorld(t, "cluster.yaml")
	w.stored = func(context.Context, release.Target, int) (*read.Record, error) {
		return &read.Record{Hooks: []view.Hook{
			{Name: "web-migrate", Kind: "Job", Events: "pre-upgrade", Weight: 5, DeletePolicy: "before-hook-creation", Ran: now.Add(-time.Hour), Result: "Succeeded"},
			{Name: "web-backup", Kind: "Job", Events: "pre-upgrade, pre-rollback", DeletePolicy: "hook-succeeded", Ran: now.Add(-time.Hour), Result: "Succeeded"},
			{Name: "web-migrate", Kind: "ServiceAccount", Events: "pre-upgrade", Weight: -5, DeletePolicy: "before-hook-creation"},
		}}, nil
	}
	at := metav1.NewTime(now.Add(-10 * time.Minute))
	w.objects = append(w.objects, &opsv1alpha1.Operation{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web-backup-1"},
		Spec:       opsv1alpha1.OperationSpec{TargetRef: opsv1alpha1.TargetReference{APIVersion: "helm.toolkit.fluxcd.io/v2", Kind: "HelmRelease", Name: "web"}},
		Status:     opsv1alpha1.OperationStatus{Outputs: &opsv1alpha1.Outputs{Jobs: []opsv1alpha1.JobResult{{Hook: "web-backup", Phase: "Failed", StartedAt: &at}}}},
	}, &v1alpha1.ReleasePlan{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"},
		Status: v1alpha1.ReleasePlanStatus{Digest: "sha256:1", Action: v1alpha1.PlanUpgrade, Hooks: []v1alpha1.PlanHook{
			{APIVersion: "batch/v1", Kind: "Job", Name: "web-migrate", Events: []string{"pre-upgrade"}},
		}},
	})
	for _, o := range w.objects {
		if hr, ok := o.(*helmv2.HelmRelease); ok && hr.Name == "cart" {
			hr.Spec.KubeConfig = &helmv2.KubeConfigReference{}
		}
	}
	w.golden("hooks", "hooks web", "hooks web -o json", "hooks shop", "hooks cart", "hooks missing")
	w.forbidden["Operation"], w.forbidden["ReleasePlan"] = true, true
	w.golden("hooks-forbidden", "hooks web")
}
