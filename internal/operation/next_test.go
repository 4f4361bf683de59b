// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operation_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/operation"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestSkippable: an upgrade leaves out a hook that an Operation has run for the same inputs, until an
// upgrade has succeeded.
func TestSkippable(t *testing.T) {
	t.Parallel()
	started := time.Date(2026, 5, 28, 12, 0, 0, 0, time.UTC)
	rev := func(version int, status helmv2.ReleaseStatus, change ...func(*release.Revision)) release.Revision {
		r := release.Revision{Version: version, Status: status, FirstDeployed: started.Add(-time.Hour)}
		for _, c := range change {
			c(&r)
		}
		return r
	}
	remediation := func(r *release.Revision) { r.Rollback = true }
	held := func(r *release.Revision) { r.Rollback, r.RolledBackTo = true, 2 }
	base := rev(3, helmv2.StatusDeployed)
	for name, c := range map[string]struct {
		change    func(op *opsv1alpha1.Operation)
		inputs    string
		revisions []release.Revision
		runs      bool
	}{
		"First upgrade":           {},
		"Retry":                   {revisions: []release.Revision{rev(5, helmv2.StatusFailed), rev(4, helmv2.StatusFailed), base}},
		"Retry after remediation": {revisions: []release.Revision{rev(5, helmv2.StatusDeployed, remediation), rev(4, helmv2.StatusFailed), rev(3, helmv2.StatusSuperseded)}},
		"Failed, then superseded": {revisions: []release.Revision{rev(5, helmv2.StatusFailed), rev(4, helmv2.StatusSuperseded, func(r *release.Revision) { r.Undeployed = true }), base}},
		"Base was deleted":        {revisions: []release.Revision{rev(5, helmv2.StatusDeployed, remediation), rev(4, helmv2.StatusFailed)}},
		"Spent":                   {revisions: []release.Revision{rev(4, helmv2.StatusDeployed), rev(3, helmv2.StatusSuperseded)}, runs: true},
		"Spent, then failed":      {revisions: []release.Revision{rev(5, helmv2.StatusFailed), rev(4, helmv2.StatusDeployed), rev(3, helmv2.StatusSuperseded)}, runs: true},
		"Spent, then rolled back": {revisions: []release.Revision{rev(6, helmv2.StatusDeployed, remediation), rev(5, helmv2.StatusFailed), rev(4, helmv2.StatusSuperseded), rev(3, helmv2.StatusSuperseded)}, runs: true},
		"Rolled back on request":  {revisions: []release.Revision{rev(4, helmv2.StatusDeployed, held), rev(3, helmv2.StatusSuperseded)}, runs: true},
		"Revision deleted since":  {revisions: []release.Revision{rev(6, helmv2.StatusFailed), rev(5, helmv2.StatusFailed), base}, runs: true},
		"Altered since":           {revisions: []release.Revision{rev(4, helmv2.StatusFailed, func(r *release.Revision) { r.Altered = true }), base}, runs: true},
		"Uninstalled since":       {revisions: []release.Revision{rev(4, helmv2.StatusUninstalled), base}, runs: true},
		"No release":              {revisions: []release.Revision{}, runs: true},
		"Installed anew":          {revisions: []release.Revision{rev(3, helmv2.StatusDeployed, func(r *release.Revision) { r.FirstDeployed = started.Add(time.Minute) })}, runs: true},
		"Installed just before":   {revisions: []release.Revision{rev(3, helmv2.StatusDeployed, func(r *release.Revision) { r.FirstDeployed = started.Add(time.Second / 2) })}},
		"Older release":           {revisions: []release.Revision{rev(2, helmv2.StatusDeployed)}, runs: true},
		"Other inputs":            {inputs: "sha256:other", runs: true},
		"Failed":                  {change: func(op *opsv1alpha1.Operation) { op.Status.Phase = opsv1alpha1.PhaseFailed }, runs: true},
		"Running":                 {change: func(op *opsv1alpha1.Operation) { op.Status.Phase = opsv1alpha1.PhaseRunning }, runs: true},
		"Not approved":            {change: func(op *opsv1alpha1.Operation) { op.Status.Next.SkipApprovedBy = "" }, runs: true},
		"Only the spec wants it":  {change: func(op *opsv1alpha1.Operation) { op.Status.Next = nil }, runs: true},
		"Only the status has it":  {change: func(op *opsv1alpha1.Operation) { op.Spec.Parameters.SkipInUpgrade = false }, runs: true},
		"Of another HelmRelease":  {change: func(op *opsv1alpha1.Operation) { op.Spec.TargetRef.Name = "api" }, runs: true},
		"Of another kind":         {change: func(op *opsv1alpha1.Operation) { op.Spec.TargetRef.Kind = "Application" }, runs: true},
		"Of a former HelmRelease": {change: func(op *opsv1alpha1.Operation) { op.Status.Next.UID = "hr-0" }, runs: true},
		"Of another namespace":    {change: func(op *opsv1alpha1.Operation) { op.Namespace = "other" }, runs: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op := opsv1alpha1.Operation{
				ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "migrate"},
				Spec: opsv1alpha1.OperationSpec{
					TargetRef:  opsv1alpha1.TargetReference{APIVersion: "helm.toolkit.fluxcd.io/v2", Kind: "HelmRelease", Name: "web"},
					Parameters: &opsv1alpha1.Parameters{HookName: "migrate", From: opsv1alpha1.FromNext, SkipInUpgrade: true, SkipApprovedBy: "bob"},
				},
				Status: opsv1alpha1.OperationStatus{
					Phase: opsv1alpha1.PhaseSucceeded, StartedAt: &metav1.Time{Time: started},
					Next:    &opsv1alpha1.NextVersion{Request: "1", Plan: "sha256:plan", Inputs: "sha256:inputs", UID: "hr-1", Revision: 3, SkipApprovedBy: "alice"},
					Outputs: &opsv1alpha1.Outputs{Release: &opsv1alpha1.ReleaseReference{HookDigest: "sha256:hook"}},
				},
			}
			if c.change != nil {
				c.change(&op)
			}
			if c.revisions == nil {
				c.revisions = []release.Revision{base}
			}
			if c.inputs == "" {
				c.inputs = "sha256:inputs"
			}
			var want []release.Skip
			if !c.runs {
				want = []release.Skip{{Digest: "sha256:hook", Operation: "migrate", ApprovedBy: "alice"}}
			}
			hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", UID: "hr-1"}}
			if diff := cmp.Diff(want, operation.Skippable([]opsv1alpha1.Operation{op}, hr, c.inputs, c.revisions)); diff != "" {
				t.Errorf("skips (-want +got):\n%s", diff)
			}
		})
	}
}
