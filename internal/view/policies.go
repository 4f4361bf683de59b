// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/status/message"
)

// Policy is one ReleasePolicy or ClusterReleasePolicy in a list.
type Policy struct {
	Kind string `json:"kind"`
	// Namespace is empty for a ClusterReleasePolicy.
	Namespace string            `json:"namespace,omitempty"`
	Name      string            `json:"name"`
	Approval  v1alpha1.Approval `json:"approval"`
	// ApprovalClasses are the classes of dangers that need approval too.
	ApprovalClasses []v1alpha1.DangerClass `json:"approvalClasses,omitempty"`
	Freeze          string                 `json:"freeze,omitempty"`
	// Protects are the kinds of objects whose removal needs approval, or is refused.
	Protects []string `json:"protects,omitempty"`
	// Charts are the demands on charts.
	Charts []string `json:"charts,omitempty"`
	// Values are the demands on values.
	Values []string `json:"values,omitempty"`
	// Windows are the windows in which changes are allowed or denied.
	Windows []string `json:"windows,omitempty"`
	// Rollout is how charts or values spread.
	Rollout []string `json:"rollout,omitempty"`
	// Operations are the demands on Operations.
	Operations []string `json:"operations,omitempty"`
	// Releases is the selector of HelmReleases, and Namespaces the selector of namespaces. Empty is all.
	Releases      string                 `json:"releases,omitempty"`
	Namespaces    string                 `json:"namespaces,omitempty"`
	Rollbacks     v1alpha1.Rollbacks     `json:"rollbacks"`
	DryRunDenials v1alpha1.DryRunDenials `json:"dryRunDenials"`
	Created       *time.Time             `json:"created,omitempty"`
}

// Policies returns the views of policies. Freezes come first, and then approvals.
func Policies(all []v1alpha1.ReleasePolicy, cluster []v1alpha1.ClusterReleasePolicy) []Policy {
	views := make([]Policy, 0, len(all)+len(cluster))
	for i := range all {
		views = append(views, policyOf("ReleasePolicy", &all[i].ObjectMeta, &all[i].Spec))
	}
	for i := range cluster {
		v := policyOf("ClusterReleasePolicy", &cluster[i].ObjectMeta, &cluster[i].Spec.ReleasePolicySpec)
		v.Namespaces = selectorText(cluster[i].Spec.NamespaceSelector)
		views = append(views, v)
	}
	slices.SortFunc(views, func(a, b Policy) int {
		return cmp.Or(a.rank()-b.rank(), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
	return views
}

func policyOf(kind string, meta *metav1.ObjectMeta, spec *v1alpha1.ReleasePolicySpec) Policy {
	p := Policy{
		Kind: kind, Namespace: meta.Namespace, Name: meta.Name, Freeze: spec.Freeze, ApprovalClasses: spec.ApprovalClasses, Releases: selectorText(spec.Selector),
		Approval: cmp.Or(spec.Approval, v1alpha1.ApprovalNever), Rollbacks: cmp.Or(spec.Rollbacks, v1alpha1.RollbacksHeld),
		DryRunDenials: cmp.Or(spec.DryRunDenials, v1alpha1.DryRunDenialsTry), Created: timeOf(&meta.CreationTimestamp),
	}
	for _, protection := range spec.Protect {
		p.Protects = append(p.Protects, protection.Kinds...)
	}
	if c := spec.Charts; c != nil {
		for _, demand := range []struct {
			is   bool
			text string
		}{{c.ExactVersions, "exact versions"}, {c.Verified || len(c.Signers) > 0, "verified"}, {len(c.Sources) > 0, "sources"}} {
			if demand.is {
				p.Charts = append(p.Charts, demand.text)
			}
		}
	}
	if v := spec.Values; v != nil {
		p.Values = slices.Clone(v.Sources)
		if v.PlaintextSecrets == v1alpha1.PlaintextSecretsDeny {
			p.Values = append(p.Values, "no plaintext secrets")
		}
	}
	for _, w := range spec.Windows {
		p.Windows = append(p.Windows, fmt.Sprintf("%s %s at %s %s", w.Effect, message.Duration(w.Duration.Duration), w.Schedule, cmp.Or(w.TimeZone, "UTC")))
	}
	if r := spec.Rollout; r != nil {
		if r.MaxConcurrent > 0 {
			p.Rollout = append(p.Rollout, fmt.Sprintf("%d at a time", r.MaxConcurrent))
		}
		if r.By == v1alpha1.RolloutByValues {
			p.Rollout = append(p.Rollout, "by values")
		}
		p.Rollout = append(p.Rollout, fmt.Sprintf("halted by %d failed", max(r.MaxFailed, 1)))
		if r.BakeTime.Duration > 0 {
			p.Rollout = append(p.Rollout, "bakes "+message.Duration(r.BakeTime.Duration))
		}
		if n := len(r.Order); n > 0 {
			p.Rollout = append(p.Rollout, fmt.Sprintf("%d selectors of stages", n))
		}
	}
	if o := spec.Operations; o != nil {
		p.Operations = slices.Concat(o.Allow, o.Names)
		if o.Approval == v1alpha1.OperationApprovalAlways {
			p.Operations = append(p.Operations, "approval")
		}
	}
	return p
}

// rank returns the position in lists.
func (p Policy) rank() int {
	if p.Freeze != "" {
		return 0
	}
	return 1 + slices.Index([]v1alpha1.Approval{v1alpha1.ApprovalAlways, v1alpha1.ApprovalDestructive, v1alpha1.ApprovalNever}, p.Approval)
}

// selectorText returns a label selector as text; empty if it selects all.
func selectorText(s *metav1.LabelSelector) string {
	if s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		return ""
	}
	return metav1.FormatLabelSelector(s)
}
