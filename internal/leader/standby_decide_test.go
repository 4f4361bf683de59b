// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// begin is a time of the other controllers, whose clock is not that of this process.
var begin = time.Date(1999, 1, 2, 3, 4, 5, 0, time.UTC)

// written is a Lease as a controller that does not lead writes it.
func written(namespace string) Lease {
	return Lease{Namespace: namespace, Holder: namespace + "-1", Acquired: begin, Renewed: begin, Duration: 35 * time.Second}
}

// renewed is the Lease of a controller that leads.
func renewed(namespace string) Lease {
	l := written(namespace)
	l.Renewed = begin.Add(time.Second)
	return l
}

func free(namespace string) Lease {
	l := renewed(namespace)
	l.Holder = ""
	return l
}

// TestDecide: a controller leads if no other Lease is held, by its own clock.
func TestDecide(t *testing.T) {
	t.Parallel()
	endless := renewed("a")
	endless.Duration = 1000 * time.Hour
	const own = "m"
	for name, tc := range map[string]struct {
		reason string
		others []Lease
		// ago is how long the Leases have been unchanged.
		ago  time.Duration
		want Decision
	}{
		"Alone":       {reason: "the own Lease is the only one", want: Decision{Lead: true, Keep: true}},
		"Free":        {reason: "a Lease that was released is no obstacle", others: []Lease{free("a"), free("z")}, want: Decision{Lead: true, Keep: true}},
		"RenewedLow":  {reason: "another controller leads", others: []Lease{renewed("a")}, want: Decision{For: renewed("a")}},
		"RenewedHigh": {reason: "the order does not count if the other one leads", others: []Lease{renewed("z")}, want: Decision{For: renewed("z")}},
		"WrittenLow":  {reason: "the namespace that sorts first keeps its Lease", others: []Lease{written("a")}, want: Decision{For: written("a")}},
		"WrittenHigh": {reason: "the other one will release its Lease", others: []Lease{written("z")}, want: Decision{Keep: true, For: written("z")}},
		"Both": {
			reason: "one that leads counts before one that does not", others: []Lease{written("y"), renewed("z")},
			want: Decision{For: renewed("z")},
		},
		"Almost":   {reason: "a Lease is held for its duration", others: []Lease{renewed("a")}, ago: 35*time.Second - 1, want: Decision{For: renewed("a")}},
		"Expired":  {reason: "a Lease whose holder stopped is no obstacle", others: []Lease{renewed("a")}, ago: 35 * time.Second, want: Decision{Lead: true, Keep: true}},
		"Endless":  {reason: "a Lease cannot be held for longer than the limit", others: []Lease{endless}, ago: maxDuration, want: Decision{Lead: true, Keep: true}},
		"Endless2": {reason: "a long Lease is held up to the limit", others: []Lease{endless}, ago: maxDuration - 1, want: Decision{For: endless}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Now()
			var others []Observed
			for _, l := range tc.others {
				others = append(others, Observed{Lease: l, Since: now.Add(-tc.ago)})
			}
			if diff := cmp.Diff(tc.want, DecideStandby(own, others, now)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestObservations: a Lease counts as observed when its content was found first, and one that was
// deleted is forgotten.
func TestObservations(t *testing.T) {
	t.Parallel()
	now, all := time.Now(), observations{}
	since := func(after time.Duration, present ...Lease) time.Duration {
		t.Helper()
		found := all.update(present, now.Add(after))
		if len(found) != len(present) || len(all) != len(present) {
			t.Fatalf("%d Leases of %d, %d are stored", len(found), len(present), len(all))
		}
		if len(found) == 0 {
			return -1
		}
		return found[0].Since.Sub(now)
	}
	for i, step := range []struct {
		present []Lease
		want    time.Duration
	}{
		{[]Lease{written("a")}, 0},
		{[]Lease{written("a")}, 0},
		{[]Lease{renewed("a")}, 2},
		{[]Lease{renewed("a")}, 2},
		{nil, -1},
		{[]Lease{renewed("a")}, 5},
		{[]Lease{free("a")}, 6},
	} {
		if got := since(time.Duration(i), step.present...); got != step.want {
			t.Errorf("step %d: observed at %d, want %d", i, got, step.want)
		}
	}
}
