// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// Release is a HelmRelease, as far as policies select it.
type Release struct {
	// Namespace and Labels of the HelmRelease.
	Namespace string
	Labels    map[string]string
	// NamespaceLabels are the labels of the namespace. NamespaceUnread states why they are not
	// known; empty if they are. Only policies with a namespaceSelector need them.
	NamespaceLabels map[string]string
	NamespaceUnread string
}

// Select returns the demands of all policies that select the release at a time, without a refusal of
// its chart. A policy that cannot be evaluated makes the policies unavailable to the releases that it
// may select: what it was meant to prevent is not known. The order of the policies does not matter.
func Select(policies []Policy, r Release, now time.Time) Demands {
	d, selected := choose(policies, r)
	for i := range selected {
		p := &selected[i]
		free := p.Spec.Rollbacks == v1alpha1.RollbacksFree
		if p.Spec.Freeze != "" {
			d.Freezes = append(d.Freezes, Freeze{Policy: p.String(), Why: p.Spec.Freeze, RollbacksFree: free})
		}
		d.Windowed = d.Windowed || len(p.Spec.Windows) > 0
		d.RollbacksWindowed = d.RollbacksWindowed || len(p.Spec.Windows) > 0 && !free
		if opens, is := closed(p.Spec.Windows, now); is {
			d.Closures = append(d.Closures, Closure{Policy: p.String(), Opens: opens, RollbacksFree: free})
		}
		of, classes := p.Spec.Approval, p.Spec.ApprovalClasses
		if of == v1alpha1.ApprovalAlways || of == v1alpha1.ApprovalDestructive || len(classes) > 0 {
			d.Approvals = append(d.Approvals, Approval{Policy: p.String(), Of: of, Classes: classes, RollbacksFree: free})
		}
		d.RefuseDenials = d.RefuseDenials || p.Spec.DryRunDenials == v1alpha1.DryRunDenialsRefuse
		if o := p.Spec.Rollout; o != nil {
			d.Rollouts = append(d.Rollouts, Rollout{Policy: p.String(), Namespace: p.Namespace, Rollout: *o, Resumed: p.Resumed})
		}
		if o := p.Spec.Operations; o != nil {
			d.Operations = append(d.Operations, OperationRule{Policy: p.String(), OperationPolicy: *o})
		}
		for _, protection := range p.Spec.Protect {
			d.Protections = append(d.Protections, Protection{Policy: p.String(), Protection: protection})
		}
	}
	slices.SortStableFunc(d.Approvals, func(a, b Approval) int { return strictness(a.Of) - strictness(b.Of) })
	return d
}

// choose returns the valid policies that select the release, sorted. Demands states why others
// cannot be evaluated.
func choose(policies []Policy, r Release) (Demands, []Policy) {
	var d Demands
	var selected []Policy
	for _, p := range sorted(policies) {
		is, why := p.selects(r)
		if is && why == "" {
			why = p.invalid()
		}
		switch {
		case why != "" && d.Unavailable == "":
			d.Unavailable = p.String() + ": " + why
		case why == "" && is:
			selected = append(selected, p)
		}
	}
	return d, selected
}

// NeedsNamespace reports whether the labels of the namespace decide about which policies select a
// release.
func NeedsNamespace(policies []Policy, r Release) bool {
	return slices.ContainsFunc(policies, func(p Policy) bool {
		if p.Namespaces == nil || len(p.Namespaces.MatchLabels)+len(p.Namespaces.MatchExpressions) == 0 {
			return false
		}
		is, why := matches("spec.selector", p.Spec.Selector, r.Labels)
		return is || why != ""
	})
}

// maxBake is the longest bakeTime.
const maxBake = 24 * time.Hour

// Selects reports whether a policy selects a release, or may: it cannot be evaluated.
func (p *Policy) Selects(r Release) bool {
	is, why := p.selects(r)
	return is || why != ""
}

func strictness(of v1alpha1.Approval) int {
	if of == v1alpha1.ApprovalAlways {
		return 0
	}
	return 1
}

// sorted returns the policies by name.
func sorted(policies []Policy) []Policy {
	return slices.SortedStableFunc(slices.Values(policies), func(a, b Policy) int {
		return strings.Compare(a.String()+"\x00"+a.Namespace, b.String()+"\x00"+b.Namespace)
	})
}

// selects reports whether the policy selects a release. why states why that is not known; it is
// empty if it is.
func (p *Policy) selects(r Release) (is bool, why string) {
	if p.Kind == v1alpha1.ReleasePolicyKind && p.Namespace != r.Namespace {
		return false, ""
	}
	is, why = matches("spec.selector", p.Spec.Selector, r.Labels)
	if !is && why == "" || p.Namespaces == nil {
		return is, why
	}
	if r.NamespaceUnread != "" && len(p.Namespaces.MatchLabels)+len(p.Namespaces.MatchExpressions) > 0 {
		return false, fmt.Sprintf("spec.namespaceSelector: the labels of namespace %s are not known: %s", r.Namespace, r.NamespaceUnread)
	}
	in, unknown := matches("spec.namespaceSelector", p.Namespaces, r.NamespaceLabels)
	if !in && unknown == "" {
		return false, ""
	}
	if why == "" {
		why = unknown
	}
	return is && in, why
}

// matches reports whether a selector selects labels. An absent or empty one selects all. why is the
// error of an invalid selector.
func matches(field string, s *metav1.LabelSelector, set map[string]string) (is bool, why string) {
	if s == nil {
		return true, ""
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return false, field + " is invalid: " + err.Error()
	}
	return selector.Matches(labels.Set(set)), ""
}

// invalid returns the first field that has no valid value, and the cause; empty if all are valid. The
// CRD allows valid values only, but another version of the CRD may be installed.
func (p *Policy) invalid() string {
	s := &p.Spec
	switch s.Approval {
	case "", v1alpha1.ApprovalNever, v1alpha1.ApprovalAlways, v1alpha1.ApprovalDestructive:
	default:
		return fmt.Sprintf("spec.approval %q is not supported by this version", s.Approval)
	}
	for _, c := range s.ApprovalClasses {
		if !slices.Contains(v1alpha1.DangerClasses(), c) {
			return fmt.Sprintf("spec.approvalClasses: %q is not supported by this version", c)
		}
	}
	switch s.Rollbacks {
	case "", v1alpha1.RollbacksHeld, v1alpha1.RollbacksFree:
	default:
		return fmt.Sprintf("spec.rollbacks %q is not supported by this version", s.Rollbacks)
	}
	switch s.DryRunDenials {
	case "", v1alpha1.DryRunDenialsTry, v1alpha1.DryRunDenialsRefuse:
	default:
		return fmt.Sprintf("spec.dryRunDenials %q is not supported by this version", s.DryRunDenials)
	}
	for i, w := range s.Windows {
		if _, err := parseWindow(w); err != nil {
			return fmt.Sprintf("spec.windows[%d]: %v", i, err)
		}
	}
	if r := s.Rollout; r != nil && (r.BakeTime.Duration < 0 || r.BakeTime.Duration > maxBake) {
		return fmt.Sprintf("spec.rollout.bakeTime %s is not between 0 and %s", r.BakeTime.Duration, maxBake)
	}
	if s.Rollout != nil {
		for i := range s.Rollout.Order {
			if _, err := metav1.LabelSelectorAsSelector(&s.Rollout.Order[i]); err != nil {
				return fmt.Sprintf("spec.rollout.order[%d] is invalid: %v", i, err)
			}
		}
	}
	if s.Operations != nil {
		switch s.Operations.Approval {
		case "", v1alpha1.OperationApprovalNever, v1alpha1.OperationApprovalAlways:
		default:
			return fmt.Sprintf("spec.operations.approval %q is not supported by this version", s.Operations.Approval)
		}
	}
	for i, protection := range s.Protect {
		if len(protection.Kinds) == 0 || len(protection.Operations) == 0 {
			return fmt.Sprintf("spec.protect[%d] has no kinds or no operations", i)
		}
		for _, o := range protection.Operations {
			switch o {
			case v1alpha1.ProtectDelete, v1alpha1.ProtectReplace, v1alpha1.ProtectReinstall:
			default:
				return fmt.Sprintf("spec.protect[%d].operations: %q is not supported by this version", i, o)
			}
		}
	}
	if s.Values != nil {
		switch s.Values.PlaintextSecrets {
		case "", v1alpha1.PlaintextSecretsAllow, v1alpha1.PlaintextSecretsDeny:
		default:
			return fmt.Sprintf("spec.values.plaintextSecrets %q is not supported by this version", s.Values.PlaintextSecrets)
		}
	}
	if s.Charts != nil {
		switch s.Charts.Transport {
		case "", v1alpha1.TransportSystem, v1alpha1.TransportAny:
		default:
			return fmt.Sprintf("spec.charts.transport %q is not supported by this version", s.Charts.Transport)
		}
		for i, signer := range s.Charts.Signers {
			if signer.Secret != "" && len(signer.Identities) > 0 {
				return fmt.Sprintf("spec.charts.signers[%d] has both a secret and identities", i)
			}
		}
		for i, pattern := range s.Charts.Sources {
			if !strings.Contains(pattern, "://") {
				return fmt.Sprintf("spec.charts.sources[%d]: %q is no URL", i, pattern)
			}
		}
	}
	return ""
}
