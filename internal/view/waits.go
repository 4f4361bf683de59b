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
			return "resume"
		}
		return "resume, or " + s.Until.UTC().Format(time.RFC3339)
	}
	if apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.ConditionHeld) {
		return "Operation"
	}
	ready := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReady)
	if ready == nil {
		return "controller"
	}
	switch ready.Reason {
	case helmv2.ReasonDependencyNotReady:
		return dependencies(hr, lookup)
	case helmv2.ReasonSourceNotReady:
		return Source(hr).String()
	case helmv2.ReasonAwaitingApproval:
		return "approval of its plan"
	case helmv2.ReasonFrozen:
		return "policy"
	case helmv2.ReasonPolicyUnavailable:
		return "policies that can be read"
	case helmv2.ReasonPlanFailed:
		return "plan that can be computed"
	case helmv2.ReasonInterrupted:
		return "server that answers"
	case helmv2.ReasonRolledBack:
		return "end of the hold at revision " + hr.Annotations[helmv2.AnnotationRollbackTo]
	}
	return ""
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

// Source returns the object that the chart of a release comes from: the source, or the HelmChart
// for spec.chart.
func Source(hr *helmv2.HelmRelease) Object {
	switch {
	case hr.HasChartRef():
		ref := hr.Spec.ChartRef
		return Object{Kind: string(ref.Kind), Namespace: ref.GetNamespace(hr.Namespace), Name: ref.Name}
	case hr.HasChartTemplate():
		ref := hr.Spec.Chart.Spec.SourceRef
		return Object{Kind: string(ref.Kind), Namespace: hr.Spec.Chart.GetNamespace(hr.Namespace), Name: ref.Name}
	}
	return Object{}
}
