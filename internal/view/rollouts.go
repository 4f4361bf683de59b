// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"
	"time"

	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/rollout"
)

// Rollout is one wave: a new chart or new values that spread over the releases of a policy.
type Rollout struct {
	// Policy is "<kind>/<name>". Namespace is empty for a ClusterReleasePolicy.
	Policy    string `json:"policy"`
	Namespace string `json:"namespace,omitempty"`
	// Chart names the chart, or what the values come from.
	Chart string `json:"chart"`
	// Key is the digest of the chart, or its name and version, or what the values come from.
	Key string `json:"key"`
	// Halted is true if no other release may start.
	Halted bool `json:"halted"`
	// MaxConcurrent is 0 without a limit.
	MaxConcurrent int        `json:"maxConcurrent,omitempty"`
	MaxFailed     int        `json:"maxFailed"`
	Stages        int        `json:"stages"`
	Resumed       *time.Time `json:"resumed,omitempty"`
	// Counts is the number of releases in each state.
	Counts map[rollout.State]int `json:"counts"`
	// InFlight is the number of releases that are installed, upgraded, tested or watched.
	InFlight int              `json:"inFlight"`
	Releases []RolloutRelease `json:"releases"`
}

// RolloutRelease is a release in a wave.
type RolloutRelease struct {
	Namespace string        `json:"namespace"`
	Name      string        `json:"name"`
	State     rollout.State `json:"state"`
	// Place and Stage start at 1.
	Place int `json:"place"`
	Stage int `json:"stage"`
	// Until is when its bake ends.
	Until *time.Time `json:"until,omitempty"`
	// FailedAt is when it has failed, and Cause why.
	FailedAt *time.Time `json:"failedAt,omitempty"`
	Cause    string     `json:"cause,omitempty"`
}

// Rollouts returns the waves of a policy with a rollout: those that are not finished first.
func Rollouts(p *policy.Policy, members []rollout.Member) []Rollout {
	of := policy.Rollout{Policy: p.String(), Namespace: p.Namespace, Rollout: *p.Spec.Rollout, Resumed: p.Resumed}
	stages := rollout.StagesOf(of.Order, members)
	var all []Rollout
	for _, input := range rollout.Inputs(members, of.Resumed) {
		if w := rollout.WaveOf(of, input, stages, members); len(w.Places) > 0 {
			all = append(all, rolloutOf(w))
		}
	}
	slices.SortStableFunc(all, func(a, b Rollout) int { return a.rank() - b.rank() })
	return all
}

func rolloutOf(w *rollout.Wave) Rollout {
	v := Rollout{
		Policy: w.Policy.Policy, Namespace: w.Policy.Namespace, Chart: w.Input.String(), Key: w.Input.Key(), Halted: w.Halted(),
		MaxConcurrent: int(w.Policy.MaxConcurrent), MaxFailed: w.MaxFailed, Stages: w.Stages,
		Counts: make(map[rollout.State]int), InFlight: w.Moving(), Releases: make([]RolloutRelease, 0, len(w.Places)),
	}
	if at := w.Policy.Resumed; !at.IsZero() {
		v.Resumed = &at
	}
	for i := range w.Places {
		p := &w.Places[i]
		r := RolloutRelease{Namespace: p.Namespace, Name: p.Name, State: p.State, Place: i + 1, Stage: p.Stage + 1}
		if since := p.BakesSince(); p.State == rollout.Bakes && !since.IsZero() && w.Policy.BakeTime.Duration > 0 {
			r.Until = new(since.Add(w.Policy.BakeTime.Duration))
		}
		if cause, at := p.Failure(); (p.State == rollout.Failed || p.State == rollout.Passed) && !at.IsZero() {
			r.FailedAt, r.Cause = &at, cause
		}
		v.Counts[p.State]++
		v.Releases = append(v.Releases, r)
	}
	return v
}

// Finished reports whether all releases of the wave have the chart or values, or are suspended.
func (r *Rollout) Finished() bool {
	return r.InFlight == 0 && r.Counts[rollout.Done]+r.Counts[rollout.Paused] == len(r.Releases)
}

func (r *Rollout) rank() int {
	switch {
	case r.Halted && r.Counts[rollout.Waits] > 0:
		return 0
	case r.Finished():
		return 2
	}
	return 1
}

// Notable returns the releases that are not finished, what needs a user first. Those that wait come in
// the order of their places.
func (r *Rollout) Notable() []RolloutRelease {
	order := []rollout.State{rollout.Failed, rollout.Passed, rollout.Bakes, rollout.Runs, rollout.Waits, rollout.Paused}
	var all []RolloutRelease
	for _, release := range r.Releases {
		if release.State != rollout.Done {
			all = append(all, release)
		}
	}
	slices.SortStableFunc(all, func(a, b RolloutRelease) int {
		return cmp.Or(slices.Index(order, a.State)-slices.Index(order, b.State), a.Place-b.Place)
	})
	return all
}
