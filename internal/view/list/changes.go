// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package list

import (
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view"
)

// recent is the age up to which a revision is a recent change.
const recent = 24 * time.Hour

// Change is the newest revision of a release.
type Change struct {
	Namespace, Name string
	Revision        int
	// Action made the revision. Status is the status in its record.
	Action helmv2.ReleaseAction
	Status helmv2.ReleaseStatus
	Chart  string
	// From is the version of the chart before, empty if it is not known or the same. To is the version
	// of the revision.
	From, To string
	// Age is the age of the revision.
	view.Age
}

// changeOf returns the newest revision if it was made within the last day.
func changeOf(hr *helmv2.HelmRelease, now time.Time) (Change, bool) {
	if len(hr.Status.History) == 0 {
		return Change{}, false
	}
	s := hr.Status.History[0]
	at := s.LastDeployed.UTC()
	if !s.Deleted.IsZero() {
		at = s.Deleted.UTC()
	}
	if at.IsZero() || now.Sub(at) > recent {
		return Change{}, false
	}
	c := Change{
		Namespace: hr.Namespace, Name: hr.Name, Revision: s.Version, Action: s.Action, Status: s.Status,
		Chart: s.ChartName, To: s.ChartVersion, Age: view.AgeOf(at, now),
	}
	if len(hr.Status.History) > 1 {
		if before := hr.Status.History[1]; before.ChartName == s.ChartName && before.ChartVersion != s.ChartVersion {
			c.From = before.ChartVersion
		}
	}
	return c, true
}
