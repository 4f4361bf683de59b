// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"slices"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// Revision is one stored revision of a release.
type Revision struct {
	Revision   int    `json:"revision"`
	Status     string `json:"status"`
	Chart      string `json:"chart,omitempty"`
	AppVersion string `json:"appVersion,omitempty"`
	// Source is the revision of the source that the chart came from.
	Source string `json:"source,omitempty"`
	// By is what made the revision: an action of this HelmRelease, or another client.
	By       string     `json:"by,omitempty"`
	Deployed *time.Time `json:"deployed,omitempty"`
	// Duration is the duration of the action. It is empty if the record does not have its end.
	Duration string `json:"duration,omitempty"`
	// Result is Helm's description: for a failure, the error.
	Result     string `json:"result,omitempty"`
	ApprovedBy string `json:"approvedBy,omitempty"`
	// OverriddenBy is who has overridden freezes and windows for the action, and OverrideReason why.
	OverriddenBy   string `json:"overriddenBy,omitempty"`
	OverrideReason string `json:"overrideReason,omitempty"`
	// Unread is the reason why the record could not be read.
	Unread string `json:"unread,omitempty"`
}

// Record is what is known of the record of a revision.
type Record struct {
	release.Revision
	ApprovedBy                   string
	OverriddenBy, OverrideReason string
	Unread                       string
}

// History returns the revisions of a release, newest first.
func History(hr *helmv2.HelmRelease, records []Record) []Revision {
	var all []Revision
	for _, r := range records {
		v := Revision{
			Revision: r.Version, Status: string(r.Status), AppVersion: r.AppVersion, Source: r.SourceRevision,
			Result: r.Description, ApprovedBy: r.ApprovedBy, OverriddenBy: r.OverriddenBy, OverrideReason: r.OverrideReason, Unread: r.Unread, By: madeBy(hr, r),
		}
		if r.ChartName != "" {
			v.Chart = r.ChartName + "@" + r.ChartVersion
		}
		if !r.LastDeployed.IsZero() {
			at := r.LastDeployed.UTC()
			v.Deployed = &at
			v.Duration = durationOf(r)
		}
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b Revision) int { return b.Revision - a.Revision })
	return all
}

// durationOf returns the duration of the action that made a revision. A record without the end of the
// action was written at its end, and again by tests, or when the revision was superseded.
func durationOf(r Record) string {
	ended := r.Ended
	if final := r.Status == helmv2.StatusDeployed || r.Status == helmv2.StatusFailed; ended.IsZero() && final && !hasRunTests(r) {
		ended = r.Modified
	}
	if ended.Before(r.LastDeployed.Truncate(time.Second)) {
		return ""
	}
	return max(0, ended.Sub(r.LastDeployed)).Round(time.Second).String()
}

// hasRunTests reports whether a test of a revision has run.
func hasRunTests(r Record) bool {
	for _, run := range r.Tests {
		if !run.Started.IsZero() {
			return true
		}
	}
	return false
}

// madeBy returns what made a revision.
func madeBy(hr *helmv2.HelmRelease, r Record) string {
	switch {
	case r.RolledBackTo > 0:
		return fmt.Sprintf("rollback to %d on request", r.RolledBackTo)
	case r.Rollback:
		return "rollback after a failure"
	case r.Owner != "" && r.Owner != string(hr.UID):
		return "another HelmRelease"
	}
	for _, s := range hr.Status.History {
		if s != nil && s.Version == r.Version && s.Action != "" {
			return string(s.Action)
		}
	}
	switch {
	case r.Unread != "":
		return ""
	case r.Owner == "":
		return "another client"
	case r.Version == 1, !r.FirstDeployed.IsZero() && r.FirstDeployed.Equal(r.LastDeployed):
		return string(helmv2.ActionInstall)
	}
	return string(helmv2.ActionUpgrade)
}
