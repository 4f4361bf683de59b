// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/rollout"
	"github.com/pintle-dev/pintle/internal/view"
)

// maxWaiting is how many releases that wait are listed without -o wide.
const maxWaiting = 10

// Rollouts prints waves, each with a line about the whole and its releases.
func Rollouts(w io.Writer, all []view.Rollout, style Style) error {
	var b strings.Builder
	for i := range all {
		r := &all[i]
		if i > 0 {
			b.WriteByte('\n')
		}
		policy := r.Policy
		if r.Namespace != "" {
			policy += " in namespace " + r.Namespace
		}
		fmt.Fprintf(&b, "%s: %s: %s\n", Clean(policy), Clean(r.Chart), rolloutSummary(r, style))
		releases, more := r.Notable(), 0
		if style.Wide {
			releases = r.Releases
		} else if shown := len(releases) - max(0, r.Counts[rollout.Waits]-maxWaiting); shown < len(releases) {
			releases, more = withoutWaiting(releases)
		}
		if len(releases) == 0 {
			continue
		}
		rows := make([][]cell, 0, len(releases))
		for _, one := range releases {
			rows = append(rows, rolloutRow(&one, style))
		}
		newTable(style, "NAMESPACE", "NAME", "STATE", "STAGE", "PLACE", "MESSAGE").printIndented(&b, rows)
		if more > 0 {
			fmt.Fprintf(&b, "  %d others wait\n", more)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// withoutWaiting returns releases without most of those that wait, and the number of these.
func withoutWaiting(all []view.RolloutRelease) (few []view.RolloutRelease, more int) {
	waiting := 0
	for _, one := range all {
		if one.State == rollout.Waits {
			if waiting++; waiting > maxWaiting {
				more++
				continue
			}
		}
		few = append(few, one)
	}
	return few, more
}

// rolloutSummary returns the numbers of a wave.
func rolloutSummary(r *view.Rollout, style Style) string {
	state := "in progress"
	c := blue
	switch {
	case r.Halted:
		state, c = "halted", red
	case r.Finished():
		state, c = "finished", green
	}
	flight := strconv.Itoa(r.InFlight)
	if r.MaxConcurrent > 0 {
		flight += fmt.Sprintf(" of %d", r.MaxConcurrent)
	}
	text := fmt.Sprintf("%s, %d of %d have it, %s in flight, %d of %d failed, %d wait", style.paint(c, state),
		r.Counts[rollout.Done], len(r.Releases), flight, r.Counts[rollout.Failed], r.MaxFailed, r.Counts[rollout.Waits])
	if n := r.Counts[rollout.Paused]; n > 0 {
		text += fmt.Sprintf(", %d suspended", n)
	}
	if r.Resumed != nil {
		text += fmt.Sprintf(", resumed %s ago", style.age(r.Resumed))
	}
	return text
}

func rolloutRow(r *view.RolloutRelease, style Style) []cell {
	text, c := "", plain
	switch r.State {
	case rollout.Failed, rollout.Passed:
		c = yellow
		if r.State == rollout.Failed {
			c = red
		}
		if text = r.Cause; r.FailedAt != nil {
			text = style.age(r.FailedAt) + " ago: " + text
		}
	case rollout.Bakes:
		c = blue
		if r.Until != nil {
			text = "until " + r.Until.UTC().Format("2006-01-02 15:04:05 MST")
		}
	case rollout.Runs:
		c = blue
	case rollout.Done:
		c = green
	case rollout.Waits, rollout.Paused:
	}
	return []cell{
		{text: r.Namespace},
		{text: r.Name},
		{string(r.State), c},
		{text: strconv.Itoa(r.Stage)},
		{text: strconv.Itoa(r.Place)},
		{text: or(shorter(text, style))},
	}
}
