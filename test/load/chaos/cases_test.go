// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pintle-dev/pintle/test/harness/faultproxy"
	"github.com/pintle-dev/pintle/test/load/frame"
)

// requests are some of an action.
func requests() []faultproxy.Request {
	return []faultproxy.Request{
		{Verb: http.MethodPatch, Resource: "deployments", Namespace: "case-1", Name: "app"},
		{Verb: http.MethodPost, Resource: "jobs", Namespace: "case-1", Name: "app-pre-upgrade"},
		{Verb: http.MethodGet, Path: "/apis"},
	}
}

func sightings() (all []recordedRequest) {
	for _, r := range requests() {
		all = append(all, recordedRequest{step{r.Key(), 1}, r})
	}
	return all
}

// pattern returns the value of a flag with a regular expression.
func pattern(t *testing.T, text string) *frame.Pattern {
	t.Helper()
	p := &frame.Pattern{}
	if err := p.Set(text); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTrials(t *testing.T) {
	second := sightings()[0]
	second.occurrence = 2
	all := trials("upgrade", sightings(), append(sightings(), second))
	if want := 3*len(faultproxy.Faults()) - 1 + len(faultproxy.Faults()); len(all) != want {
		t.Errorf("%d cases, want %d: each step once in each way, but no conflict of a GET", len(all), want)
	}
	if got := all[0].id(); got != "upgrade/PATCH/deployments/app/1/429" {
		t.Errorf("the first is %s", got)
	}
	for _, tc := range []struct {
		pattern string
		count   int
	}{
		{"", len(all)}, {"upgrade/PATCH/deployments/app/1/lost", 1}, {"upgrade/.*/(500|lost)", 8}, {"upgrade/PATCH", 0}, {"install/.*", 0},
	} {
		if got := only(all, pattern(t, tc.pattern)); len(got) != tc.count {
			t.Errorf("ONLY=%s: %d cases, want %d", tc.pattern, len(got), tc.count)
		}
	}
	if _, err := parse([]string{"--only", "("}); err == nil {
		t.Error("ONLY=( is no error")
	}
	for _, trial := range all {
		if want := strings.HasPrefix(trial.step.key, "GET/apis"); trial.alone != want {
			t.Errorf("%s: alone is %v", trial.id(), trial.alone)
		}
	}
	if first := order(all)[0].fault; first != faultproxy.Silent {
		t.Errorf("the first to be run is %s", first)
	}
	if got := keys(all); !strings.HasPrefix(got, "upgrade/GET/apis/1\nupgrade/PATCH/deployments/app/1\n") {
		t.Errorf("keys are %s", got)
	}
}

func TestSample(t *testing.T) {
	all := trials("upgrade", sightings())
	backwards := slices.Clone(all)
	slices.Reverse(backwards)
	a, b, c := sample(all, 10, 1), sample(backwards, 10, 1), sample(all, 10, 2)
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Error("the same seed chooses other cases in another order")
	}
	if fmt.Sprint(a) == fmt.Sprint(c) || len(a) != 10 {
		t.Errorf("%d cases; another seed chooses the same", len(a))
	}
	for n := range len(all) {
		silent := 0
		for _, trial := range sample(all, n, 3) {
			if trial.fault == faultproxy.Silent {
				silent++
			}
		}
		if silent > max(1, n/10) {
			t.Errorf("%d of %d are silent", silent, n)
		}
	}
	many := append(trials("upgrade", sightings()), trials("drift", sightings()[:1])...)
	if drift := slices.DeleteFunc(sample(many, 10, 1), func(t trial) bool { return t.action != "drift" }); len(drift) != 5 {
		t.Errorf("%d of 10 cases are of the action with fewer", len(drift))
	}
	if n := len(sample(all, 1000, 1)); n > len(all) || n < len(all)-3 {
		t.Errorf("%d cases of %d", n, len(all))
	}
}

func TestSchedule(t *testing.T) {
	s := schedule{seed: 7, rate: 0.2}
	counts, all := map[faultproxy.Fault]int{}, 0
	for i := range 5000 {
		for _, r := range requests() {
			r.Namespace = fmt.Sprint("release-", i%20)
			f := s.fault(r, i/20)
			if f != s.fault(r, i/20) {
				t.Fatal("the same request fails in another way")
			}
			if !f.Fits(r) {
				t.Errorf("%s fails with %s", r.Key(), f)
			}
			counts[f]++
			all++
		}
	}
	if got := 1 - float64(counts[faultproxy.None])/float64(all); math.Abs(got-s.rate) > 0.01 {
		t.Errorf("%.3f of all requests fail, not %.3f", got, s.rate)
	}
	for _, f := range faultproxy.Faults() {
		if counts[f] == 0 {
			t.Errorf("%s never occurs", f)
		}
	}
	if counts[faultproxy.Silent] > counts[faultproxy.Lost]/10 {
		t.Errorf("%d are silent, and %d lost", counts[faultproxy.Silent], counts[faultproxy.Lost])
	}
	differ := 0
	other := schedule{seed: 8, rate: 0.2}
	for i := range 1000 {
		if r := requests()[0]; s.fault(r, i) != other.fault(r, i) {
			differ++
		}
	}
	if differ < 100 {
		t.Errorf("another seed differs %d times of 1000", differ)
	}
}

func TestTable(t *testing.T) {
	outcomes := []outcome{
		{id: "upgrade/a/1/500", groups: []string{"upgrade", "500"}, settled: true, settle: 2 * time.Second, repeat: "MODE=each ONLY='upgrade/a/1/500'"},
		{id: "upgrade/b/1/lost", groups: []string{"upgrade", "lost"}, settled: true, settle: 3 * time.Second, missed: true},
		{
			id: "install/c/1/500", groups: []string{"install", "500"}, repeat: "MODE=each ONLY='install/c/1/500'",
			deviation: deviation{failed: true, extra: 1, repeated: 2, skipped: 3, wrong: []string{"a", "b\nc"}}, faults: []string{"x", "y"},
		},
	}
	const want = `| each | cases | not reached | failed | extra revisions | hooks repeated | hooks missing | slowest settle |
|---|--:|--:|--:|--:|--:|--:|--:|
| install | 1 | 0 | 1 | 1 | 2 | 3 | -, 1 never |
| upgrade | 2 | 1 | 0 | 0 | 0 | 0 | 3.0 s |
| 500 | 2 | 0 | 1 | 1 | 2 | 3 | 2.0 s, 1 never |
| lost | 1 | 1 | 0 | 0 | 0 | 0 | 3.0 s |
| **all** | 3 | 1 | 1 | 1 | 2 | 3 | 3.0 s, 1 never |

slowest: upgrade/b/1/lost
`
	if got := table("each", outcomes); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := table("outage", []outcome{{groups: []string{"outage"}}}); strings.Contains(got, "all") {
		t.Errorf("one group has a sum:\n%s", got)
	}
	const complaint = `
install/c/1/500
  a
  b
    c
  faults: x, y
  repeat: make chaos MODE=each ONLY='install/c/1/500'
`
	if got := failures(outcomes); got != complaint {
		t.Errorf("got\n%swant\n%s", got, complaint)
	}
}

func TestAssess(t *testing.T) {
	upgrade, most := actionNamed(t, "upgrade").want, limitsOf(false)
	for name, tc := range map[string]struct {
		o     outcome
		fault faultproxy.Fault
		bad   bool
	}{
		"in time":               {outcome{settled: true, settle: most.settle}, faultproxy.Lost, false},
		"late":                  {outcome{settled: true, settle: most.settle + 1}, faultproxy.Lost, true},
		"late, but not reached": {outcome{settled: true, missed: true, settle: most.settle + 1}, faultproxy.Lost, false},
		"silent":                {outcome{settled: true, settle: most.silent}, faultproxy.Silent, false},
		"silent and late":       {outcome{settled: true, settle: most.silent + 1}, faultproxy.Silent, true},
		"never":                 {outcome{}, faultproxy.Lost, true},
	} {
		f := upgraded()
		evaluate(upgrade, tc.fault, most.after(tc.fault, 0), &f, &tc.o)
		if tc.o.bad() != tc.bad || tc.o.failed != tc.bad {
			t.Errorf("%s: %+v", name, tc.o)
		}
	}
}

func TestLimitLeavesTheActionItsOwnTime(t *testing.T) {
	for _, short := range []bool{false, true} {
		most := limitsOf(short)
		if got := most.after(faultproxy.Lost, time.Second); got != most.settle+time.Second {
			t.Errorf("the limit is %s", got)
		}
	}
}

func TestArrived(t *testing.T) {
	began := time.Now()
	for name, tc := range map[string]struct {
		since                  time.Time
		failed, settled, known bool
	}{
		"in time": {began.Add(time.Second), false, true, true},
		"late":    {began.Add(2 * time.Minute), true, true, true},
		"never":   {time.Time{}, true, false, false},
	} {
		m := member{since: tc.since, outcome: outcome{settled: true}}
		m.arrived(began, time.Minute, "in the test")
		if m.outcome.failed != tc.failed || m.outcome.settled != tc.settled || m.outcome.settle > 0 != tc.known {
			t.Errorf("%s: %+v", name, m.outcome)
		}
	}
}

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		args []string
		ok   bool
	}{
		{nil, true},
		{[]string{"--mode=each", "--only=upgrade/.*"}, true},
		{[]string{"--only=upgrade/.*"}, true},
		{[]string{"--mode=none"}, false},
		{[]string{"--mode=random", "--only=x"}, false},
		{[]string{"--parallel=0"}, false},
		{[]string{"more"}, false},
	} {
		s, err := parse(tc.args)
		if (err == nil) != tc.ok {
			t.Errorf("%v: error %v", tc.args, err)
		}
		if err == nil && (s.Seed == 0 || s.only.String() != "" && s.mode != modeEach) {
			t.Errorf("%v: %+v", tc.args, s)
		}
	}
	if s, err := parse([]string{"--short"}); err != nil || s.sample == 0 || s.rounds != shortRounds {
		t.Errorf("the short form is %+v, error %v", s, err)
	}
}
