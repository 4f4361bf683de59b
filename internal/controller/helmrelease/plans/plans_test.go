// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package plans

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
)

// world is one HelmRelease and its plan in an API server in memory.
type world struct {
	*testing.T
	*Planner

	hr *helmv2.HelmRelease
	in release.Input
	// sent counts the requests by verb, and computed the computations.
	sent     map[string]int
	computed int
	now      time.Time
	fails    error
	void     string
	token    string
	dropped  int
	refused  int64
	// behind makes the watch lag, and absent the CRD missing.
	behind, absent bool
}

// watched are the plans that are watched.
type watched struct{ *world }

func (w watched) Served() bool    { return !w.absent }
func (w watched) Unknown() string { return "" }

func (w watched) Object(key client.ObjectKey) (*v1alpha1.ReleasePlan, bool) {
	plan := &v1alpha1.ReleasePlan{}
	err := w.Live.Get(w.Context(), key, plan)
	return plan, err == nil && !w.behind && !w.absent
}

func (w watched) Objects() []*v1alpha1.ReleasePlan {
	if plan, found := w.Object(client.ObjectKeyFromObject(w.hr)); found {
		return []*v1alpha1.ReleasePlan{plan}
	}
	return nil
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, sent: map[string]int{}, now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	w.hr = &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web", UID: "uid"}}
	w.in.Desired.Chart = release.Chart{Name: "web", Version: "1.1.0"}
	w.in.Desired.Demands.Approvals = []policy.Approval{{Policy: "ReleasePolicy/production", Of: v1alpha1.ApprovalAlways}}
	w.in.Observed.Revisions = []release.Revision{{Version: 1, Status: helmv2.StatusDeployed, Digest: "sha256:one"}}
	c := fake.NewClientBuilder().WithScheme(controller.Scheme()).WithStatusSubresource(&v1alpha1.ReleasePlan{}).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			w.sent["create"]++
			return c.Create(ctx, obj, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			w.sent["delete"]++
			return c.Delete(ctx, obj, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			w.sent["patch"]++
			return c.SubResource(name).Patch(ctx, obj, patch, opts...)
		},
	}).Build()
	w.Planner = &Planner{Client: c, Live: c, Known: watched{w}, Now: func() time.Time { return w.now }}
	return w
}

// plan asks for the plan of an upgrade.
func (w *world) plan() (*release.Plan, error) {
	w.Helper()
	return w.planOf(release.Upgrade{})
}

func (w *world) planOf(a release.HelmAction) (*release.Plan, error) {
	q := Query{HR: w.hr, In: w.in, Action: a, Void: w.void, Token: w.token}
	stored, found, err := w.Find(w.Context(), q)
	if err == nil && found == nil {
		stored, found, err = w.Compute(w.Context(), q, stored, w.compute)
	}
	if err != nil {
		return nil, err
	}
	return found, w.Assess(w.Context(), stored, found)
}

func (w *world) compute(_ context.Context, action v1alpha1.PlanAction, _ string) (plan.Plan, error) {
	w.computed++
	made := plan.Plan{Status: v1alpha1.ReleasePlanStatus{
		Action: action, Digest: fmt.Sprintf("sha256:%d", w.computed), Version: plan.Version, Summary: v1alpha1.PlanSummary{Delete: 1, Destructive: 1},
		Removals: []v1alpha1.PlanRemoval{{Kind: "PersistentVolumeClaim", Name: "cache", Change: v1alpha1.ChangeDelete, Destructive: true, Count: 1}},
		Changes:  []v1alpha1.PlanChange{{Kind: "PersistentVolumeClaim", Name: "cache", Change: v1alpha1.ChangeDelete, Destructive: true}},
	}}
	if made.Status.Summary.Refused = w.refused; w.refused > 0 {
		made.Status.Changes = append(made.Status.Changes, v1alpha1.PlanChange{Kind: "StatefulSet", Name: "db", Change: v1alpha1.ChangeRefused, Reason: "immutable"})
	}
	return made, w.fails
}

// must returns a plan that can be read.
func (w *world) must() *release.Plan {
	w.Helper()
	found, err := w.plan()
	if err != nil {
		w.Fatal(err)
	}
	return found
}

// stored returns the ReleasePlan; nil if there is none.
func (w *world) stored() *v1alpha1.ReleasePlan {
	w.Helper()
	plan := &v1alpha1.ReleasePlan{}
	err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(w.hr), plan)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return plan
}

// condition returns "<status>/<reason>" of a condition of the ReleasePlan.
func (w *world) condition(kind string) string {
	w.Helper()
	c := meta.FindStatusCondition(w.stored().Status.Conditions, kind)
	if c == nil {
		return ""
	}
	return string(c.Status) + "/" + c.Reason
}

func (w *world) edit(change func(*v1alpha1.ReleasePlan)) {
	w.Helper()
	plan := w.stored()
	change(plan)
	if err := w.Client.Update(w.Context(), plan); err != nil {
		w.Fatal(err)
	}
}

func (w *world) follow(d release.Decision) {
	w.Helper()
	err := w.Follow(w.Context(), w.hr, w.in, d, func(context.Context) error { w.dropped++; return nil })
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) expect(what string, got, want any) {
	w.Helper()
	if got != want {
		w.Errorf("%s is %v, want %v", what, got, want)
	}
}

// TestApproval: a plan is computed once, and awaits the approval of its digest.
func TestApproval(t *testing.T) {
	w := newWorld(t)
	first := w.must()
	w.expect("the need for approval", first.Needs != "", true)
	w.expect("Ready", w.condition(v1alpha1.ConditionReady), "True/Computed")
	w.expect("Approved", w.condition(v1alpha1.ConditionApproved), "False/AwaitingApproval")
	w.expect("Applied", w.condition(v1alpha1.ConditionApplied), "False/Pending")
	if plan := w.stored(); !metav1.IsControlledBy(plan, w.hr) || plan.OwnerReferences[0].BlockOwnerDeletion != nil {
		t.Errorf("the owner is %+v", plan.OwnerReferences)
	}
	before := len(w.sent)
	writes := w.sent["patch"]
	w.must()
	w.expect("the number of computations", w.computed, 1)
	w.expect("the number of writes", w.sent["patch"], writes)
	w.expect("the kinds of requests", len(w.sent), before)

	w.edit(func(p *v1alpha1.ReleasePlan) { p.Spec.Approved, p.Spec.ApprovedBy = first.Digest, "jane" })
	approved := w.must()
	w.expect("the approval", approved.Approved, approved.Digest)
	w.expect("Approved", w.condition(v1alpha1.ConditionApproved), "True/Approved")
	w.edit(func(p *v1alpha1.ReleasePlan) { p.Spec.Rejected = first.Digest })
	w.must()
	w.expect("Approved", w.condition(v1alpha1.ConditionApproved), "False/Rejected")

	w.in.Desired.Demands = policy.Demands{}
	w.edit(func(p *v1alpha1.ReleasePlan) { p.Spec = v1alpha1.ReleasePlanSpec{} })
	w.must()
	w.expect("Approved", w.condition(v1alpha1.ConditionApproved), "True/NotRequired")
}

// TestOutOfDate: a plan is computed anew if its inputs or its base have changed, if it is void, or on
// request. Fields that do not change the action do not matter.
func TestOutOfDate(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		again  bool
	}{
		"nothing":      {func(*world) {}, false},
		"interval":     {func(w *world) { w.hr.Spec.Interval.Duration = time.Hour }, false},
		"suspended":    {func(w *world) { w.hr.Spec.Suspend = true }, false},
		"chart":        {func(w *world) { w.in.Desired.Chart.Version = "1.2.0" }, true},
		"chart digest": {func(w *world) { w.in.Desired.Chart.Digest = "sha256:other" }, true},
		"values":       {func(w *world) { w.in.Desired.ConfigDigest = "sha256:other" }, true},
		"preserved":    {func(w *world) { w.in.Observed.PreservedDigest = "sha256:other" }, true},
		"options":      {func(w *world) { w.hr.Spec.Upgrade = &helmv2.Upgrade{Force: true} }, true},
		"revision":     {func(w *world) { w.in.Observed.Revisions[0].Version = 2 }, true},
		"record":       {func(w *world) { w.in.Observed.Revisions[0].Digest = "sha256:other" }, true},
		"void":         {func(w *world) { w.void = "sha256:1" }, true},
		"version": {func(w *world) {
			old := w.stored()
			old.Status.Version = plan.Version - 1
			if err := w.Client.Status().Update(w.Context(), old); err != nil {
				w.Fatal(err)
			}
		}, true},
		"requested": {func(w *world) { w.token = "now" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.must()
			c.change(w)
			w.must()
			w.expect("computed again", w.computed == 2, c.again)
			w.must()
			w.expect("computed a third time", w.computed > 2 && w.void == "", false)
			w.expect("the token", w.stored().Status.LastHandledPlanAt, w.token)
		})
	}
}

// TestReinstall: the plan of a reinstall is also that of the install that follows.
func TestReinstall(t *testing.T) {
	w := newWorld(t)
	first, err := w.planOf(release.Uninstall{})
	if err != nil {
		t.Fatal(err)
	}
	w.expect("the action", first.Action, v1alpha1.PlanReinstall)
	w.in.Observed.Revisions = nil
	second, err := w.planOf(release.Install{})
	if err != nil {
		t.Fatal(err)
	}
	w.expect("the digest", second.Digest, first.Digest)

	// After it was applied, it covers no further install.
	w.in.Observed.Revisions = []release.Revision{{Version: 1, Status: helmv2.StatusDeployed, Plan: first.Digest}}
	w.follow(release.Decision{State: release.StateInSync, Action: release.Settle{}})
	w.in.Observed.Revisions = nil
	third, err := w.planOf(release.Install{})
	if err != nil || third.Digest == first.Digest {
		t.Errorf("the plan %+v, %v is that of the reinstall", third, err)
	}
}

// TestStaleWrite: the status is not written over that of another write, which may be about another plan.
func TestStaleWrite(t *testing.T) {
	w := newWorld(t)
	w.must()
	stale := w.stored()
	w.in.Desired.ConfigDigest = "sha256:other"
	w.must()
	if _, err := w.write(t.Context(), stale, v1alpha1.ReleasePlanStatus{Digest: "sha256:late"}); !apierrors.IsConflict(err) {
		t.Errorf("the error is %v", err)
	}
	w.expect("the digest", w.stored().Status.Digest, "sha256:2")
}

// TestRefusedPlan: what the API server refuses is tried again each time.
func TestRefusedPlan(t *testing.T) {
	w := newWorld(t)
	w.refused = 1
	found := w.must()
	w.expect("Ready", w.condition(v1alpha1.ConditionReady), "False/Refused")
	w.expect("the reason", strings.Contains(found.Refused, "StatefulSet/db: immutable"), true)
	// Another result of the same content is not written.
	version := w.stored().ResourceVersion
	w.computed--
	w.now = w.now.Add(time.Minute)
	w.must()
	w.expect("the version", w.stored().ResourceVersion, version)
	w.refused = 0
	w.expect("the reason", w.must().Refused, "")
	w.expect("Ready", w.condition(v1alpha1.ConditionReady), "True/Computed")
}

// TestGenerations: writes of the status do not trigger a reconciliation, which would compute a refused
// plan again without end.
func TestGenerations(t *testing.T) {
	g := &generations{of: map[client.ObjectKey]int64{}}
	key := client.ObjectKey{Namespace: "apps", Name: "web"}
	for i, step := range []struct {
		generation int64
		want       bool
	}{{1, true}, {1, false}, {2, true}, {2, false}, {0, true}, {1, true}} {
		if got := g.changed(key, step.generation); got != step.want {
			t.Errorf("%d: changed is %t", i, got)
		}
	}
}

// TestIncompletePlan: a plan whose removals an older CRD has dropped holds the action.
func TestIncompletePlan(t *testing.T) {
	w := newWorld(t)
	w.must()
	pruned := w.stored()
	pruned.Status.Removals = nil
	found := planOf(Query{HR: w.hr, In: w.in}, pruned, "")
	w.expect("the failure names the CRD", strings.Contains(found.Failed, "CRD of ReleasePlan"), true)
}

// TestUnknownDangers: a plan whose dangers an older CRD has dropped holds the action, if a policy names
// classes of dangers. A plan without dangers does not.
func TestUnknownDangers(t *testing.T) {
	w := newWorld(t)
	w.must()
	pruned := w.stored()
	found := planOf(Query{HR: w.hr, In: w.in}, pruned, "")
	w.expect("the failure without classes", found.Failed, "")
	w.in.Desired.Demands.Approvals = []policy.Approval{{Policy: "ReleasePolicy/a", Classes: []v1alpha1.DangerClass{v1alpha1.Outage}}}
	found = planOf(Query{HR: w.hr, In: w.in}, pruned, "")
	w.expect("the failure names the CRD", strings.Contains(found.Failed, "status.dangers"), true)
	none := plan.Build(plan.Facts{}).Status
	written, err := w.write(t.Context(), pruned, none)
	if err != nil {
		t.Fatal(err)
	}
	found = planOf(Query{HR: w.hr, In: w.in}, written, "")
	w.expect("the failure of a plan that was written without dangers", found.Failed, "")
	found = planOf(Query{HR: w.hr, In: w.in}, w.stored(), "")
	w.expect("the failure of a plan that was read without dangers", found.Failed, "")
}

// TestUnlistedRefusal: a change that is refused and not among the listed ones is known.
func TestUnlistedRefusal(t *testing.T) {
	w := newWorld(t)
	w.must()
	full := w.stored()
	full.Status.Summary.Refused = 1
	w.expect("the plan is refused", planOf(Query{HR: w.hr, In: w.in}, full, "").Refused != "", true)
}

// TestWatchBehind: a plan that was not watched yet is not computed again.
func TestWatchBehind(t *testing.T) {
	w := newWorld(t)
	first := w.must()
	w.behind = true
	w.expect("the digest", w.must().Digest, first.Digest)
}

// TestComputingFails: a chart that cannot be rendered is stated in the plan, and computed again each
// time. A fault of the infrastructure writes nothing.
func TestComputingFails(t *testing.T) {
	w := newWorld(t)
	w.fails = apierrors.NewServiceUnavailable("away")
	if _, err := w.plan(); err == nil {
		t.Error("the fault is no error")
	}
	if w.stored() != nil {
		t.Error("a plan was created")
	}
	w.fails = errors.New("template web.yaml: no such function")
	found := w.must()
	w.expect("the failure", found.Failed, w.fails.Error())
	w.expect("Ready", w.condition(v1alpha1.ConditionReady), "False/Failed")
	w.expect("Approved", w.condition(v1alpha1.ConditionApproved), "False/AwaitingApproval")
	w.fails = nil
	w.expect("the failure", w.must().Failed, "")
	w.expect("Ready", w.condition(v1alpha1.ConditionReady), "True/Computed")
}

// TestForeground: during a foreground deletion, no plan is stored. An annotation approves it.
func TestForeground(t *testing.T) {
	w := newWorld(t)
	w.hr.DeletionTimestamp, w.hr.Finalizers = &metav1.Time{Time: w.now}, []string{helmv2.Finalizer, metav1.FinalizerDeleteDependents}
	w.in.Desired.Deleted = true
	found, err := w.planOf(release.Uninstall{})
	if err != nil || w.stored() != nil {
		t.Fatalf("%v, %v", w.stored(), err)
	}
	w.computed = 0
	w.hr.Annotations = map[string]string{v1alpha1.AnnotationApprove: found.Digest}
	if found, _ = w.planOf(release.Uninstall{}); found.Approved != found.Digest {
		t.Errorf("the annotation does not approve: %+v", found)
	}
	w.computed = 0
	w.hr.DeletionTimestamp = nil
	w.in.Desired.Deleted = false
	if found = w.must(); found.Approved != "" {
		t.Error("the annotation approves without a deletion")
	}
}

// TestFollow: a plan is marked when a revision was made of it, and deleted when its change is not
// wanted any more, unless a user requests it.
func TestFollow(t *testing.T) {
	inSync := release.Decision{State: release.StateInSync, Action: release.Settle{}}
	made := func(w *world, status helmv2.ReleaseStatus) {
		w.in.Observed.Revisions = append([]release.Revision{{Version: 2, Status: status, Plan: "sha256:1"}}, w.in.Observed.Revisions...)
	}
	for name, c := range map[string]struct {
		change func(*world)
		d      release.Decision
		want   string
	}{
		"applied":   {func(w *world) { made(w, helmv2.StatusDeployed) }, inSync, "True/Applied"},
		"failed":    {func(w *world) { made(w, helmv2.StatusFailed) }, inSync, "False/Failed"},
		"pending":   {func(w *world) { made(w, helmv2.StatusPendingUpgrade) }, release.Decision{Action: release.Upgrade{}}, "False/Pending"},
		"waiting":   {func(*world) {}, release.Decision{State: release.StateOutOfSync, Action: release.Wait{}}, "False/Pending"},
		"requested": {func(w *world) { w.token, w.in.Desired.Requests.Plan = "now", "now"; w.must() }, inSync, "False/Pending"},
		"reverted":  {func(*world) {}, inSync, "deleted"},
		"finalized": {func(w *world) { w.token, w.in.Desired.Requests.Plan = "now", "now"; w.must() }, release.Decision{Action: release.Finalize{}}, "deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.must()
			c.change(w)
			w.follow(c.d)
			got := "deleted"
			if w.stored() != nil {
				got = w.condition(v1alpha1.ConditionApplied)
			}
			w.expect("the plan", got, c.want)
			w.expect("the rendered text is deleted", w.dropped > 0, c.want == "deleted" || c.want == "True/Applied")
		})
	}
}

// TestFollowWithoutPlan: the rendered text of a plan that is not stored is deleted with its release. A
// plan that does not belong to the HelmRelease has no effect, unless one is needed.
func TestFollowWithoutPlan(t *testing.T) {
	w := newWorld(t)
	w.follow(release.Decision{Action: release.Finalize{}})
	w.expect("deletions of the text", w.dropped, 0)
	w.hr.DeletionTimestamp, w.hr.Finalizers = &metav1.Time{Time: w.now}, []string{metav1.FinalizerDeleteDependents}
	w.follow(release.Decision{Action: release.Finalize{}})
	w.expect("deletions of the text", w.dropped, 1)

	w = newWorld(t)
	foreign := newPlan(w.hr)
	foreign.OwnerReferences = nil
	if err := w.Client.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	w.follow(release.Decision{State: release.StateInSync, Action: release.Settle{}})
	if _, err := w.plan(); err == nil || !strings.Contains(err.Error(), "apps/web") {
		t.Errorf("the error is %v", err)
	}
}

// TestExpiry: plans are deleted one hour after they were applied.
func TestExpiry(t *testing.T) {
	w := newWorld(t)
	w.must()
	expire := func() {
		t.Helper()
		if err := (Expiry{w.Planner}).expire(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.now = w.now.Add(24 * time.Hour)
	if expire(); w.stored() == nil {
		t.Fatal("a plan that was not applied is deleted")
	}
	w.in.Observed.Revisions[0].Plan = "sha256:1"
	w.follow(release.Decision{})
	w.now = w.now.Add(59 * time.Minute)
	if expire(); w.stored() == nil {
		t.Fatal("the plan is deleted too early")
	}
	w.now = w.now.Add(time.Minute)
	if expire(); w.stored() != nil {
		t.Error("the plan is not deleted")
	}
}

// TestNotServed: without their CRD, no plan can be computed, and nothing is sent.
func TestNotServed(t *testing.T) {
	w := newWorld(t)
	w.absent = true
	_, err := w.plan()
	var blocked *release.Blocked
	if !errors.As(err, &blocked) || blocked.Reason != helmv2.ReasonPolicyUnavailable || !strings.Contains(blocked.Message, "CRD") {
		t.Errorf("the obstacle is %v", err)
	}
	w.follow(release.Decision{State: release.StateInSync, Action: release.Settle{}})
	w.expect("the number of requests", len(w.sent), 0)
}
