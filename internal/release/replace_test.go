// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/policy"
)

// replacingPlan returns a plan with two objects that cannot be changed, one of which is to be kept, whose
// approval names the other one.
func replacingPlan() *v1alpha1.ReleasePlan {
	return &v1alpha1.ReleasePlan{
		Spec: v1alpha1.ReleasePlanSpec{Approved: "sha256:1", ApprovedBy: "jane", Replace: &v1alpha1.PlanReplace{Digest: "sha256:1", Objects: []v1alpha1.PlanObject{{Kind: "StatefulSet", Name: "db"}}}},
		Status: v1alpha1.ReleasePlanStatus{Digest: "sha256:1", Action: v1alpha1.PlanUpgrade, Summary: v1alpha1.PlanSummary{Refused: 1, Update: 2}, Changes: []v1alpha1.PlanChange{
			{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "apps", Name: "db", Change: v1alpha1.ChangeRefused, Reason: "immutable", Replacement: &v1alpha1.PlanReplacement{UID: "1"}},
			{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "apps", Name: "kept", Change: v1alpha1.ChangeUpdate, Replacement: &v1alpha1.PlanReplacement{UID: "2", Refused: "it is kept"}},
			{APIVersion: "v1", Kind: "ConfigMap", Namespace: "apps", Name: "db", Change: v1alpha1.ChangeUpdate},
		}},
	}
}

// TestReplaceOf: an approval replaces the objects that it names, all or none, and only those that the API
// server refuses to change. The other refused changes stay refused.
func TestReplaceOf(t *testing.T) {
	t.Parallel()
	const refused = "StatefulSet/db: immutable"
	name := func(objects ...v1alpha1.PlanObject) func(*v1alpha1.ReleasePlan) {
		return func(p *v1alpha1.ReleasePlan) { p.Spec.Replace.Objects = objects }
	}
	db := v1alpha1.PlanObject{Kind: "StatefulSet", Name: "db"}
	for name, tc := range map[string]struct {
		edit                 func(*v1alpha1.ReleasePlan)
		names, void, refused string
		none                 bool
	}{
		"Named":           {func(*v1alpha1.ReleasePlan) {}, "StatefulSet.apps/apps/db", "", "", false},
		"InFull":          {name(v1alpha1.PlanObject{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "apps", Name: "db"}, db), "StatefulSet.apps/apps/db", "", "", false},
		"NotNamed":        {func(p *v1alpha1.ReleasePlan) { p.Spec.Replace = nil }, "", "", refused, true},
		"OfEarlierPlan":   {func(p *v1alpha1.ReleasePlan) { p.Spec.Replace.Digest = "sha256:0" }, "", "", refused, true},
		"NotApproved":     {func(p *v1alpha1.ReleasePlan) { p.Spec.Approved = "" }, "", "", refused, true},
		"AnotherApproved": {func(p *v1alpha1.ReleasePlan) { p.Spec.Approved = "sha256:0" }, "", "", refused, true},
		"NotComputed":     {func(p *v1alpha1.ReleasePlan) { p.Spec.Approved, p.Status.Digest = "", "" }, "", "", refused, true},
		"Rejected":        {func(p *v1alpha1.ReleasePlan) { p.Spec.Rejected = "sha256:1" }, "", "", refused, true},
		"Applied":         {func(p *v1alpha1.ReleasePlan) { p.Status.AppliedAt = &metav1.Time{} }, "", "", refused, true},
		"Nobody":          {func(p *v1alpha1.ReleasePlan) { p.Spec.ApprovedBy = " " }, "StatefulSet.apps/apps/db", "names no user", refused, false},
		"Rollback":        {func(p *v1alpha1.ReleasePlan) { p.Status.Action = v1alpha1.PlanRollback }, "StatefulSet.apps/apps/db", "no upgrade", refused, false},
		"OtherNamespace":  {name(v1alpha1.PlanObject{Kind: "StatefulSet", Namespace: "other", Name: "db"}), "", "does not change StatefulSet/db", refused, false},
		"OtherVersion":    {name(v1alpha1.PlanObject{APIVersion: "apps/v1beta1", Kind: "StatefulSet", Name: "db"}), "", "does not change StatefulSet/db", refused, false},
		"Unknown":         {name(v1alpha1.PlanObject{Kind: "Job", Name: "db"}), "", "does not change Job/db", refused, false},
		"Changeable":      {name(v1alpha1.PlanObject{Kind: "ConfigMap", Name: "db"}), "", "ConfigMap/db is not replaced: the plan has no change", refused, false},
		"Kept":            {name(db, v1alpha1.PlanObject{Kind: "StatefulSet", Name: "kept"}), "StatefulSet.apps/apps/db", "StatefulSet/kept is not replaced: it is kept", refused, false},
		"Ambiguous": {func(p *v1alpha1.ReleasePlan) {
			more := p.Status.Changes[0]
			more.APIVersion = "example.com/v1"
			p.Status.Changes = append(p.Status.Changes, more)
		}, "", "several objects", refused, false},
		"MoreRefused": {func(p *v1alpha1.ReleasePlan) {
			p.Status.Summary.Refused++
			p.Status.Changes = append(p.Status.Changes, v1alpha1.PlanChange{Kind: "Service", Name: "db", Change: v1alpha1.ChangeRefused, Reason: "no port"})
		}, "StatefulSet.apps/apps/db", "", "Service/db: no port", false},
		"MoreRefusedUnlisted": {func(p *v1alpha1.ReleasePlan) { p.Status.Summary.Refused++ }, "StatefulSet.apps/apps/db", "", "a change that the plan does not list", false},
	} {
		p := replacingPlan()
		tc.edit(p)
		r := ReplaceOf(p, "apps")
		got := RefusedOf(&p.Status, r)
		if tc.void != "" {
			tc.refused += "; the replacement of objects has no effect: "
		}
		if !strings.HasPrefix(got, tc.refused) || tc.refused == "" && got != "" || (r == nil) != tc.none || Replaces(p) == tc.none {
			t.Errorf("%s: %+v, refused %q, want %q", name, r, got, tc.refused)
		}
		if r != nil && (r.Names != tc.names || tc.void == "" && r.Void != "" || !strings.Contains(r.Void, tc.void)) {
			t.Errorf("%s: %+v, want %q, void %q", name, r, tc.names, tc.void)
		}
	}
	r := ReplaceOf(replacingPlan(), "apps")
	want := v1alpha1.PlanRemoval{Group: "apps", Kind: "StatefulSet", Change: v1alpha1.ChangeReplace, Destructive: true, Name: "db", Count: 1}
	if len(r.Removals) != 1 || r.Removals[0] != want {
		t.Errorf("for policies, the removals are %+v", r.Removals)
	}
}

// TestDecideReplacement: an upgrade carries out a plan whose approval names objects, also where no policy
// demands plans. Without effect, the plan holds the upgrade only where a policy demands it.
func TestDecideReplacement(t *testing.T) {
	t.Parallel()
	demanded := []policy.Approval{{Policy: "ReleasePolicy/production", Of: v1alpha1.ApprovalAlways}}
	plan := Plan{Digest: "sha256:1", Approved: "sha256:1", ApprovedBy: "jane", Replace: &Replace{Names: "StatefulSet.apps/apps/db"}}
	void, other, none := plan, plan, plan
	void.Replace, void.Refused = &Replace{Names: "StatefulSet.apps/apps/db", Void: "no policy"}, "StatefulSet/db"
	other.Approved = "sha256:0"
	none.Replace = nil
	carried := PlanRef{Digest: "sha256:1", ApprovedBy: "jane", Replace: "StatefulSet.apps/apps/db"}
	for name, tc := range map[string]struct {
		approvals []policy.Approval
		plan      *Plan
		rule      Rule
		want      PlanRef
	}{
		"Demanded":     {demanded, &plan, RuleOutOfSync, carried},
		"DemandedVoid": {demanded, &void, RuleAwaitingApproval, PlanRef{}},
		"Free":         {nil, &plan, RuleOutOfSync, carried},
		"FreeVoid":     {nil, &void, RuleOutOfSync, PlanRef{}},
		"FreeOther":    {nil, &other, RuleOutOfSync, PlanRef{}},
		"FreeNone":     {nil, &none, RuleOutOfSync, PlanRef{}},
		"NotComputed":  {nil, nil, RuleAwaitingApproval, PlanRef{}},
	} {
		in := outOfSyncInput()
		in.Desired.Demands.Approvals, in.Observed.Plan, in.Observed.Replaces = tc.approvals, tc.plan, true
		d := Decide(in)
		var got PlanRef
		if a := d.HelmAction(); a != nil {
			got = PlanOf(a)
		}
		if _, computes := d.Action.(ComputePlan); d.Rule != tc.rule || got != tc.want || computes != (tc.plan == nil) {
			t.Errorf("%s: %+v, want %s of %+v", name, d, tc.rule, tc.want)
		}
	}
}
