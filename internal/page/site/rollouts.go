// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"net/http"
	"time"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/page/access"
	"github.com/pintle-dev/pintle/internal/rollout"
	"github.com/pintle-dev/pintle/internal/view"
)

// maxRolloutRows is how many releases of a wave are listed.
const maxRolloutRows = 100

// rolloutsPage is the content of the list of waves.
type rolloutsPage struct {
	Waves []rolloutRows
	// Unread names what is left out. Right is the right that a user needs to see rollouts.
	Unread []string
	Right  string
}

// rolloutRows is one wave.
type rolloutRows struct {
	view.Rollout

	State string
	// Have, Failures, Wait and Paused are numbers of releases.
	Have, Failures, Wait, Paused int
	Rows                         []rolloutRow
	// More is the number of releases that are not listed.
	More int
}

// rolloutRow is a release in a wave.
type rolloutRow struct {
	view.RolloutRelease

	Failed *view.Age
}

// rollouts lists the waves of policies that the user may get.
func (s *site) rollouts(w http.ResponseWriter, r *http.Request, viewer *access.Viewer) error {
	waves, unread, err := viewer.Rollouts(r.Context())
	if err != nil {
		return err
	}
	content := rolloutsOf(waves, unread, s.Now())
	s.render(w, r, http.StatusOK, "rollouts", &layout{Title: "Rollouts", User: viewer.User, Content: content})
	return nil
}

func rolloutsOf(waves []view.Rollout, unread []string, now time.Time) *rolloutsPage {
	content := &rolloutsPage{Unread: unread, Right: "get on releasepolicies." + v1alpha1.Group + " or clusterreleasepolicies." + v1alpha1.Group}
	for _, wave := range waves {
		rows := rolloutRows{
			Rollout: wave, State: "Progressing", Have: wave.Counts[rollout.Done], Failures: wave.Counts[rollout.Failed],
			Wait: wave.Counts[rollout.Waits], Paused: wave.Counts[rollout.Paused],
		}
		switch {
		case wave.Halted:
			rows.State = "Halted"
		case wave.Finished():
			rows.State = "Succeeded"
		}
		notable := wave.Notable()
		if len(notable) > maxRolloutRows {
			notable, rows.More = notable[:maxRolloutRows], len(notable)-maxRolloutRows
		}
		for _, release := range notable {
			row := rolloutRow{RolloutRelease: release}
			if release.FailedAt != nil {
				row.Failed = new(view.AgeOf(*release.FailedAt, now))
			}
			rows.Rows = append(rows.Rows, row)
		}
		content.Waves = append(content.Waves, rows)
	}
	return content
}
