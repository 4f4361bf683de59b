// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// plannedFor returns the status of the ReleasePlan; zero if there is none.
func plannedFor(t *testing.T, r *Reconciler) v1alpha1.ReleasePlanStatus {
	t.Helper()
	plan := &v1alpha1.ReleasePlan{}
	if err := r.client.Get(t.Context(), key, plan); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return plan.Status
}

// TestPlanOnRequest: an annotation requests one plan for each of its values, also of a suspended
// HelmRelease. The texts of Secrets are known when it is computed, and nothing else happens.
func TestPlanOnRequest(t *testing.T) {
	for _, suspended := range []bool{false, true} {
		s := &stub{}
		r := deployed(t, s, map[string]string{v1alpha1.AnnotationPlan: "one"})
		edit(t, r.client, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = suspended })
		for range 3 {
			reconcileOnce(t, r)
		}
		hr := &helmv2.HelmRelease{}
		if err := r.client.Get(t.Context(), key, hr); err != nil || release.RequestsOf(hr.Annotations).PlanHandled != "one" {
			t.Errorf("handled: %s, %v", hr.Annotations[helmv2.AnnotationHandled], err)
		}
		if got := plannedFor(t, r); len(s.planned) != 1 || got.LastHandledPlanAt != "one" || got.Action != v1alpha1.PlanUpgrade || s.begun != nil {
			t.Fatalf("suspended %t: %d plans, the last one %+v; begun %t", suspended, len(s.planned), got, s.begun != nil)
		}
		if job := s.planned[0]; !slices.Contains(job.Secrets, "hunter22") || job.Artifact.URL != "held" {
			t.Errorf("the job has secrets %v and artifact %s", job.Secrets, job.Artifact.URL)
		}
		edit(t, r.client, func(hr *helmv2.HelmRelease) { hr.Annotations[v1alpha1.AnnotationPlan] = "two" })
		reconcileOnce(t, r)
		if got := plannedFor(t, r); len(s.planned) != 2 || got.LastHandledPlanAt != "two" {
			t.Errorf("%d plans, the last one for %q", len(s.planned), got.LastHandledPlanAt)
		}
	}
}

// TestVoidPlan: after an action that would not have done what its plan states, the plan is computed
// anew, once.
func TestVoidPlan(t *testing.T) {
	s := &stub{}
	r := deployed(t, s, map[string]string{v1alpha1.AnnotationPlan: "one"})
	reconcileOnce(t, r)
	r.publisher.noteOutcome(key, release.Outcome{PlanVoid: true, Action: release.Upgrade{Plan: release.PlanRef{Digest: "sha256:1"}}})
	edit(t, r.client, func(hr *helmv2.HelmRelease) { hr.Annotations[helmv2.AnnotationHandled] = "" })
	for range 2 {
		reconcileOnce(t, r)
	}
	if got := plannedFor(t, r); len(s.planned) != 2 || got.Digest != "sha256:2" {
		t.Errorf("%d plans, the last one %s", len(s.planned), got.Digest)
	}
}

// knownPlans are the plans on the API server.
type knownPlans struct {
	*testing.T
	client.Reader
}

func (knownPlans) Served() bool                     { return true }
func (knownPlans) Unknown() string                  { return "" }
func (knownPlans) Objects() []*v1alpha1.ReleasePlan { return nil }

func (k knownPlans) Object(key client.ObjectKey) (*v1alpha1.ReleasePlan, bool) {
	plan := &v1alpha1.ReleasePlan{}
	return plan, k.Get(k.Context(), key, plan) == nil
}

// TestRollbackPlanOnRequest: a plan that is requested before a rollback is that of the rollback. Its job
// has the layers of the values, by which former values of Secrets are removed from the plan.
func TestRollbackPlanOnRequest(t *testing.T) {
	s := &stub{}
	r := deployed(t, s, map[string]string{v1alpha1.AnnotationPlan: "one", helmv2.AnnotationRollbackTo: "1"})
	s.really = []release.Revision{{Name: "web", Namespace: "apps", Version: 1, Status: helmv2.StatusSuperseded, Sealed: true, Owner: "uid-1"}}
	reconcileOnce(t, r)
	got := plannedFor(t, r)
	if len(s.planned) != 1 || got.LastHandledPlanAt != "one" || got.Action != v1alpha1.PlanRollback {
		t.Fatalf("%d plans, status %+v", len(s.planned), got)
	}
	if back, is := s.planned[0].Action.(release.Rollback); !is || back.Version != 1 {
		t.Errorf("the job is %+v", s.planned[0].Action)
	}
	if s.planned[0].Layers == nil {
		t.Error("the job has no layers")
	}
}
