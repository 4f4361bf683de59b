// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// Policy is a ReleasePolicy or ClusterReleasePolicy.
type Policy struct {
	Kind string
	// Namespace is the namespace of a ReleasePolicy; empty for a ClusterReleasePolicy.
	Namespace string
	Name      string
	// Namespaces selects the namespaces of a ClusterReleasePolicy; nil selects all.
	Namespaces *metav1.LabelSelector
	Spec       v1alpha1.ReleasePolicySpec
	// Resumed is when a person has last resumed its rollouts; zero if nobody has.
	Resumed time.Time
}

// String returns "<kind>/<name>".
func (p *Policy) String() string { return p.Kind + "/" + p.Name }

// Of returns a ReleasePolicy.
func Of(p *v1alpha1.ReleasePolicy) Policy {
	return Policy{Kind: v1alpha1.ReleasePolicyKind, Namespace: p.Namespace, Name: p.Name, Spec: p.Spec, Resumed: resumed(p.Annotations)}
}

// OfCluster returns a ClusterReleasePolicy.
func OfCluster(p *v1alpha1.ClusterReleasePolicy) Policy {
	return Policy{Kind: v1alpha1.ClusterReleasePolicyKind, Name: p.Name, Namespaces: p.Spec.NamespaceSelector, Spec: p.Spec.ReleasePolicySpec, Resumed: resumed(p.Annotations)}
}

// resumed returns the time in the annotation by which a person resumes rollouts; zero if there is none.
// The time of status has whole seconds.
func resumed(annotations map[string]string) time.Time {
	at, err := time.Parse(time.RFC3339, annotations[v1alpha1.AnnotationResumeRollout])
	if err != nil {
		return time.Time{}
	}
	return at.Truncate(time.Second)
}

// Demands is what all policies together demand of one release. It is plain data. The zero value
// demands nothing.
type Demands struct {
	// Unavailable states why the policies are not known; empty if they are. Nothing may be
	// installed, upgraded or uninstalled then.
	Unavailable string `json:",omitempty"`
	// Freezes are the policies that freeze the release, sorted by name.
	Freezes []Freeze `json:",omitempty"`
	// Windowed is true if a policy has windows, which may be open, and RollbacksWindowed if they hold
	// rollbacks on request too.
	Windowed          bool `json:",omitempty"`
	RollbacksWindowed bool `json:",omitempty"`
	// Closures are the policies whose windows are closed, sorted by name.
	Closures []Closure `json:",omitempty"`
	// Rollouts are the policies that limit how charts or values spread over releases, sorted by name.
	Rollouts []Rollout `json:",omitempty"`
	// Approvals are the policies that demand approval, the strictest first.
	Approvals []Approval `json:",omitempty"`
	// Protections are the protections of objects, in the order of their policies.
	Protections []Protection `json:",omitempty"`
	// RefuseDenials is true if a policy demands that attempts are refused whose dry runs deny objects.
	RefuseDenials bool `json:",omitempty"`
	// Refusal is the first policy that refuses the chart or the values; nil if none does.
	Refusal *Refusal `json:",omitempty"`
	// Operations are the policies that restrict Operations, sorted by name.
	Operations []OperationRule `json:",omitempty"`
}

// Freeze is a policy that freezes a release.
type Freeze struct {
	// Policy is "<kind>/<name>".
	Policy string
	Why    string
	// RollbacksFree is true if rollbacks on request are not held.
	RollbacksFree bool `json:",omitempty"`
}

// Rollout is a policy that limits how charts or values spread over the releases that it selects.
type Rollout struct {
	// Policy is "<kind>/<name>". Namespace is the namespace of a ReleasePolicy; empty for a
	// ClusterReleasePolicy.
	Policy    string
	Namespace string `json:",omitempty"`
	v1alpha1.Rollout
	// Resumed is when a person has last resumed the rollouts of the policy: earlier failures do not count.
	Resumed time.Time `json:",omitzero"`
}

// Bake is how long a release is watched after an install or upgrade, and for what.
type Bake struct {
	// Time is zero if the release is not watched. Policy is the policy that demands the longest time.
	Time   time.Duration
	Policy string
	// Exprs are the expressions of all policies.
	Exprs []BakeExpr
}

// BakeExpr is an expression of a policy about objects.
type BakeExpr struct {
	Policy string
	// Index is its place in spec.rollout.bakeExprs.
	Index int
	v1alpha1.BakeExpr
}

// Bake returns how a release is watched after an install or upgrade: for the longest time that a policy
// demands, and for the trouble that any of them describes.
func (d Demands) Bake() Bake {
	var b Bake
	for _, r := range d.Rollouts {
		if r.BakeTime.Duration > b.Time {
			b.Time, b.Policy = r.BakeTime.Duration, r.Policy
		}
		for i, e := range r.BakeExprs {
			b.Exprs = append(b.Exprs, BakeExpr{Policy: r.Policy, Index: i, BakeExpr: e})
		}
	}
	return b
}

// Approval is a policy that demands approval: always, of destructive changes, or of changes with dangers
// of some classes.
type Approval struct {
	Policy  string
	Of      v1alpha1.Approval
	Classes []v1alpha1.DangerClass `json:",omitempty"`
	// RollbacksFree is true if rollbacks on request need no approval.
	RollbacksFree bool `json:",omitempty"`
}

// Protection is a protection of objects by a policy.
type Protection struct {
	Policy string
	v1alpha1.Protection
}

// Refusal is a policy that refuses a chart or values.
type Refusal struct {
	Policy string
	// Field is the field of the HelmRelease that is refused.
	Field string
	// Why is a sentence for users.
	Why string
	// ChangesOnly is true if a release that already has the chart is warned instead: only its next
	// install or upgrade is refused.
	ChangesOnly bool `json:",omitempty"`
}

// OnRollback returns the demands that hold a rollback on request. Protections do not: the rollback
// keeps protected objects.
func (d Demands) OnRollback() Demands {
	held := Demands{Unavailable: d.Unavailable, Windowed: d.RollbacksWindowed}
	for _, f := range d.Freezes {
		if !f.RollbacksFree {
			held.Freezes = append(held.Freezes, f)
		}
	}
	for _, c := range d.Closures {
		if !c.RollbacksFree {
			held.Closures = append(held.Closures, c)
		}
	}
	for _, a := range d.Approvals {
		if !a.RollbacksFree {
			held.Approvals = append(held.Approvals, a)
		}
	}
	return held
}

// ByValues reports whether it matters which objects the values of the release come from.
func (d Demands) ByValues() bool {
	return slices.ContainsFunc(d.Rollouts, func(r Rollout) bool { return r.By == v1alpha1.RolloutByValues })
}

// MayHold reports whether an action may be held.
func (d Demands) MayHold() bool {
	return d.Unavailable != "" || len(d.Freezes) > 0 || d.Refusal != nil || len(d.Rollouts) > 0 || d.NeedPlan()
}

// NeedPlan reports whether the plan of an action must be known: to decide about the action, or because
// a person may reject what waits for a window.
func (d Demands) NeedPlan() bool { return d.JudgePlan() || d.Windowed }

// Classify reports whether the dangers of a plan decide about it.
func (d Demands) Classify() bool {
	return slices.ContainsFunc(d.Approvals, func(a Approval) bool { return len(a.Classes) > 0 })
}

// JudgePlan reports whether the changes of an action decide about it.
func (d Demands) JudgePlan() bool { return len(d.Approvals) > 0 || len(d.Protections) > 0 }
