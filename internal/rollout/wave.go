// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/policy"
)

// State is the state of a release in a wave.
type State string

// The states.
const (
	// Waits has not begun. It may not know yet that it will.
	Waits State = "Waiting"
	// Runs is installed, upgraded or tested. Bakes is watched after that.
	Runs  State = "Running"
	Bakes State = "Baking"
	// Failed has failed and counts. Passed has failed before the rollout was resumed, or was not
	// repeated yet.
	Failed State = "Failed"
	Passed State = "Passed"
	// Done has the chart, or the values.
	Done State = "Done"
	// Paused is suspended, or held at a revision.
	Paused State = "Suspended"
)

// Wave is the releases that a policy selects and that take the same new input.
type Wave struct {
	Policy policy.Rollout
	Input  Input
	// Stages is the number of stages.
	Stages int
	// Places are the releases in the order in which they may start: by stage, namespace and name.
	Places []Place
	// MaxFailed is how many releases may fail. Failures are the ones that have failed.
	MaxFailed int
	Failures  []*Member

	key   string
	index map[string]int
	// moving counts the releases that move. open is the first stage with a release that has not
	// finished.
	moving, open int
}

// Place is a release in a wave.
type Place struct {
	*Member
	// Stage is the number of the stage, from 0.
	Stage int
	State State
	// begun is true if it has begun: stages and a halt no longer hold it. late is true if it does not
	// know the input yet.
	begun, late bool
}

// WaveOf returns the wave of an input. stages are the stages of members.
func WaveOf(p policy.Rollout, input Input, stages Stages, members []Member) *Wave {
	key := input.Key()
	w := &Wave{Policy: p, Input: input, key: key, Stages: stages.Count, MaxFailed: max(int(p.MaxFailed), 1), open: stages.Count}
	from := origins(input, members)
	for i := range members {
		m := &members[i]
		moves := m.moves(key)
		late := m.expects(key, from)
		wants := late || m.takes(key) || m.Values == nil && m.wantsKey == "" && m.began(key)
		if m.Outside || !moves && (!wants || m.Deleted) {
			continue
		}
		place := Place{Member: m, Stage: stages.of[m.Key()], begun: m.began(key) || m.between, late: late}
		switch failed := m.failed(key, p.Resumed); {
		case moves && m.bakes:
			place.State = Bakes
		case moves:
			place.State = Runs
		case failed:
			place.State = Failed
		case m.done(key):
			place.State = Done
		case m.Paused:
			place.State = Paused
		case m.tried(key):
			place.State = Passed
		default:
			place.State = Waits
		}
		if m.failed(key, p.Resumed) {
			w.Failures = append(w.Failures, m)
		}
		if moves {
			w.moving++
		}
		if moves || place.State == Waits {
			w.open = min(w.open, place.Stage)
		}
		w.Places = append(w.Places, place)
	}
	slices.SortFunc(w.Places, func(a, b Place) int {
		return cmp.Or(a.Stage-b.Stage, strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	slices.SortFunc(w.Failures, func(a, b *Member) int { return strings.Compare(a.Key(), b.Key()) })
	w.index = make(map[string]int, len(w.Places))
	for i := range w.Places {
		w.index[w.Places[i].Key()] = i
	}
	return w
}

// Halted reports whether so many releases have failed that no other one may start.
func (w *Wave) Halted() bool { return len(w.Failures) >= w.MaxFailed }

// Moving returns the number of releases that are installed, upgraded, tested or watched.
func (w *Wave) Moving() int { return w.moving }

// Index returns the place of a release in the wave, from 0; false if it has none.
func (w *Wave) Index(key string) (int, bool) {
	i, is := w.index[key]
	return i, is
}

// Turn is the result of asking whether a release may start.
type Turn struct {
	Free bool
	// Halted is true if a halt holds it.
	Halted bool
	// Why is the sentence for users that states why it waits. It is stable while the states of the
	// wave that decide do not change.
	Why string
}

// Turn reports whether a release of the wave may start its action.
func (w *Wave) Turn(key string) Turn {
	i, is := w.index[key]
	if !is {
		// Its source has another chart by now. The next reconciliation sees that, too.
		return Turn{Why: fmt.Sprintf("%s: the release is in no wave of %s yet", w.Policy.Policy, w.Input)}
	}
	p := &w.Places[i]
	full := w.Policy.MaxConcurrent > 0 && w.moving >= int(w.Policy.MaxConcurrent)
	switch {
	case p.moves(w.key):
		// It has a place already: its action was cut off, or it is installed anew.
		return Turn{Free: true}
	case !p.begun && w.Halted():
		return Turn{Halted: true, Why: fmt.Sprintf("%s halts %s: %s; %s", w.Policy.Policy, w.Input, w.halt(), w.place(i, ""))}
	case !p.begun && w.open < p.Stage:
		return Turn{Why: fmt.Sprintf("%s: %s%s", w.Policy.Policy, w.place(i, fmt.Sprintf(" for %s", w.Input)), w.obstacle(p.Stage))}
	case full:
		return Turn{Why: fmt.Sprintf("%s: %s", w.Policy.Policy, w.place(i, fmt.Sprintf(" for %s", w.Input)))}
	}
	return Turn{Free: true}
}

// Take gives a place to a release, as if it had started.
func (w *Wave) Take(key string) {
	i, is := w.index[key]
	if !is || w.Places[i].moves(w.key) {
		return
	}
	w.moving++
	w.open = min(w.open, w.Places[i].Stage)
}

func (w *Wave) place(i int, of string) string {
	text := fmt.Sprintf("place %d of %d%s", i+1, len(w.Places), of)
	if w.Stages > 1 {
		text += fmt.Sprintf(", stage %d of %d", w.Places[i].Stage+1, w.Stages)
	}
	return text
}

// halt states which release has failed, and why.
func (w *Wave) halt() string {
	first := w.Failures[0]
	text := first.Key() + " failed"
	if first.cause != "" {
		text += ": " + first.cause
	}
	if n := len(w.Failures) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d others)", n)
	}
	return text
}

// obstacle names what a user may not expect of earlier stages: a cycle of dependencies, which would never
// finish, and a release that does not know the input yet.
func (w *Wave) obstacle(stage int) string {
	var before []*Member
	late := ""
	for i := range w.Places {
		if p := &w.Places[i]; p.Stage < stage && p.State == Waits {
			before = append(before, p.Member)
			if p.late && late == "" {
				late = p.Key()
			}
		}
	}
	if found := cycle(before); found != "" {
		return "; an earlier stage cannot finish, because releases depend on each other: " + found
	}
	switch {
	case late == "":
		return ""
	case w.Input.Object != "":
		return fmt.Sprintf("; %s of an earlier stage has not read these values yet", late)
	}
	return fmt.Sprintf("; the source of %s, of an earlier stage, does not have this chart yet", late)
}

// origins returns what the input comes from for the members that want it.
func origins(input Input, members []Member) map[string]bool {
	if input.Object != "" {
		return map[string]bool{input.Object: true}
	}
	from := map[string]bool{}
	for i := range members {
		if m := &members[i]; !m.Outside && m.takes(input.Key()) {
			for _, f := range m.From {
				from[f] = true
			}
		}
	}
	return from
}

// Inputs returns the inputs of which there are waves among members: the wanted ones, and inputs of
// releases that move or have failed with them. Each is named as its first member has it. An object counts
// if the values of several members come from it.
func Inputs(members []Member, resumed time.Time) []Input {
	found := map[string]Input{}
	add := func(c Input) {
		if key := c.Key(); key != "" {
			if _, has := found[key]; !has {
				found[key] = c
			}
		}
	}
	users := map[string]int{}
	for i := range members {
		m := &members[i]
		switch {
		case m.Outside:
		case m.Values == nil:
			add(m.Wants)
		default:
			for _, object := range m.From {
				if users[object]++; users[object] == 2 {
					add(Input{Object: object})
				}
			}
		}
	}
	for i := range members {
		m := &members[i]
		if m.Outside || m.Values != nil {
			continue
		}
		for _, c := range []Input{m.triedChart, m.hasChart} {
			if m.moves(c.Key()) || m.failed(c.Key(), resumed) || m.wantsKey == "" {
				add(c)
			}
		}
	}
	all := make([]Input, 0, len(found))
	for _, c := range found {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Input) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Version, b.Version), strings.Compare(a.Key(), b.Key()))
	})
	return all
}
