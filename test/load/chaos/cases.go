// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/pintle-dev/pintle/test/harness/faultproxy"
	"github.com/pintle-dev/pintle/test/load/frame"
)

// step is a request of an action: the nth with its key, counted from 1.
type step struct {
	key        string
	occurrence int
}

func (s step) String() string { return fmt.Sprintf("%s/%d", s.key, s.occurrence) }

// recordedRequest is an observed step, and the request that it stands for.
type recordedRequest struct {
	step
	request faultproxy.Request
}

// trial is one case of mode each: one step of an action fails in one way.
type trial struct {
	action string
	step   step
	fault  faultproxy.Fault
	// alone is set for a request without a namespace, which could be any release's.
	alone bool
}

// id names a trial, so that it can be repeated.
func (t trial) id() string { return fmt.Sprintf("%s/%s/%s", t.action, t.step, t.fault) }

// trials returns all cases of an action for the requests of some runs without faults. Requests that
// only some of the runs sent are included.
func trials(action string, runs ...[]recordedRequest) []trial {
	var all []trial
	seen := map[step]bool{}
	for _, run := range runs {
		for _, s := range run {
			if seen[s.step] {
				continue
			}
			seen[s.step] = true
			for _, f := range faultproxy.FaultsFor(s.request) {
				all = append(all, trial{action: action, step: s.step, fault: f, alone: s.request.Namespace == ""})
			}
		}
	}
	return all
}

// only returns the trials whose whole names match a regular expression.
func only(all []trial, pattern *frame.Pattern) []trial {
	return slices.DeleteFunc(slices.Clone(all), func(t trial) bool { return !pattern.Matches(t.id()) })
}

// sample returns some of the trials, which the seed chooses, about as many of each action. The
// ones that take long are at most a tenth.
func sample(all []trial, n int, seed uint64) []trial {
	shuffled := slices.Clone(all)
	slices.SortFunc(shuffled, func(a, b trial) int { return cmp.Compare(a.id(), b.id()) })
	rand.New(rand.NewPCG(seed, 1)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	turns, turn, long := map[string]int{}, map[trial]int{}, 0
	shuffled = slices.DeleteFunc(shuffled, func(t trial) bool {
		if t.fault == faultproxy.Silent {
			long++
		}
		if t.fault == faultproxy.Silent && long > max(1, n/10) {
			return true
		}
		turn[t] = turns[t.action]
		turns[t.action]++
		return false
	})
	slices.SortStableFunc(shuffled, func(a, b trial) int { return cmp.Compare(turn[a], turn[b]) })
	return shuffled[:min(n, len(shuffled))]
}

// order sorts trials by how long they take, longest first, so that many wait side by side.
func order(all []trial) []trial {
	ordered := slices.Clone(all)
	slow := func(t trial) int {
		return slices.Index([]faultproxy.Fault{faultproxy.Slow, faultproxy.Silent}, t.fault)
	}
	slices.SortStableFunc(ordered, func(a, b trial) int { return cmp.Compare(slow(b), slow(a)) })
	return ordered
}

// keys returns the names of the steps of trials, for an error.
func keys(all []trial) string {
	var names []string
	for _, t := range all {
		names = append(names, t.action+"/"+t.step.String())
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), "\n")
}
