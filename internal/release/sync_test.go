// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"
	"time"
)

// TestCachedOnlyIfFree: a release is observed while an action runs, and while an Operation has the
// lock of the release or waits for it.
func TestCachedOnlyIfFree(t *testing.T) {
	for name, edit := range map[string]func(*Observed){
		"Free":      func(*Observed) {},
		"Running":   func(have *Observed) { have.Running = &Running{} },
		"Locked":    func(have *Observed) { have.LockHolder = &Operation{} },
		"Awaited":   func(have *Observed) { have.WaitingOperation = &Operation{} },
		"NotSynced": func(have *Observed) { have.Synced = nil },
	} {
		in := Input{Now: testNow}
		in.Observed.Synced = &Synced{Until: testNow.Add(time.Minute)}
		edit(&in.Observed)
		if left := CachedFor(in); (left > 0) != (name == "Free") {
			t.Errorf("%s: cached for %s", name, left)
		}
	}
}

// TestCachedForDesired: a release is observed if another state is desired. A new revision of the source
// with the same chart is none.
func TestCachedForDesired(t *testing.T) {
	for name, edit := range map[string]func(*Desired){
		"Same":           func(*Desired) {},
		"SourceRevision": func(want *Desired) { want.SourceRevision = "main@sha1:2" },
		"Chart":          func(want *Desired) { want.Chart.Version = "2.0.0" },
	} {
		in := Input{Now: testNow, Desired: Desired{SourceRevision: "main@sha1:1"}}
		in.Observed.Synced = &Synced{Desired: in.Desired, Until: testNow.Add(time.Minute)}
		edit(&in.Desired)
		if left := CachedFor(in); (left > 0) != (name != "Chart") {
			t.Errorf("%s: cached for %s", name, left)
		}
	}
}

// TestMustRender: a chart is rendered again only if the result may differ.
func TestMustRender(t *testing.T) {
	for name, tc := range map[string]struct {
		reason       string
		last         Renderings
		capabilities string
		requested    bool
		after        time.Duration
		want         bool
	}{
		"New":       {reason: "The revision was installed a moment ago.", capabilities: "a", after: time.Minute},
		"Requested": {reason: "A reconciliation is requested.", capabilities: "a", requested: true, want: true},
		"Old":       {reason: "The capabilities at its rendering are not known.", capabilities: "a", after: 5 * time.Minute, want: true},
		"Same": {
			reason: "The chart depends on capabilities only.", capabilities: "a", after: time.Hour, requested: true,
			last: Renderings{Capabilities: "a", Result: RenderResult{Reads: true}},
		},
		"Capabilities": {
			reason: "The capabilities have changed.", capabilities: "b", want: true,
			last: Renderings{Capabilities: "a", Result: RenderResult{Reads: true}},
		},
		"Lookup": {
			reason: "Only rendering detects a change.", capabilities: "a", after: 5 * time.Minute, want: true,
			last: Renderings{Capabilities: "a", Result: RenderResult{Reads: true, Lookup: true}},
		},
		"LookupRecent": {
			reason: "It is not rendered in each reconciliation.", capabilities: "a", after: time.Minute,
			last: Renderings{Capabilities: "a", Result: RenderResult{Reads: true, Lookup: true}},
		},
		"Fresh": {
			reason: "It was rendered a moment ago.", capabilities: "b", requested: true, after: time.Hour,
			last: Renderings{Capabilities: "a", Result: RenderResult{Reads: true, Lookup: true}, Fresh: true, Failure: &ObjectError{}},
		},
		"Failed": {
			reason: "The last rendering failed.", capabilities: "a", want: true,
			last: Renderings{Capabilities: "a", Result: RenderResult{Reads: true}, Failure: &ObjectError{}},
		},
		"Over": {reason: "The chart does not read the cluster.", last: Renderings{Over: true}, capabilities: "b", requested: true, after: time.Hour},
	} {
		in := Input{Now: testNow.Add(tc.after)}
		in.Desired.Policy.Interval = 10 * time.Minute
		if tc.requested {
			in.Desired.Requests.Reconcile = "now"
		}
		in.Observed.Renderings = tc.last
		in.Observed.Renderings.At = testNow
		if got := MustRender(in, tc.capabilities); got != tc.want {
			t.Errorf("%s: %s It is rendered: %t", name, tc.reason, got)
		}
		if in.Recorded.LastHandledReconcileAt = "now"; name == "Requested" && MustRender(in, tc.capabilities) {
			t.Error("a request that was handled renders the chart again")
		}
	}
}

// TestRenderingsFail: an error is reported until a rendering succeeds or there is another revision. A
// request during a rendering makes another one due.
func TestRenderingsFail(t *testing.T) {
	read := RenderResult{Reads: true, Changed: true}
	before := Renderings{}.Begin("1", "inputs", testNow).Add(read, false, testNow)
	failed := before.WithError(ObjectError{Err: "no"})
	if found := failed.Report(Drift{}); len(found.Errors) != 1 || found.Rendering != "" || !failed.Fresh {
		t.Errorf("reported: %+v", found)
	}
	for name, next := range map[string]Renderings{
		"Rendered": failed.Add(read, false, testNow), "Installed": failed.Installed(read), "Revision": failed.Begin("2", "inputs", testNow),
	} {
		if found := next.Report(Drift{}); len(found.Errors) > 0 {
			t.Errorf("%s: reported: %+v", name, found)
		}
	}
	if next := failed.Begin("1", "inputs", testNow.Add(1)); !next.Fresh || next.Failure == nil || !next.At.Equal(testNow) {
		t.Errorf("the same revision: %+v", next)
	}
	asked := before
	asked.Again = true
	for _, next := range []Renderings{asked.Add(RenderResult{Reads: true, Lookup: true}, false, testNow), asked.WithError(ObjectError{})} {
		in := Input{Now: testNow}
		in.Desired.Policy.Interval, in.Observed.Renderings = time.Hour, next
		if next.Again || !MustRender(in, "") {
			t.Errorf("no other rendering is due: %+v", next)
		}
	}
}

// TestRenderingsEnd: a chart that renders differently each time is upgraded a few times, and not
// again before its inputs change.
func TestRenderingsEnd(t *testing.T) {
	var r Renderings
	changed := RenderResult{Reads: true, Changed: true}
	for i := range maxRenderUpgrades {
		r = r.Begin(string(rune('a'+i)), "inputs", testNow)
		if r = r.Add(changed, true, testNow); r.Unstable {
			t.Fatalf("unstable after %d upgrades", i+1)
		}
	}
	r = r.Begin("z", "inputs", testNow).Add(changed, true, testNow)
	in := Input{Now: testNow}
	in.Desired.Requests.Reconcile, in.Observed.Renderings = "now", r
	if !r.Unstable || MustRender(in, "other") {
		t.Error("the upgrades do not end")
	}
	if again := r.Begin("zz", "inputs", testNow); !again.Unstable || !again.Over {
		t.Error("the next revision begins anew")
	}
	if r = r.Begin("z", "others", testNow); r.Unstable || len(r.Changes) > 0 {
		t.Error("other inputs do not begin anew")
	}
	for range 2 * maxRenderUpgrades {
		if r = r.Add(changed, false, testNow); r.Unstable {
			t.Fatal("changes without upgrades count")
		}
	}
	for i := range 2 * maxRenderUpgrades {
		if r = r.Add(changed, true, testNow.Add(time.Duration(i)*renderUpgradesWithin)); r.Unstable {
			t.Fatal("changes that are far apart count")
		}
	}
	if r = r.Add(RenderResult{Reads: true, Unstable: true}, true, testNow); !r.Unstable {
		t.Error("two different renderings at one time are stable")
	}
}
