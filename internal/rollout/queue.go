// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"slices"
	"strings"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/policy"
)

// Fleet returns the HelmReleases as members of a policy, with their stages.
type Fleet func(policy.Rollout) ([]Member, Stages)

// Queue has the releases that wait for their turn in this process, and what status does not show yet. It
// decides nothing that another process would decide otherwise: status has the rest. It is not safe for
// concurrent use.
type Queue struct {
	// starts has the key of the chart of each release that has got a turn, until its action is announced.
	starts  map[string]string
	waits   map[string]waiter
	written map[string]written
}

// waiter is a release that has asked for a turn and did not get it.
type waiter struct {
	chart    Chart
	rollouts []policy.Rollout
	halted   bool
}

// written is a status that the cache may not have yet.
type written struct {
	// replaced is the version of the HelmRelease that the write replaced.
	replaced string
	hr       *helmv2.HelmRelease
}

// Ask reports whether a release may start an action that takes a chart. It has the turn then until End.
func (q *Queue) Ask(key string, chart Chart, rollouts []policy.Rollout, fleet Fleet) Turn {
	turn := Turn{Free: true}
	put(&q.waits, key, waiter{chart: chart})
	for _, r := range rollouts {
		if turn = q.wave(r, chart, fleet).Turn(key); !turn.Free {
			break
		}
	}
	if turn.Free {
		delete(q.waits, key)
		put(&q.starts, key, chart.Key())
	} else {
		put(&q.waits, key, waiter{chart, rollouts, turn.Halted})
	}
	return turn
}

func (q *Queue) wave(r policy.Rollout, chart Chart, fleet Fleet) *Wave {
	members, stages := fleet(r)
	return WaveOf(r, chart, stages, members)
}

// Begin starts a reconciliation of a release: it does not wait unless it asks again.
func (q *Queue) Begin(key string) (waited bool) {
	_, waited = q.waits[key]
	delete(q.waits, key)
	return waited
}

// End ends a reconciliation. The release no longer has its turn: either its action is announced, or it
// has not started. It reports whether others may have a turn now.
func (q *Queue) End(key string, waited bool) bool {
	_, had := q.starts[key]
	_, waits := q.waits[key]
	delete(q.starts, key)
	return had || waited && !waits
}

// Wrote records a status that this process has written.
func (q *Queue) Wrote(key, replaced string, hr *helmv2.HelmRelease) {
	put(&q.written, key, written{replaced, hr})
}

// Newest returns the newest known state of a HelmRelease that comes from a cache.
func (q *Queue) Newest(key string, cached *helmv2.HelmRelease) *helmv2.HelmRelease {
	w, has := q.written[key]
	switch {
	case !has:
	case w.replaced == cached.ResourceVersion:
		return w.hr
	default:
		delete(q.written, key)
	}
	return cached
}

// Forget drops all that is known of a release.
func (q *Queue) Forget(key string) {
	delete(q.starts, key)
	delete(q.waits, key)
	delete(q.written, key)
}

// Received drops the written status of a release that the cache has received.
func (q *Queue) Received(key, version string) {
	if w, has := q.written[key]; has && w.hr.ResourceVersion == version {
		delete(q.written, key)
	}
}

// Asked returns the chart for which a release asks or waits; zero if it does neither.
func (q *Queue) Asked(key string) Chart { return q.waits[key].chart }

// Starts returns the key of the chart that a release has a turn for; empty if there is none.
func (q *Queue) Starts(key string) string { return q.starts[key] }

// Waiting reports whether a release waits.
func (q *Queue) Waiting() bool { return len(q.waits) > 0 }

// Next returns the releases that may have a turn now, in order, and those whose halt has begun or ended.
// The places of those that may start count as taken.
func (q *Queue) Next(fleet Fleet) []string {
	type candidate struct {
		key   string
		place int
		waiter
		waves []*Wave
	}
	waves := map[string]*Wave{}
	all := make([]candidate, 0, len(q.waits))
	for key, w := range q.waits {
		c := candidate{key: key, waiter: w}
		for i, r := range w.rollouts {
			id := r.Namespace + "/" + r.Policy + "/" + w.chart.Key()
			if waves[id] == nil {
				waves[id] = q.wave(r, w.chart, fleet)
			}
			if i == 0 {
				c.place, _ = waves[id].Index(key)
			}
			c.waves = append(c.waves, waves[id])
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Or(a.place-b.place, strings.Compare(a.key, b.key)) })
	var next []string
	for _, c := range all {
		turn := Turn{Free: true}
		for _, w := range c.waves {
			if turn = w.Turn(c.key); !turn.Free {
				break
			}
		}
		if turn.Free {
			for _, w := range c.waves {
				w.Take(c.key)
			}
		}
		if turn.Free || turn.Halted != c.halted {
			next = append(next, c.key)
		}
	}
	return next
}

func put[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = value
}
