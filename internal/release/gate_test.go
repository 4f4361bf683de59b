// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"
	"time"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/policy"
)

// outOfSyncInput returns the input of a decision to upgrade.
func outOfSyncInput() Input {
	newest := Revision{Name: "web", Namespace: "apps", Version: 1, Status: helmv2.StatusDeployed, Sealed: true, Owner: "uid", Applied: true}
	in := Input{Desired: Desired{UID: "uid", Target: Target{Name: "web", Namespace: "apps", StorageNamespace: "apps"}}}
	in.Desired.Chart = Chart{Name: "web", Version: "2.0.0"}
	in.Observed.Revisions = []Revision{newest}
	in.Recorded.History = helmv2.Snapshots{{Name: "web", Namespace: "apps", Version: 1, Status: helmv2.StatusDeployed, ChartName: "web", ChartVersion: "1.0.0"}}
	in.Recorded.StorageNamespace = "apps"
	return in
}

// TestWindowedPlan: under a policy with windows, only a rejection holds an action within them. A plan that
// failed, or that the API server refuses, decides nothing and is not carried out.
func TestWindowedPlan(t *testing.T) {
	t.Parallel()
	closed := []policy.Closure{{Policy: "ReleasePolicy/nights", Opens: time.Unix(1000, 0)}}
	for name, tc := range map[string]struct {
		closed []policy.Closure
		plan   Plan
		rule   Rule
		digest string
	}{
		"Open":           {nil, Plan{Digest: "sha256:1"}, RuleOutOfSync, "sha256:1"},
		"Rejected":       {nil, Plan{Digest: "sha256:1", Rejected: "sha256:1"}, RuleAwaitingApproval, ""},
		"OtherRejected":  {nil, Plan{Digest: "sha256:1", Rejected: "sha256:0"}, RuleOutOfSync, "sha256:1"},
		"Failed":         {nil, Plan{Failed: "down"}, RuleOutOfSync, ""},
		"Refused":        {nil, Plan{Digest: "sha256:1", Refused: "Service/web"}, RuleOutOfSync, ""},
		"Closed":         {closed, Plan{Digest: "sha256:1"}, RuleAwaitingWindow, ""},
		"ClosedRejected": {closed, Plan{Digest: "sha256:1", Rejected: "sha256:1"}, RuleAwaitingApproval, ""},
	} {
		in := outOfSyncInput()
		in.Desired.Demands.Windowed, in.Desired.Demands.Closures, in.Observed.Plan = true, tc.closed, &tc.plan
		d := Decide(in)
		digest := ""
		if a := d.HelmAction(); a != nil {
			digest = PlanOf(a).Digest
		}
		if d.Rule != tc.rule || digest != tc.digest {
			t.Errorf("%s: %+v, want %s of plan %q", name, d, tc.rule, tc.digest)
		}
	}
}

// TestComputePlan: a plan that a policy demands or a user requests is an action of the decision, once.
// Then the decision is the one that the plan leads to. Drift is not corrected before the plan is known.
func TestComputePlan(t *testing.T) {
	t.Parallel()
	demanded := func(in *Input) {
		in.Desired.Demands.Approvals = []policy.Approval{{Policy: "ReleasePolicy/production", Of: v1alpha1.ApprovalAlways}}
	}
	requested := func(in *Input) { in.Desired.Requests.Plan = "now" }
	for name, tc := range map[string]struct {
		edit func(*Input)
		rule Rule
		want Action
		then Rule
	}{
		"None":      {func(*Input) {}, RuleOutOfSync, nil, RuleOutOfSync},
		"Demanded":  {demanded, RuleAwaitingApproval, ComputePlan{Of: Upgrade{}}, RuleAwaitingApproval},
		"Requested": {requested, RulePlanRequested, ComputePlan{Of: Upgrade{}, Request: "now"}, RuleOutOfSync},
		"Both":      {func(in *Input) { demanded(in); requested(in) }, RulePlanRequested, ComputePlan{Of: Upgrade{}, Request: "now"}, RuleAwaitingApproval},
		"Suspended": {func(in *Input) { requested(in); in.Desired.Suspension.Active = true }, RulePlanRequested, ComputePlan{Of: Upgrade{}, Request: "now"}, RuleSuspended},
		"Handled":   {func(in *Input) { requested(in); in.Desired.Requests.PlanHandled = "now" }, RuleOutOfSync, nil, RuleOutOfSync},
		"Frozen": {func(in *Input) {
			demanded(in)
			in.Desired.Demands.Freezes = []policy.Freeze{{Policy: "ReleasePolicy/production", Why: "holidays"}}
		}, RuleFrozen, nil, RuleFrozen},
		"Closed": {func(in *Input) {
			in.Desired.Demands.Closures = []policy.Closure{{Policy: "ReleasePolicy/nights", Opens: time.Unix(1000, 0)}}
		}, RuleAwaitingWindow, ComputePlan{Of: Upgrade{}}, RuleAwaitingWindow},
		"Open": {func(in *Input) { in.Desired.Demands.Windowed = true }, RuleAwaitingApproval, ComputePlan{Of: Upgrade{}}, RuleOutOfSync},
		"Drifted": {func(in *Input) {
			demanded(in)
			in.Desired.Policy.Drift = helmv2.DriftDetectionEnabled
			in.Observed.Drift = &Drift{Objects: []DriftedObject{{}}}
		}, RuleAwaitingApproval, ComputePlan{Of: Upgrade{}}, ""},
	} {
		in := outOfSyncInput()
		tc.edit(&in)
		d := Decide(in)
		compute, is := d.Action.(ComputePlan)
		if d.Rule != tc.rule || is != (tc.want != nil) || is && Action(compute) != tc.want {
			t.Errorf("%s: %+v, want %s: %+v", name, d, tc.rule, tc.want)
		}
		if planned := PlannedAction(in); (planned != nil) != is {
			t.Errorf("%s: the planned action is %+v", name, planned)
		}
		in.Observed.Plan = &Plan{Digest: "sha256:1", Needs: "a policy demands it"}
		if d := Decide(in); tc.then != "" && d.Rule != tc.then {
			t.Errorf("%s, with the plan: %+v, want %s", name, d, tc.then)
		}
	}
}
