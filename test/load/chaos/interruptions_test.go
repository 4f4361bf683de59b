// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"testing"
	"time"
)

// at returns the moment some seconds after an arbitrary one.
func at(seconds float64) time.Time {
	return time.Unix(1000, 0).Add(time.Duration(seconds * float64(time.Second)))
}

// ran returns the Job of a hook that succeeded.
func ran(event, message string, from, to float64) job {
	return job{hook: hook{event, message}, created: at(from), ended: at(to), succeeded: true}
}

// undisturbed are two commits, and their facts without a fault: the first is installed between the
// seconds 1 and 9, and the second is an upgrade between the seconds 11 and 19.
func undisturbed() (facts, []commit) {
	return facts{
		exists: true, quiet: true, ready: true, revision: 2, message: "two", markers: []string{"two"},
		records: []record{
			{number: 1, message: "one", status: "superseded", install: true, begun: at(1), deployed: at(9)},
			{number: 2, message: "two", status: "deployed", begun: at(11), deployed: at(19)},
		},
		jobs: []job{
			ran("pre-install", "one", 2, 4), ran("post-install", "one", 5, 8), ran("pre-upgrade", "two", 12, 14), ran("post-upgrade", "two", 15, 18),
		},
	}, []commit{{message: "one", at: at(0)}, {message: "two", at: at(10)}}
}

func TestCompareInterrupted(t *testing.T) {
	// closed ends the first revision without success at some second. A third one follows.
	closed := func(f *facts, second float64) {
		f.records[0].status, f.records[0].deployed, f.records[0].closed = "failed", time.Time{}, at(second)
	}
	again := func(f *facts, message string) {
		f.records = append(f.records, record{number: 3, message: message, status: "deployed", begun: at(21), deployed: at(29)})
	}
	for name, tc := range map[string]struct {
		change func(*facts)
		want   deviation
	}{
		"as wanted": {func(*facts) {}, deviation{}},
		"a second revision of the last commit": {func(f *facts) {
			f.records[1].status = "superseded"
			again(f, "two")
		}, deviation{extra: 1}},
		"the last revision failed": {func(f *facts) {
			f.records[1].status, f.records[1].deployed, f.records[1].closed = "failed", time.Time{}, at(15)
		}, deviation{extra: 1}},
		"the last revision failed, and a second one was deployed": {func(f *facts) {
			f.records[1].status, f.records[1].deployed, f.records[1].closed = "failed", time.Time{}, at(15)
			again(f, "two")
		}, deviation{extra: 1}},
		"a revision failed before it was overtaken": {func(f *facts) { closed(f, 9) }, deviation{extra: 1}},
		"a revision was closed after it was overtaken": {func(f *facts) {
			closed(f, 10)
		}, deviation{}},
		"a revision failed by itself": {func(f *facts) {
			closed(f, 10)
			f.records[0].unexplained = true
		}, deviation{failed: true}},
		"an overtaken commit has no revision": {func(f *facts) {
			f.records[0] = record{number: 1, message: "two", status: "superseded", install: true, begun: at(1), deployed: at(9)}
			f.records = f.records[:1]
			f.records[0].status = "deployed"
			f.jobs = []job{ran("pre-install", "two", 2, 4), ran("post-install", "two", 5, 8)}
		}, deviation{}},
		"a finished hook ran again":    {func(f *facts) { f.jobs = append(f.jobs, ran("pre-upgrade", "two", 21, 22)) }, deviation{repeated: 1}},
		"a hook of another action ran": {func(f *facts) { f.jobs = append(f.jobs, ran("post-upgrade", "one", 21, 22)) }, deviation{repeated: 1}},
		"a hook that was deleted while it ran was run again": {func(f *facts) {
			f.jobs[2].succeeded = false
			f.jobs = append(f.jobs, ran("pre-upgrade", "two", 21, 22))
		}, deviation{repeated: 1}},
		"an uninstall ran its hooks": {func(f *facts) {
			f.jobs = append(f.jobs, ran("pre-delete", "one", 21, 22), ran("post-delete", "one", 22, 23))
		}, deviation{}},
		"an uninstall ran one twice": {func(f *facts) {
			f.jobs = append(f.jobs, ran("pre-delete", "one", 21, 22), ran("pre-delete", "one", 22, 23))
		}, deviation{repeated: 1}},
		"a hook did not run":          {func(f *facts) { f.jobs = f.jobs[:3] }, deviation{skipped: 1}},
		"a hook did not succeed":      {func(f *facts) { f.jobs[2].succeeded = false }, deviation{skipped: 1}},
		"its end was not observed":    {func(f *facts) { f.jobs[2].succeeded, f.jobs[2].unknown = false, true }, deviation{}},
		"the install's last did not":  {func(f *facts) { f.jobs[1].succeeded = false }, deviation{skipped: 1}},
		"an upgrade ran those of one": {func(f *facts) { f.records[0].install = false }, deviation{skipped: 2}},
		"an interrupted install was followed by an upgrade": {func(f *facts) {
			closed(f, 10)
			f.jobs = append(f.jobs[:1:1], f.jobs[2:]...)
		}, deviation{skipped: 1}},
		"an object is left":         {func(f *facts) { f.markers = []string{"one", "two"} }, deviation{left: 1}},
		"the object does not exist": {func(f *facts) { f.markers = nil }, deviation{failed: true}},
		"a failure was counted":     {func(f *facts) { f.failures = 1 }, deviation{failed: true}},
		"a revision is pending": {func(f *facts) {
			f.records[0].status, f.records[0].deployed = "pending-install", time.Time{}
		}, deviation{failed: true}},
	} {
		f, commits := undisturbed()
		tc.change(&f)
		same(t, name, compareInterrupted(&f, commits), tc.want)
	}
}

func TestRecovery(t *testing.T) {
	for name, tc := range map[string]struct {
		faults []window
		change func(*facts)
		want   recovery
	}{
		"no fault":                  {nil, nil, recovery{}},
		"a fault between":           {[]window{{at(9.2), at(9.8)}}, nil, recovery{}},
		"a fault during an upgrade": {[]window{{at(11.5), at(13)}}, nil, recovery{struck: 1, inFlight: 2500 * time.Millisecond}},
		"two of them":               {[]window{{at(11.5), at(12)}, {at(18), at(18.5)}}, nil, recovery{struck: 2, inFlight: time.Second}},
		"one during each":           {[]window{{at(3), at(6)}, {at(13), at(16)}}, nil, recovery{struck: 2, inFlight: 2 * time.Second}},
		"the commit came during it": {[]window{{at(9.5), at(10.5)}}, nil, recovery{waiting: 3500 * time.Millisecond}},
		"the commit came before it": {[]window{{at(10.2), at(10.4)}}, nil, recovery{waiting: 3600 * time.Millisecond}},
		"its action began in it":    {[]window{{at(10.5), at(11.2)}}, nil, recovery{waiting: 2800 * time.Millisecond}},
		"the commit waited twice":   {[]window{{at(9.5), at(10.2)}, {at(10.4), at(10.9)}}, nil, recovery{waiting: 3300 * time.Millisecond}},
		"it was closed": {[]window{{at(5.5), at(9.5)}}, func(f *facts) {
			f.records[0].deployed, f.records[0].closed = time.Time{}, at(10)
		}, recovery{struck: 1}},
		"its second revision counts": {[]window{{at(12), at(20)}}, func(f *facts) {
			f.records[1].deployed, f.records[1].closed = time.Time{}, at(20.5)
			f.records = append(f.records, record{number: 3, message: "two", begun: at(20.5), deployed: at(22)})
		}, recovery{struck: 1, inFlight: 3 * time.Second}},
		"it is pending": {[]window{{at(12), at(20)}}, func(f *facts) {
			f.records[1].deployed = time.Time{}
		}, recovery{struck: 1}},
		"a hook that never ended is excepted": {[]window{{at(11.5), at(12)}}, func(f *facts) {
			f.jobs[2].ended = time.Time{}
		}, recovery{struck: 1, inFlight: 500 * time.Millisecond}},
		"the controller of Deployments is excepted": {[]window{{at(11.5), at(12)}}, func(f *facts) {
			f.rollouts = []window{{at(14.2), at(14.9)}}
		}, recovery{struck: 1, inFlight: 1800 * time.Millisecond}},
	} {
		f, commits := undisturbed()
		if tc.change != nil {
			tc.change(&f)
		}
		if got := recoveryOf(&f, commits, tc.faults); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

func TestLate(t *testing.T) {
	most := limitsOf(false)
	for name, tc := range map[string]struct {
		r    recovery
		late bool
	}{
		"in time":                {recovery{struck: 1, inFlight: most.inFlight, waiting: most.waiting}, false},
		"an action was late":     {recovery{inFlight: most.inFlight + 1}, true},
		"a commit waited longer": {recovery{waiting: most.waiting + 1}, true},
	} {
		var v deviation
		v.late(tc.r, most)
		if v.failed != tc.late || len(v.wrong) > 0 != tc.late {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestOnlyFaults(t *testing.T) {
	all := (&chaos{settings: settings{outages: 1}}).faults()
	for only, want := range map[string]int{"": 4, "lease lost": 1, "API server.*": 2, "API server": -1, unreachable: 0, ".*": 4} {
		chosen, err := onlyFaults(all, pattern(t, only))
		if err != nil != (want < 0) || len(chosen) != max(0, want) {
			t.Errorf("ONLY=%s: %d faults, want %d; error %v", only, len(chosen), want, err)
		}
	}
}

func TestUnsettled(t *testing.T) {
	a, b := &member{since: at(1), outcome: outcome{settled: true}}, &member{outcome: outcome{settled: true}}
	(&chaos{limits: limitsOf(false)}).unsettled([]*member{a, b}, "a fault")
	if !a.outcome.settled || a.outcome.bad() || b.outcome.settled || !b.outcome.failed || len(b.outcome.wrong) != 1 {
		t.Errorf("%+v, %+v", a.outcome, b.outcome)
	}
}

func TestOutside(t *testing.T) {
	for name, tc := range map[string]struct {
		windows []window
		want    time.Duration
	}{
		"no window":             {nil, 10 * time.Second},
		"before and after":      {[]window{{at(-5), at(-1)}, {at(11), at(12)}}, 10 * time.Second},
		"one within":            {[]window{{at(2), at(5)}}, 7 * time.Second},
		"over the beginning":    {[]window{{at(-2), at(5)}}, 5 * time.Second},
		"over the end":          {[]window{{at(8), at(15)}}, 8 * time.Second},
		"without an end":        {[]window{{at(8), time.Time{}}}, 8 * time.Second},
		"everything":            {[]window{{at(-1), at(11)}}, 0},
		"overlapping, unsorted": {[]window{{at(4), at(6)}, {at(2), at(5)}, {at(2.5), at(3)}}, 6 * time.Second},
	} {
		if got := outside(at(0), at(10), tc.windows); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestMoments(t *testing.T) {
	a, b := moments(7, 100, 20), moments(7, 100, 20)
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Error("the same seed chooses other moments")
	}
	if fmt.Sprint(a) == fmt.Sprint(moments(8, 100, 20)) {
		t.Error("another seed chooses the same moments")
	}
	terms, early := 0, 0
	for i, m := range a {
		if m.after < shortestLife || m.after >= longestLife {
			t.Errorf("a process lives for %s", m.after)
		}
		if m.term {
			terms++
			if i < len(a)/2 {
				early++
			}
		}
	}
	if len(a) != 120 || terms != 20 || early == terms || early == 0 {
		t.Errorf("%d of %d processes are ended by SIGTERM, %d of them in the first half", terms, len(a), early)
	}
}

func TestInterruptedTable(t *testing.T) {
	outcomes := []outcome{
		{id: "kill-01", groups: []string{"kill"}, interrupted: true, settled: true, changes: 3, recovery: recovery{struck: 2, inFlight: time.Second}},
		{
			id: "kill-02", groups: []string{"kill"}, interrupted: true, changes: 4, recovery: recovery{struck: 1, waiting: 2 * time.Second},
			deviation: deviation{failed: true, extra: 1, repeated: 2, skipped: 3, left: 4},
		},
	}
	const want = `| kill | releases | changes | interrupted | failed | never settled | extra revisions | hooks repeated | hooks missing | objects left | slowest in flight | slowest waiting |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
| kill | 2 | 7 | 3 | 1 | 1 | 1 | 2 | 3 | 4 | 1.0 s | 2.0 s |
`
	if got := table("kill", outcomes); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
