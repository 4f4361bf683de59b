// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// TestOverride: an override passes freezes and closed windows, and nothing else. It must be in force and of
// a plan that can be carried out. It is not used where nothing holds.
func TestOverride(t *testing.T) {
	t.Parallel()
	frozen := func(in *Input) {
		in.Desired.Demands.Freezes = []policy.Freeze{{Policy: "ReleasePolicy/p", Why: "incident"}}
	}
	closed := func(in *Input) {
		in.Desired.Demands.Windowed = true
		in.Desired.Demands.Closures = []policy.Closure{{Policy: "ReleasePolicy/p", Opens: time.Unix(1000, 0)}}
	}
	both := func(in *Input) { frozen(in); closed(in) }
	approval := func(in *Input) {
		frozen(in)
		in.Desired.Demands.Approvals = []policy.Approval{{Policy: "ReleasePolicy/p", Of: v1alpha1.ApprovalAlways}}
	}
	valid := &Override{By: "jane", Reason: "incident"}
	for name, tc := range map[string]struct {
		demand func(*Input)
		plan   Plan
		rule   Rule
		passed string
	}{
		"Frozen":       {frozen, Plan{Override: valid}, RuleOutOfSync, "Frozen"},
		"Closed":       {closed, Plan{Override: valid}, RuleOutOfSync, "AwaitingWindow"},
		"Both":         {both, Plan{Override: valid}, RuleOutOfSync, "Frozen, AwaitingWindow"},
		"Open":         {func(in *Input) { in.Desired.Demands.Windowed = true }, Plan{Override: valid}, RuleOutOfSync, ""},
		"None":         {func(*Input) {}, Plan{Override: valid}, RuleOutOfSync, ""},
		"Void":         {both, Plan{Override: &Override{By: "jane", Void: "it is for another plan"}}, RuleFrozen, ""},
		"Used":         {frozen, Plan{}, RuleFrozen, ""},
		"Failed":       {frozen, Plan{Failed: "down", Override: valid}, RuleFrozen, ""},
		"Refused":      {closed, Plan{Refused: "Service/web", Override: valid}, RuleAwaitingWindow, ""},
		"Rejected":     {frozen, Plan{Rejected: "sha256:1", Override: valid}, RuleFrozen, ""},
		"ClosedReject": {closed, Plan{Rejected: "sha256:1", Override: valid}, RuleAwaitingApproval, ""},
		"Unapproved":   {approval, Plan{Needs: "all changes", Override: valid}, RuleAwaitingApproval, ""},
		"Approved":     {approval, Plan{Needs: "all changes", Approved: "sha256:1", Override: valid}, RuleOutOfSync, "Frozen"},
		"Denied":       {approval, Plan{Denied: "denied", Approved: "sha256:1", Override: valid}, RuleAwaitingApproval, ""},
		"Unavailable":  {func(in *Input) { frozen(in); in.Desired.Demands.Unavailable = "forbidden" }, Plan{Override: valid}, RulePolicyUnavailable, ""},
		"ChartRefused": {func(in *Input) { frozen(in); in.Desired.Demands.Refusal = &policy.Refusal{} }, Plan{Override: valid}, RulePolicyRefused, ""},
		"Suspended":    {func(in *Input) { frozen(in); in.Desired.Suspension.Active = true }, Plan{Override: valid}, RuleSuspended, ""},
	} {
		in := outOfSyncInput()
		tc.demand(&in)
		if tc.plan.Failed == "" {
			tc.plan.Digest = "sha256:1"
		}
		in.Observed.Plan, in.Observed.Overridden = &tc.plan, tc.plan.Override != nil
		d := Decide(in)
		var ref PlanRef
		if a := d.HelmAction(); a != nil {
			ref = PlanOf(a)
		}
		if d.Rule != tc.rule || ref.Overrode != tc.passed || tc.passed != "" && (ref.Digest != "sha256:1" || ref.OverriddenBy != "jane" || ref.OverrideReason != "incident") {
			t.Errorf("%s: %+v, want %s passing %q", name, d, tc.rule, tc.passed)
		}
	}
	// The plan of a frozen release is read only if it has an override.
	in := outOfSyncInput()
	frozen(&in)
	if planned := PlannedAction(in); planned != nil {
		t.Errorf("without an override, the plan of %+v is read", planned)
	}
	if in.Observed.Overridden = true; PlannedAction(in) == nil {
		t.Error("with an override, no plan is read")
	}
}

// TestOverrideOf: an override counts for the digest of its plan, and once.
func TestOverrideOf(t *testing.T) {
	t.Parallel()
	at := func(second int64) *metav1.Time { return &metav1.Time{Time: time.Unix(second, 0)} }
	written := v1alpha1.PlanOverride{Digest: "sha256:1", By: "jane", Reason: "two\nlines", At: at(1)}
	for name, tc := range map[string]struct {
		digest string
		used   *v1alpha1.PlanOverride
		edit   func(*v1alpha1.PlanOverride)
		want   *Override
	}{
		"New":     {"sha256:1", nil, func(*v1alpha1.PlanOverride) {}, &Override{By: "jane", Reason: "two lines"}},
		"Other":   {"sha256:2", nil, func(*v1alpha1.PlanOverride) {}, &Override{By: "jane", Reason: "two lines", Void: "it is for another plan"}},
		"Unnamed": {"sha256:1", nil, func(o *v1alpha1.PlanOverride) { o.By = " " }, &Override{Reason: "two lines", Void: "it names no user"}},
		"Used":    {"sha256:1", &written, func(*v1alpha1.PlanOverride) {}, nil},
		"Again":   {"sha256:1", &written, func(o *v1alpha1.PlanOverride) { o.At = at(2) }, &Override{By: "jane", Reason: "two lines"}},
	} {
		o := written
		tc.edit(&o)
		plan := &v1alpha1.ReleasePlan{Spec: v1alpha1.ReleasePlanSpec{Override: &o}, Status: v1alpha1.ReleasePlanStatus{Digest: tc.digest, Overridden: tc.used}}
		if got := OverrideOf(plan); (got == nil) != (tc.want == nil) || got != nil && *got != *tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// TestAwaitRollout: installs and upgrades to another chart wait for their turn, and uninstalls before an
// install. What has begun, changes of values and remediation do not. Nothing is asked while another gate
// holds the action, and drift is corrected meanwhile.
func TestAwaitRollout(t *testing.T) {
	t.Parallel()
	waits, free := &Turn{Why: "ReleasePolicy/fleet: place 2 of 3 for web 2.0.0"}, &Turn{Free: true}
	for name, tc := range map[string]struct {
		edit func(*Input)
		turn *Turn
		// asks is whether the turn decides.
		asks bool
		rule Rule
	}{
		"Unknown":     {func(*Input) {}, nil, true, RuleAwaitingRollout},
		"Waits":       {func(*Input) {}, waits, true, RuleAwaitingRollout},
		"Free":        {func(*Input) {}, free, true, RuleOutOfSync},
		"NoRollout":   {func(in *Input) { in.Desired.Demands.Rollouts = nil }, nil, false, RuleOutOfSync},
		"Install":     {func(in *Input) { in.Observed.Revisions, in.Recorded.History = nil, nil }, waits, true, RuleAwaitingRollout},
		"Values":      {func(in *Input) { sameChart(in); in.Desired.ConfigDigest = "sha256:new" }, nil, false, RuleOutOfSync},
		"AfterFailed": {func(in *Input) { sameChart(in); newestFails(in) }, waits, true, RuleAwaitingRollout},
		"ValuesFailed": {func(in *Input) {
			sameChart(in)
			was := in.Observed.Revisions[0]
			in.Observed.Revisions[0].Version, in.Recorded.History[0].Version, was.Status = 2, 2, helmv2.StatusSuperseded
			newestFails(in)
			in.Observed.Revisions = append(in.Observed.Revisions, was)
		}, nil, false, RuleFailed},
		"Suspended": {func(in *Input) { in.Desired.Suspension.Active = true }, nil, false, RuleSuspended},
		"Deleted":   {func(in *Input) { in.Desired.Deleted = true }, nil, false, RuleDelete},
		"Frozen": {func(in *Input) {
			in.Desired.Demands.Freezes = []policy.Freeze{{Policy: "ReleasePolicy/production", Why: "holidays"}}
		}, nil, false, RuleFrozen},
		"Unapproved": {func(in *Input) {
			in.Desired.Demands.Approvals = []policy.Approval{{Policy: "ReleasePolicy/production", Of: v1alpha1.ApprovalAlways}}
			in.Observed.Plan = &Plan{Digest: "sha256:1", Needs: "all changes"}
		}, nil, false, RuleAwaitingApproval},
		"Approved": {func(in *Input) {
			in.Desired.Demands.Approvals = []policy.Approval{{Policy: "ReleasePolicy/production", Of: v1alpha1.ApprovalAlways}}
			in.Observed.Plan = &Plan{Digest: "sha256:1", Needs: "all changes", Approved: "sha256:1"}
		}, waits, true, RuleAwaitingRollout},
		"Overridden": {func(in *Input) {
			in.Observed.Overridden, in.Observed.Plan = true, &Plan{Digest: "sha256:1", Override: &Override{By: "jane", Reason: "outage"}}
		}, waits, true, RuleOutOfSync},
		"DriftedWaits": {drifts, waits, true, RuleDrifted},
		"DriftedFree":  {drifts, free, true, RuleOutOfSync},
	} {
		in := outOfSyncInput()
		in.Desired.Policy.Interval = time.Minute
		in.Desired.Demands.Rollouts = []policy.Rollout{{Policy: "ReleasePolicy/fleet"}}
		tc.edit(&in)
		if asks := MustTakeTurn(in); asks != tc.asks {
			t.Errorf("%s: asks for a turn: %t", name, asks)
		}
		in.Observed.Turn = tc.turn
		d := Decide(in)
		if d.Rule != tc.rule {
			t.Errorf("%s: %+v, want %s", name, d, tc.rule)
		}
		if wait, is := d.Action.(Wait); d.Rule == RuleAwaitingRollout && (!is || wait.Gate != helmv2.ReasonAwaitingRollout || wait.After != time.Minute) {
			t.Errorf("%s: %+v", name, d)
		}
	}
	in := outOfSyncInput()
	in.Desired.Demands.Rollouts, in.Observed.Turn = []policy.Rollout{{Policy: "ReleasePolicy/fleet"}}, waits
	if d := Decide(in); d.Why != "ReleasePolicy/fleet: place 2 of 3 for web 2.0.0; the 'upgrade' action waits" {
		t.Errorf("%q", d.Why)
	}
	for action, takes := range map[HelmAction]bool{
		Uninstall{}: true, Uninstall{Reinstall: true}: true, Uninstall{Remediation: true}: false, Rollback{Hold: true}: false, Test{}: false,
	} {
		if got := takesNew(in, action, v1alpha1.RolloutByChart); got != takes {
			t.Errorf("%+v: %t", action, got)
		}
	}
}

// TestTakesNew: a rollout limits what it is about: upgrades to another chart, or to other values.
func TestTakesNew(t *testing.T) {
	t.Parallel()
	chart, values := policy.Rollout{Policy: "chart"}, policy.Rollout{Policy: "values"}
	values.By = v1alpha1.RolloutByValues
	otherValues := func(in *Input) { in.Desired.ConfigDigest = "sha256:other" }
	for name, tc := range map[string]struct {
		edit func(in *Input)
		want string
	}{
		"Chart":  {func(*Input) {}, "chart"},
		"Values": {func(in *Input) { sameChart(in); otherValues(in) }, "values"},
		"Both":   {otherValues, "chart values"},
		"Preserved": {func(in *Input) {
			sameChart(in)
			otherValues(in)
			in.Observed.PreservedDigest = in.Observed.Revisions[0].ConfigDigest
			in.Desired.Rendering.PostRenderers = "sha256:other"
		}, ""},
		"Install": {func(in *Input) { in.Observed.Revisions, in.Recorded.History = nil, nil }, "chart values"},
	} {
		in := outOfSyncInput()
		in.Desired.ConfigDigest, in.Observed.Revisions[0].ConfigDigest = "sha256:same", "sha256:same"
		in.Desired.Demands.Rollouts = []policy.Rollout{chart, values}
		tc.edit(&in)
		var got []string
		for _, r := range Rollouts(in) {
			got = append(got, r.Policy)
		}
		if all := strings.Join(got, " "); all != tc.want {
			t.Errorf("%s: %q", name, all)
		}
		if held := Decide(in).Rule == RuleAwaitingRollout; held != (tc.want != "") {
			t.Errorf("%s: held: %t", name, held)
		}
	}
}

// sameChart makes the desired chart the one of the newest revision.
func sameChart(in *Input) {
	in.Observed.Revisions[0].ChartName, in.Observed.Revisions[0].ChartVersion = "web", "2.0.0"
	in.Recorded.History[0].ChartVersion = "2.0.0"
}

func newestFails(in *Input) {
	in.Observed.Revisions[0].Status, in.Observed.Revisions[0].Applied = helmv2.StatusFailed, false
	in.Recorded.History[0].Status = helmv2.StatusFailed
}

func drifts(in *Input) {
	in.Desired.Policy.Drift = helmv2.DriftDetectionEnabled
	in.Observed.Drift = &Drift{Objects: []DriftedObject{{}}}
}
