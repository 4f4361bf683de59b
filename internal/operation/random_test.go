// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operation_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/internal/operation"
	"github.com/pintle-dev/pintle/internal/status"
)

// events are the script lines from which random runs are made.
func events() []string {
	return []string{
		"reconcile", "reconcile", "reconcile", "reconcile", "reconcile", "reconcile", "reconcile die=before", "reconcile die=status", "reconcile die=half", "run", "run",
		"action upgrade", "action none", "pending revision 4 is pending-upgrade", "pending none", "other locks", "other unlocks", "other removed",
		"missing Secret a", "missing none", "dryrun JobRefused", "dryrun none", "obstacle AccessDenied", "obstacle none",
		"approver ReleasePolicy/ops", "approver none", "approve sha256:3", "approve none",
		"target unresolved", "target gone", "target deleting", "target ok", "target ok", "refused HookNotFound", "refused none",
		"job starts", "job starts", "job starts", "job succeeds", "job fails exit=1", "job fails exit=2 pods=live", "job fails reason=DeadlineExceeded pods=gone",
		"job removed", "job removed pods=live", "job suspended", "job deleting", "collected", "pods end", "lock-removed", "plan steps=2 revision=4", "plan steps=2 revision=3",
		"unread ClusterUnreachable", "unread none", "undeleted denied", "undeleted none",
		"request other", "answer p1", "answer p1", "answer p2", "answer p1 failed", "applied", "no-plan",
		"advance 1m", "advance 5m", "advance 20m", "cancel", "delete",
	}
}

// playRandom plays the lines and then resolves all obstacles. The Operation must end and leave no
// objects behind. The world checks its invariants after each line.
func playRandom(w *world, lines []string) (played []string, err error) {
	quiet := []string{
		"target ok", "action none", "pending none", "other unlocks", "missing none", "dryrun none", "obstacle none", "refused none", "unread none", "undeleted none", "approver none",
		"collected", "pods end", "run", "job succeeds", "run", "job succeeds", "run", "pods end", "run", "advance 3h", "run", "pods end", "run", "pods end", "run", "expired", "run",
	}
	for _, line := range append(lines, quiet...) {
		played = append(played, line)
		if err := w.do(line); err != nil {
			return played, err
		}
	}
	return played, nil
}

// TestRandom: an Operation ends and cleans up after random events.
func TestRandom(t *testing.T) {
	all, rounds := events(), 400
	if testing.Short() {
		rounds = 200
	}
	ends := map[opsv1alpha1.OperationPhase]int{}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 0))
		w := newWorld()
		if seed%3 == 0 {
			w.spec.Parameters = &opsv1alpha1.Parameters{Event: "pre-upgrade"}
			w.setPlan(2, 3)
		}
		if seed%5 == 1 {
			w.setNext(map[string]string{"skip": ""})
		}
		var lines []string
		if seed%2 == 0 {
			lines = []string{"elsewhere far"}
		}
		for range 5 + r.IntN(25) {
			line := all[r.IntN(len(all))]
			if (line == "cancel" || line == "delete") && r.IntN(4) > 0 {
				continue
			}
			lines = append(lines, line)
		}
		played, err := playRandom(w, lines)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s\n----\n%s", seed, err, strings.Join(played, "\n"), w.take())
		}
		ends[w.status.Phase]++
		if !w.gone && (!w.settled || !w.status.Phase.Final()) || w.holder == opUID {
			t.Fatalf("seed %d: %s, settled %v, locked by %q\n%s\n----\n%s", seed, w.status.Phase, w.settled, w.holder, strings.Join(played, "\n"), w.take())
		}
	}
	for _, p := range []opsv1alpha1.OperationPhase{opsv1alpha1.PhaseSucceeded, opsv1alpha1.PhaseFailed, opsv1alpha1.PhaseCancelled} {
		if ends[p] < rounds/40 {
			t.Errorf("only %d of %d end as %s", ends[p], rounds, p)
		}
	}
}

// FuzzLife: an Operation ends and cleans up after events that the fuzzer selects.
func FuzzLife(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 31, 34})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		w, all := newWorld(), events()
		var lines []string
		for _, b := range bytes[:min(len(bytes), 60)] {
			lines = append(lines, all[int(b)%len(all)])
		}
		if played, err := playRandom(w, lines); err != nil {
			t.Fatalf("%v\n%s\n----\n%s", err, strings.Join(played, "\n"), w.take())
		}
		if w.holder == opUID {
			t.Errorf("the lock stays:\n%s", strings.Join(lines, "\n"))
		}
	})
}

// FuzzDecide: arbitrary facts lead to one deterministic decision, and a final status stays.
func FuzzDecide(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"Recorded":{"phase":"Succeeded"},"LockedReleases":["web"]}`,
		`{"Spec":{"engine":"helmHookJob"},"Target":{"HelmRelease":"web"},"Plan":{"Made":true}}`,
		`{"Recorded":{"phase":"Running","outputs":{"jobs":[{"uid":"1","phase":"Running"}]}},"Jobs":[{"UID":"1","Failed":true,"Complete":true}]}`,
		`{"Spec":{"engine":"helmHookJob","parameters":{"event":"test","activeDeadlineSeconds":-9223372036854775808}},"Timeout":-1,"Object":{"Finalizer":true},"LockedReleases":["web"],"Target":{"HelmRelease":"web"},"Plan":{"Made":true,"Steps":[{"Job":"a"}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var in operation.Input
		if json.Unmarshal(raw, &in) != nil {
			return
		}
		d := operation.Decide(in)
		if again := operation.Decide(in); !cmp.Equal(d, again) {
			t.Errorf("the same input, another decision: %s", cmp.Diff(d, again))
		}
		if d.Action == nil || d.Rule == "" || d.Phase == "" {
			t.Errorf("no decision: %+v", d)
		}
		if in.Recorded.Phase.Final() && d.Phase != in.Recorded.Phase {
			t.Errorf("%s became %s", in.Recorded.Phase, d.Phase)
		}
		r := status.Operation(d, in)
		if in.Recorded.Phase.Final() && !cmp.Equal(withoutBlocked(r.Status), withoutBlocked(in.Recorded)) {
			t.Errorf("a final status changed: %s", cmp.Diff(in.Recorded, r.Status))
		}
		// Conditions are output and must not influence a decision.
		blind := in
		blind.Recorded.Conditions = nil
		if other := operation.Decide(blind); !cmp.Equal(d, other) {
			t.Errorf("conditions changed the decision: %s", cmp.Diff(d, other))
		}
	})
}

// TestInputIsPlainData: an Input holds no function, channel or interface, so that a decision cannot
// perform I/O.
func TestInputIsPlainData(t *testing.T) {
	seen := map[reflect.Type]bool{reflect.TypeFor[time.Time](): true, reflect.TypeFor[metav1.Time](): true}
	var walk func(typ reflect.Type, path string)
	walk = func(typ reflect.Type, path string) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		switch typ.Kind() {
		case reflect.Func, reflect.Chan, reflect.Interface, reflect.UnsafePointer:
			t.Errorf("%s is a %s", path, typ)
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(typ.Elem(), path+"[]")
		case reflect.Struct:
			for f := range typ.Fields() {
				if !f.IsExported() {
					t.Errorf("%s.%s is not exported: JSON would lose it", path, f.Name)
				}
				walk(f.Type, path+"."+f.Name)
			}
		}
	}
	walk(reflect.TypeFor[operation.Input](), "Input")
}

// TestInputSurvivesJSON: an Input that was written as JSON leads to the same decision.
func TestInputSurvivesJSON(t *testing.T) {
	w := newWorld()
	for _, line := range []string{"run", "job fails exit=3 reason=OOMKilled"} {
		if err := w.do(line); err != nil {
			t.Fatal(err)
		}
	}
	in := w.input()
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var back operation.Input
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(operation.Decide(in), operation.Decide(back)); diff != "" {
		t.Errorf("the decision changed (-before +after):\n%s", diff)
	}
}

// TestRulesMatchDocument: the table in docs/spec/operations.md lists the rules in their order.
func TestRulesMatchDocument(t *testing.T) {
	raw, err := os.ReadFile("../../docs/spec/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(raw), "\n## The rules\n")
	if !found {
		t.Fatal("the document has no section The rules")
	}
	section, _, _ := strings.Cut(rest, "\n## ")
	var documented []operation.Rule
	for line := range strings.SplitSeq(section, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 5 {
			continue
		}
		if name, ok := strings.CutPrefix(strings.TrimSpace(cells[2]), "`"); ok {
			documented = append(documented, operation.Rule(strings.TrimSuffix(name, "`")))
		}
	}
	if diff := cmp.Diff(operation.Rules(), documented); diff != "" {
		t.Errorf("docs/spec/operations.md lists other rules (-code +document):\n%s", diff)
	}
}
