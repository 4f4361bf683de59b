// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"net/http"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/page/access"
	"github.com/pintle-dev/pintle/internal/view/list"
)

// Health is what a replica of the controller has in its memory about itself.
type Health struct {
	Version, Replica string
	// Leads is true if this replica reconciles. Elects is true if there is a leader election.
	Leads, Elects bool
	// Observes is true for a process that only observes.
	Observes bool
	// Actions counts the actions that have started and not finished. Slots is the maximum of
	// actions that work at the same time, and SlotsUsed is the number of working actions.
	Actions, Slots, SlotsUsed int
	// Unreachable counts the other clusters that do not answer.
	Unreachable int
}

// overviewPage is the content of the overview.
type overviewPage struct {
	*list.Overview
	Health Health
	// Problems are what is wrong with the parameters. Then no releases are shown.
	Problems []string
	// Everywhere is true if the user may get the HelmReleases of all namespaces. It is set if there
	// are no releases.
	Everywhere bool
	Right      string
}

// overview shows the releases that the user may get and that the parameters select.
func (s *site) overview(w http.ResponseWriter, r *http.Request, viewer *access.Viewer) error {
	query, problems := list.ParseReleases(r.URL.Query())
	all, err := viewer.Releases(r.Context())
	if err != nil {
		return err
	}
	content := &overviewPage{
		Overview: list.OverviewOf(all, query, s.Now()), Health: s.Health(), Problems: problems, Right: "get on helmreleases." + helmv2.GroupVersion.Group,
	}
	if len(all) == 0 {
		if content.Everywhere, err = everywhere(r.Context(), viewer); err != nil {
			return err
		}
	}
	s.render(w, r, codeOf(problems), "overview", &layout{Title: "Releases", User: viewer.User, Attention: content.Attention, Content: content})
	return nil
}
