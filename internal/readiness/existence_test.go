// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"fmt"
	"strings"
	"testing"
)

func TestObserve(t *testing.T) {
	t.Parallel()
	at := func(source Source, uid, version string) Observation {
		return Observation{Source: source, UID: uid, Version: version}
	}
	deleted := func(d Deletion) Observation {
		return Observation{Source: Delete, UID: "a", Version: "10", Deletion: d}
	}
	absent := func(source Source) Observation { return Observation{Source: source, Absent: true} }
	gap := Observation{Source: Gap}
	cases := map[string]struct {
		reason string
		seen   []Observation
		// newer is what the last observation returns.
		newer bool
		want  Existence
		gone  bool
	}{
		"Nothing":           {"without an observation the object has to be read", nil, false, Unknown, false},
		"Written":           {"a written object exists", []Observation{at(Write, "a", "10")}, true, Present, false},
		"Event":             {"a later event is news", []Observation{at(Write, "a", "10"), at(Changed, "a", "11")}, true, Present, false},
		"StaleEvent":        {"an earlier event is not", []Observation{at(Write, "a", "10"), at(Changed, "a", "9")}, false, Present, false},
		"SameEvent":         {"nor is that of the write itself", []Observation{at(Write, "a", "10"), at(Changed, "a", "10")}, false, Present, false},
		"Longer":            {"versions are numbers", []Observation{at(Write, "a", "9"), at(Changed, "a", "10")}, true, Present, false},
		"OldIncarnation":    {"an event of the object that had the name before is stale", []Observation{at(Write, "b", "10"), at(Changed, "a", "8")}, false, Present, false},
		"OldRemoval":        {"so is its removal", []Observation{at(Write, "b", "10"), at(Removed, "a", "9")}, false, Present, false},
		"Removal":           {"a removal may be a lost label, and has to be read", []Observation{at(Write, "a", "10"), at(Removed, "a", "11")}, true, Unknown, false},
		"RemovalRead":       {"the read confirms it", []Observation{at(Write, "a", "10"), at(Removed, "a", "11"), absent(Read)}, true, Absent, true},
		"LabelRead":         {"or the read finds the object", []Observation{at(Write, "a", "10"), at(Removed, "a", "11"), at(Read, "a", "11")}, true, Present, false},
		"Successor":         {"an object that another one has replaced is gone", []Observation{at(Write, "a", "10"), at(Changed, "b", "12")}, true, Present, true},
		"SuccessorRead":     {"also if the other one was read", []Observation{at(Write, "a", "10"), at(Read, "b", "12")}, true, Present, true},
		"SuccessorRemoved":  {"and stays gone", []Observation{at(Write, "a", "10"), at(Changed, "b", "12"), at(Removed, "b", "13")}, true, Unknown, true},
		"GoneForGood":       {"an event that was queued before the read does not bring an object back", []Observation{at(Write, "a", "10"), absent(Read), at(Changed, "a", "11")}, false, Absent, true},
		"GoneRemoval":       {"nor has its removal to be confirmed once more", []Observation{at(Write, "a", "10"), absent(Read), at(Removed, "a", "12")}, false, Absent, true},
		"AfterGone":         {"another object of the name is news", []Observation{at(Write, "a", "10"), absent(Read), at(Changed, "b", "13")}, true, Present, true},
		"NeverSeen":         {"an object that was never observed is gone if it is absent", []Observation{absent(Read)}, true, Absent, true},
		"NeverSeenNow":      {"but not for ever", []Observation{absent(Read), at(Changed, "a", "10")}, true, Present, false},
		"NotFound":          {"a delete that finds nothing is done", []Observation{absent(Delete)}, true, Absent, true},
		"Held":              {"a finalizer or grace period keeps the object", []Observation{deleted(Deletion{Marked: true, Held: true, Core: true})}, true, Present, false},
		"Ended":             {"the answer for a Pod that has ended proves nothing", []Observation{deleted(Deletion{Marked: true, Core: true})}, true, Unknown, false},
		"EndedRead":         {"the read confirms the removal", []Observation{deleted(Deletion{Marked: true, Core: true}), absent(Read)}, true, Absent, true},
		"EndedStill":        {"the read may find it at the same version", []Observation{deleted(Deletion{Marked: true, Core: true}), at(Read, "a", "10")}, true, Present, false},
		"EndedEvent":        {"an earlier event of that object changes nothing", []Observation{deleted(Deletion{Marked: true, Core: true}), at(Changed, "a", "9")}, false, Unknown, false},
		"Unmarked":          {"a core kind that is answered unmarked is gone", []Observation{deleted(Deletion{Core: true})}, true, Absent, true},
		"Elsewhere":         {"after the answer of another server the object has to be read", []Observation{deleted(Deletion{})}, true, Unknown, false},
		"Gap":               {"after a gap it has to be read", []Observation{at(Write, "a", "10"), gap}, true, Unknown, false},
		"GapStale":          {"an event from before the gap does not replace the read", []Observation{at(Write, "a", "10"), gap, at(Changed, "a", "9")}, false, Unknown, false},
		"GapEvent":          {"an event from after the gap replaces the read", []Observation{at(Write, "a", "10"), gap, at(Changed, "a", "12")}, true, Present, false},
		"LaggingRead":       {"a read of an older state is ignored", []Observation{at(Write, "a", "10"), gap, at(Read, "a", "9")}, false, Unknown, false},
		"UnknownVersions":   {"versions that are no numbers are news if they differ", []Observation{at(Write, "a", "x"), at(Changed, "a", "y")}, true, Present, false},
		"SameUnknown":       {"and not if they are equal", []Observation{at(Write, "a", "x"), at(Changed, "a", "x")}, false, Present, false},
		"UnknownRead":       {"a read counts whatever its version", []Observation{at(Write, "a", "y"), gap, at(Read, "a", "x")}, true, Present, false},
		"WithoutUID":        {"objects without UID count as the same", []Observation{at(Write, "", "10"), at(Changed, "", "11")}, true, Present, false},
		"WithoutUIDGone":    {"and gone if absent", []Observation{at(Write, "", "10"), absent(Read)}, true, Absent, true},
		"UnknownSource":     {"an unknown source is no news", []Observation{{Source: Source(99)}}, false, Unknown, false},
		"ForeignRemovalToo": {"the removal of a successor has to be read", []Observation{at(Write, "a", "10"), at(Removed, "b", "12")}, true, Unknown, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var k Known
			newer := false
			for _, o := range tc.seen {
				newer = k.Observe(o)
			}
			if newer != tc.newer || k.Existence() != tc.want || k.TargetGone() != tc.gone || k.MustRead() != (tc.want == Unknown) {
				t.Errorf("%s: newer %t, existence %v, target gone %t, want %t, %v, %t",
					tc.reason, newer, k.Existence(), k.TargetGone(), tc.newer, tc.want, tc.gone)
			}
		})
	}
}

func TestConcerns(t *testing.T) {
	t.Parallel()
	var k Known
	if !k.Concerns(Observation{UID: "a"}) || k.Target() != "" {
		t.Error("before the first observation, every observation concerns the object")
	}
	k.Observe(Observation{Source: Write, UID: "a", Version: "1"})
	k.Observe(Observation{Source: Changed, UID: "b", Version: "2"})
	if !k.Concerns(Observation{UID: "a"}) || k.Concerns(Observation{UID: "b"}) || !k.Concerns(Observation{}) || k.Target() != "a" {
		t.Errorf("the target is %q", k.Target())
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b            string
		order           int
		notAfter, after bool
	}{
		{"9", "10", -1, true, false},
		{"10", "9", 1, false, true},
		{"7", "7", 0, true, false},
		{"x", "x", 0, true, false},
		{"x", "7", 0, false, false},
	} {
		if got := Compare(tc.a, tc.b); got != tc.order {
			t.Errorf("Compare(%s, %s) is %d", tc.a, tc.b, got)
		}
		if NotAfter(tc.a, tc.b) != tc.notAfter || After(tc.a, tc.b) != tc.after {
			t.Errorf("NotAfter(%s, %s) is %t, After %t", tc.a, tc.b, NotAfter(tc.a, tc.b), After(tc.a, tc.b))
		}
	}
}

// moment is one state of a name in the storage of an API server.
type moment struct {
	uid, version string
	// removed is true if the object of that UID was removed at that version.
	removed bool
}

// history is everything that happens to a name.
func history() []moment {
	return []moment{
		{"a", "1", false},
		{"a", "2", false},
		{"a", "3", true},
		{"b", "5", false},
		{"b", "9", false},
		{"b", "10", true},
		{"c", "12", false},
	}
}

// run is one order in which a name changes, is observed first, and is followed.
type run struct {
	known Known
	// stored is how many moments have happened, first the one that was observed first.
	stored, first int
	// delivered is the next moment that the watch delivers.
	delivered int
	reads     int
	trace     []string
}

func (r run) now() moment { return history()[r.stored-1] }

func (r *run) observe(o Observation) {
	r.known.Observe(o)
	r.trace = append(r.trace, fmt.Sprintf("%+v: %+v", o, r.known))
}

// read does the same as a waiter does for an object of unknown state.
func (r *run) read() {
	r.reads++
	o := Observation{Source: Read, Absent: r.now().removed}
	if !o.Absent {
		o.UID, o.Version = r.now().uid, r.now().version
	}
	r.observe(o)
}

// check compares the known state with the stored state.
func (r run) check(t *testing.T) {
	t.Helper()
	now, target := r.now(), history()[r.first].uid
	if r.known.TargetGone() && !now.removed && now.uid == target {
		t.Fatalf("the object exists, but counts as gone:\n%s", strings.Join(r.trace, "\n"))
	}
	if r.delivered < len(history()) || r.stored < len(history()) {
		return
	}
	if r.reads > 3 {
		t.Fatalf("%d reads for two removals and the first answer:\n%s", r.reads, strings.Join(r.trace, "\n"))
	}
	// Everything has happened and was delivered.
	if r.known.MustRead() {
		r.read()
	}
	want := Present
	if now.removed {
		want = Absent
	}
	if r.known.Existence() != want || r.known.TargetGone() != (now.removed || now.uid != target) || !now.removed && r.known.version != now.version {
		t.Fatalf("the known state in the end is %+v, of %+v:\n%s", r.known, now, strings.Join(r.trace, "\n"))
	}
}

// TestEveryOrder: the known state never reports an existing object as gone, and agrees with the
// stored state in the end. It plays every order in which a name changes and a waiter observes it:
// the answer to a write or delete comes first, then the waiter joins a watch that lags by any
// number of events. At most one read follows each removal, and one the first answer.
func TestEveryOrder(t *testing.T) {
	t.Parallel()
	n := 0
	var play func(r run)
	play = func(r run) {
		n++
		r.check(t)
		more := func(next run) {
			next.trace = append([]string(nil), next.trace...)
			play(next)
		}
		if r.stored < len(history()) {
			next := r
			next.stored++
			more(next)
		}
		if r.delivered < r.stored {
			next := r
			m := history()[r.delivered]
			source := Changed
			if m.removed {
				source = Removed
			}
			next.delivered++
			next.observe(Observation{Source: source, UID: m.uid, Version: m.version})
			more(next)
		}
		if r.known.MustRead() {
			next := r
			next.read()
			more(next)
		}
	}
	for first, m := range history() {
		for joined := 0; joined <= first+1; joined++ {
			answers := []Observation{{Source: Write, UID: m.uid, Version: m.version}, {Source: Delete, UID: m.uid, Version: m.version, Deletion: Deletion{Marked: true, Held: true}}}
			if m.removed {
				answers = []Observation{{Source: Delete, UID: m.uid, Version: m.version, Deletion: Deletion{Marked: true, Core: true}}}
			}
			for _, answer := range answers {
				r := run{stored: first + 1, first: first, delivered: joined}
				r.observe(answer)
				play(r)
			}
		}
	}
	if n < 10000 {
		t.Errorf("only %d states were played", n)
	}
	t.Logf("%d states", n)
}
