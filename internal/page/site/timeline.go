// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view"
)

// timeline is the section of events and revisions.
type timeline struct {
	Moments   []view.Moment
	revisions []view.Revision
	// Missing is the sentence about revisions whose records could not be read. Then the page shows
	// the revisions in status.
	Missing string
}

// timelineOf returns the timeline of a release.
func timelineOf(hr *helmv2.HelmRelease, events []view.Event, revisions section[[]view.Revision]) timeline {
	if revisions.Content == nil {
		return timeline{Moments: view.Timeline(events, view.StatusHistory(hr)), Missing: revisions.Missing}
	}
	return timeline{Moments: view.Timeline(events, *revisions.Content), revisions: *revisions.Content}
}
