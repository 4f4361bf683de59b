// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// Wait is a kind of thing that a release waits for. Its text is for users.
type Wait string

// The kinds of waits.
const (
	WaitForApproval   Wait = "approval"
	WaitForChange     Wait = "another change"
	WaitForFreeze     Wait = "freeze"
	WaitForHold       Wait = "end of a hold"
	WaitForDependency Wait = "dependency"
	WaitForSource     Wait = "source"
	WaitForServer     Wait = "server"
	WaitForRetry      Wait = "retry"
	WaitForRollout    Wait = "rollout"
	WaitForBake       Wait = "bake"
	WaitForPolicies   Wait = "policies"
	WaitForPlan       Wait = "plan"
	WaitForOperation  Wait = "Operation"
)

// Waits returns all kinds of waits, in the order of lists: what needs a user comes first.
func Waits() []Wait {
	return []Wait{
		WaitForApproval, WaitForChange, WaitForFreeze, WaitForRollout, WaitForBake, WaitForHold, WaitForDependency, WaitForSource, WaitForServer, WaitForRetry,
		WaitForPolicies, WaitForPlan, WaitForOperation,
	}
}

// waitOf returns what an action waits for that has not failed, by the reason of Ready; empty for other
// reasons.
func waitOf(reason string) Wait {
	switch reason {
	case helmv2.ReasonAwaitingApproval:
		return WaitForApproval
	case helmv2.ReasonFrozen, helmv2.ReasonAwaitingWindow:
		return WaitForFreeze
	case helmv2.ReasonAwaitingRollout:
		return WaitForRollout
	case helmv2.ReasonBaking:
		return WaitForBake
	case helmv2.ReasonDependencyNotReady:
		return WaitForDependency
	case helmv2.ReasonSourceNotReady:
		return WaitForSource
	case helmv2.ReasonInterrupted:
		return WaitForServer
	case helmv2.ReasonDryRunDenied:
		return WaitForRetry
	case helmv2.ReasonPolicyUnavailable:
		return WaitForPolicies
	case helmv2.ReasonPlanFailed:
		return WaitForPlan
	}
	return ""
}

// WaitOf returns what a release of state Waiting, Rejected or Held waits for.
func WaitOf(hr *helmv2.HelmRelease, r *Release) Wait {
	switch {
	case r.State == Held:
		return WaitForHold
	case r.State == Rejected:
		return WaitForChange
	case apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.ConditionLocked):
		return WaitForOperation
	}
	return waitOf(r.Reason)
}

// Lookup returns a HelmRelease, nil if it is not known.
type Lookup func(namespace, name string) *helmv2.HelmRelease

// LookupIn returns a Lookup of the HelmReleases in a list.
func LookupIn(all []helmv2.HelmRelease) Lookup {
	known := make(map[[2]string]*helmv2.HelmRelease, len(all))
	for i := range all {
		known[[2]string{all[i].Namespace, all[i].Name}] = &all[i]
	}
	return func(namespace, name string) *helmv2.HelmRelease { return known[[2]string{namespace, name}] }
}

// waitingFor returns what a release waits for; empty if it waits for nothing.
func waitingFor(hr *helmv2.HelmRelease, lookup Lookup, now time.Time) string {
	if s := release.SuspensionOf(hr.Spec.Suspend, hr.Annotations, now); s.Active {
		if s.Until.IsZero() {
			return because("resume", s.Reason)
		}
		return because("resume, or "+s.Until.UTC().Format(time.RFC3339), s.Reason)
	}
	if apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.ConditionLocked) {
		return "Operation"
	}
	ready := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReady)
	if ready == nil {
		return "controller"
	}
	if ready.Reason == helmv2.ReasonRolledBack {
		return because("end of the hold at revision "+hr.Annotations[helmv2.AnnotationRollbackTo], release.HoldOf(hr.Annotations, now).Reason)
	}
	if ready.Reason == helmv2.ReasonRejected {
		return string(WaitForChange)
	}
	switch waitOf(ready.Reason) {
	case WaitForDependency:
		return dependencies(hr, lookup)
	case WaitForSource:
		if apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.ConditionFailing) {
			return ""
		}
		return artifactSource(hr).String()
	case WaitForApproval:
		return "approval of its plan"
	case WaitForFreeze:
		if ready.Reason == helmv2.ReasonAwaitingWindow {
			return "window, or kubectl pintle override"
		}
		return "policy"
	case WaitForRollout:
		return "turn in a rollout"
	case WaitForBake:
		return "end of its bake"
	case WaitForPolicies:
		return "policies that can be read"
	case WaitForPlan:
		return "plan that can be computed"
	case WaitForServer:
		return "server that answers"
	case WaitForRetry, WaitForHold, WaitForOperation, WaitForChange:
	}
	return ""
}

// because adds the reason that a user gives, if there is one.
func because(text, reason string) string {
	if reason == "" {
		return text
	}
	return text + " (" + reason + ")"
}

// dependencies names the dependencies that are not known to be ready.
func dependencies(hr *helmv2.HelmRelease, lookup Lookup) string {
	var open []string
	for _, d := range hr.Spec.DependsOn {
		namespace := d.GetNamespace(hr.Namespace)
		if d.Kind != "" && d.Kind != helmv2.HelmReleaseKind {
			open = append(open, fmt.Sprintf("%s %s/%s", d.Kind, namespace, d.Name))
			continue
		}
		if other := lookup(namespace, d.Name); other == nil || !apimeta.IsStatusConditionTrue(other.Status.Conditions, helmv2.ConditionReady) {
			open = append(open, namespace+"/"+d.Name)
		}
	}
	if len(open) == 0 {
		return "dependencies"
	}
	return strings.Join(open, ", ")
}

// artifactSource returns the object whose artifact is the chart of a release: the source, or the
// source object of spec.chart. Its repository may be fine.
func artifactSource(hr *helmv2.HelmRelease) Object {
	if hr.HasChartTemplate() {
		return templateSource(hr)
	}
	return Source(hr)
}

func templateSource(hr *helmv2.HelmRelease) Object {
	return Object{Kind: hr.Spec.Chart.GetKind(), Namespace: hr.Spec.Chart.GetNamespace(hr.Namespace), Name: hr.GetHelmChartName()}
}

// Source returns the object that the chart of a release comes from: the source of spec.chartRef or
// spec.chart.
func Source(hr *helmv2.HelmRelease) Object {
	switch {
	case hr.HasChartRef():
		ref := hr.Spec.ChartRef
		return Object{Kind: string(ref.Kind), Namespace: ref.GetNamespace(hr.Namespace), Name: ref.Name}
	case hr.HasChartTemplate() && hr.Spec.Chart.GetKind() == helmv2.KindOCIRepository:
		return templateSource(hr)
	case hr.HasChartTemplate():
		ref := hr.Spec.Chart.Spec.SourceRef
		return Object{Kind: string(ref.Kind), Namespace: hr.Spec.Chart.GetNamespace(hr.Namespace), Name: ref.Name}
	}
	return Object{}
}
