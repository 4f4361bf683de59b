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
// decides nothing that another process would decide otherwise: status has the rest, and what is known of
// values each process finds by reconciling. It is not safe for concurrent use.
type Queue struct {
	// starts has the keys of the inputs of each release that has got a turn, until its action is announced.
	starts  map[string][]string
	waits   map[string]waiter
	written map[string]written
	values  map[string]*Values
}

// Ask is a turn that a release needs: the turn of an input in the wave of a policy.
type Ask struct {
	Policy policy.Rollout
	Input  Input
}

// waiter is a release that has asked for turns and did not get one of them.
type waiter struct {
	asks   []Ask
	halted bool
}

// written is a status that the cache may not have yet.
type written struct {
	// replaced is the version of the HelmRelease that the write replaced.
	replaced string
	hr       *helmv2.HelmRelease
}

// Ask reports whether a release may start an action. It has all its turns then until End.
func (q *Queue) Ask(key string, asks []Ask, fleet Fleet) Turn {
	turn := Turn{Free: true}
	put(&q.waits, key, waiter{asks: asks})
	for _, a := range asks {
		if turn = q.wave(a, fleet).Turn(key); !turn.Free {
			break
		}
	}
	if !turn.Free {
		put(&q.waits, key, waiter{asks, turn.Halted})
		return turn
	}
	delete(q.waits, key)
	var keys []string
	for _, a := range asks {
		keys = append(keys, a.Input.Key())
	}
	put(&q.starts, key, keys)
	return turn
}

func (q *Queue) wave(a Ask, fleet Fleet) *Wave {
	members, stages := fleet(a.Policy)
	return WaveOf(a.Policy, a.Input, stages, members)
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
	delete(q.values, key)
}

// Received drops the written status of a release that the cache has received.
func (q *Queue) Received(key, version string) {
	if w, has := q.written[key]; has && w.hr.ResourceVersion == version {
		delete(q.written, key)
	}
}

// Asked returns the chart for which a release asks or waits; zero if it does neither.
func (q *Queue) Asked(key string) Input {
	for _, a := range q.waits[key].asks {
		if a.Input.Object == "" {
			return a.Input
		}
	}
	return Input{}
}

// Starts returns the keys of the inputs that a release has a turn for.
func (q *Queue) Starts(key string) []string { return q.starts[key] }

// Read records the objects that the values of a release come from, as a reconciliation has read them.
// config is the digest of the values, and stored the digest that the record of a revision with them has.
// synced is true if the release is in sync with them. It reports whether anything else is known now.
func (q *Queue) Read(hr *helmv2.HelmRelease, objects []Input, config, stored string, synced bool) bool {
	key := hr.Namespace + "/" + hr.Name
	before := q.ValuesOf(key)
	digest := ""
	if w := worked(hr.Status.History); w != nil {
		digest = w.ConfigDigest
	}
	if synced {
		stored = digest
	}
	after := before.read(objects, config, stored, digest)
	put(&q.values, key, after)
	return !after.equal(before)
}

// ValuesOf returns what is known of the values of a release.
func (q *Queue) ValuesOf(key string) *Values {
	if v := q.values[key]; v != nil {
		return v
	}
	return &Values{}
}

// Fresh returns the objects whose contents a release has not worked with, of those that its values come
// from.
func (q *Queue) Fresh(key string, objects []Input) []Input { return q.ValuesOf(key).fresh(objects) }

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
		for i, a := range w.asks {
			id := a.Policy.Namespace + "/" + a.Policy.Policy + "/" + a.Input.Key()
			if waves[id] == nil {
				waves[id] = q.wave(a, fleet)
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
