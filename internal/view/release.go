// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Release is one HelmRelease in a list.
type Release struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	State     State  `json:"state"`
	// Ready, Reason and Message are fields of condition Ready. Ready is Unknown without it.
	Ready   string `json:"ready"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Cause is the failure code of condition Failing. It is empty without a failure.
	Cause string `json:"cause,omitempty"`
	// Since is the time at which it failed with that cause, or else of the last change of condition Ready.
	Since *time.Time `json:"-"`
	// Chart is the chart of the newest revision as <name>@<version>.
	Chart      string `json:"chart,omitempty"`
	AppVersion string `json:"appVersion,omitempty"`
	// Revision is the number of the newest revision, 0 without one.
	Revision int `json:"revision,omitempty"`
	// Changed is the time at which that revision was deployed.
	Changed *time.Time `json:"changed,omitempty"`
	// Drifted is the status of condition Drifted. It is empty if drift is not detected.
	Drifted string `json:"drifted,omitempty"`
	// WaitingFor names what the release waits for.
	WaitingFor string `json:"waitingFor,omitempty"`
	// Failures counts the failed actions since an input changed.
	Failures int64  `json:"failures,omitempty"`
	Source   string `json:"source,omitempty"`
	// Owner is the object that the HelmRelease was made for, as <kind>/<name>; empty if it was made for
	// none.
	Owner string `json:"owner,omitempty"`
}

// OwnerOf returns the object that a HelmRelease was made for, as <kind>/<name>; empty if there is none.
func OwnerOf(hr *helmv2.HelmRelease) string {
	if o := metav1.GetControllerOfNoCopy(hr); o != nil {
		return o.Kind + "/" + o.Name
	}
	return ""
}

// ReleaseOf returns the view of a HelmRelease.
func ReleaseOf(hr *helmv2.HelmRelease, lookup Lookup, now time.Time) Release {
	r := Release{
		Namespace: hr.Namespace, Name: hr.Name, State: StateOf(hr, now), Ready: "Unknown", Failures: hr.Status.Failures,
		WaitingFor: waitingFor(hr, lookup, now), Source: Source(hr).String(), Owner: OwnerOf(hr),
	}
	if c := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionReady); c != nil {
		r.Ready, r.Reason, r.Message = string(c.Status), c.Reason, c.Message
		r.Since = timeOf(&c.LastTransitionTime)
	}
	if c := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionFailing); c != nil {
		r.Cause, r.Since = c.Reason, timeOf(&c.LastTransitionTime)
	}
	if c := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionDrifted); c != nil {
		r.Drifted = string(c.Status)
	}
	if len(hr.Status.History) > 0 {
		newest := hr.Status.History[0]
		r.Chart, r.AppVersion, r.Revision = newest.VersionedChartName(), newest.AppVersion, newest.Version
		if !newest.LastDeployed.IsZero() {
			at := newest.LastDeployed.UTC()
			r.Changed = &at
		}
	}
	return r
}

// Releases returns the views of HelmReleases, those that need attention first.
func Releases(all []helmv2.HelmRelease, now time.Time) []Release {
	lookup := LookupIn(all)
	views := make([]Release, 0, len(all))
	for i := range all {
		views = append(views, ReleaseOf(&all[i], lookup, now))
	}
	slices.SortStableFunc(views, func(a, b Release) int { return Compare(&a, &b) })
	return views
}

// Compare compares the positions of two releases in lists: by state, namespace and name.
func Compare(a, b *Release) int {
	return cmp.Or(a.State.rank()-b.State.rank(), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
