// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"testing"
)

// upgraded are the facts after an upgrade without faults.
func upgraded() facts {
	return facts{
		exists: true, quiet: true, ready: true, reason: "UpgradeSucceeded", revision: 2, message: "two",
		records: []record{{number: 1, message: "one", status: "superseded"}, {number: 2, message: "two", status: "deployed"}},
		hooks:   []hook{{"pre-install", "one"}, {"post-install", "one"}, {"pre-upgrade", "two"}, {"post-upgrade", "two"}},
	}
}

func actionNamed(t *testing.T, name string) action {
	t.Helper()
	for _, a := range actions() {
		if a.name == name {
			return a
		}
	}
	t.Fatalf("there is no action %s", name)
	return action{}
}

func TestSettled(t *testing.T) {
	upgrade := actionNamed(t, "upgrade").want
	for name, tc := range map[string]struct {
		change func(*facts)
		want   bool
	}{
		"as wanted":                    {func(*facts) {}, true},
		"too much was done":            {func(f *facts) { f.hooks = append(f.hooks, f.hooks...); f.failures = 3 }, true},
		"no HelmRelease":               {func(f *facts) { f.exists = false }, false},
		"reconciling":                  {func(f *facts) { f.quiet = false }, false},
		"not ready":                    {func(f *facts) { f.ready = false }, false},
		"nothing stored":               {func(f *facts) { f.records = nil }, false},
		"the old inputs are stored":    {func(f *facts) { f.records[1].message = "one" }, false},
		"the newest revision failed":   {func(f *facts) { f.records[1].status = "failed" }, false},
		"the newest record is gone":    {func(f *facts) { f.records[1].deleted = true }, false},
		"the status is behind":         {func(f *facts) { f.revision = 1 }, false},
		"the live object is as before": {func(f *facts) { f.message = "one" }, false},
	} {
		f := upgraded()
		tc.change(&f)
		if got := upgrade.settled(&f); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestSettledInOtherWays(t *testing.T) {
	rollback, uninstall := actionNamed(t, "rollback").want, actionNamed(t, "uninstall").want
	drift, operation := actionNamed(t, "drift").want, actionNamed(t, "operation").want
	one := facts{
		exists: true, quiet: true, ready: true, revision: 1, message: "one",
		records: []record{{number: 1, message: "one", status: "deployed"}},
	}
	gone := facts{records: []record{{number: 1, message: "one", deleted: true}}}
	back := one
	back.ready, back.reason = false, "RollbackSucceeded"
	failed := back
	failed.reason = "UpgradeFailed"
	corrected := one
	corrected.changes = 2
	done := one
	done.operation, done.released = "Succeeded", true
	held := done
	held.released = false
	for name, tc := range map[string]struct {
		w    want
		f    facts
		want bool
	}{
		"gone": {uninstall, gone, true}, "not gone": {uninstall, one, false},
		"rolled back": {rollback, back, true}, "failed only": {rollback, failed, false}, "ready": {rollback, one, false},
		"corrected": {drift, corrected, true}, "not changed yet": {drift, one, false},
		"Operation done": {operation, done, true}, "Operation holds": {operation, held, false}, "Operation runs": {operation, one, false},
	} {
		if got := tc.w.settled(&tc.f); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestCompare(t *testing.T) {
	upgrade, rollback := actionNamed(t, "upgrade").want, actionNamed(t, "rollback").want
	for name, tc := range map[string]struct {
		change func(*facts)
		want   deviation
		w      want
	}{
		"as wanted":                    {func(*facts) {}, deviation{}, upgrade},
		"one more revision":            {func(f *facts) { f.records = append(f.records, record{number: 3, message: "two"}) }, deviation{extra: 1}, upgrade},
		"a deleted one":                {func(f *facts) { f.records = append(f.records, record{number: 2, message: "two", deleted: true}) }, deviation{extra: 1}, upgrade},
		"none":                         {func(f *facts) { f.records = f.records[:1] }, deviation{missing: 1}, upgrade},
		"a hook twice":                 {func(f *facts) { f.hooks = append(f.hooks, f.hooks[2]) }, deviation{repeated: 1}, upgrade},
		"a hook of other inputs":       {func(f *facts) { f.hooks[2].message = "one" }, deviation{repeated: 1, skipped: 1}, upgrade},
		"no hook":                      {func(f *facts) { f.hooks = f.hooks[:2] }, deviation{skipped: 2}, upgrade},
		"a failure":                    {func(f *facts) { f.failures = 1 }, deviation{failed: true}, upgrade},
		"a warning":                    {func(f *facts) { f.warnings = []string{"UpgradeFailed"} }, deviation{failed: true}, upgrade},
		"a warning that is no failure": {func(f *facts) { f.warnings = []string{"DependentsLeft"} }, deviation{}, upgrade},
		"a pending revision":           {func(f *facts) { f.records[0].status = "pending-upgrade" }, deviation{failed: true}, upgrade},
		"a rollback": {func(f *facts) {
			f.records = append(f.records, record{number: 3, message: "one", status: "deployed"})
			f.hooks = append(f.hooks[:3:3], hook{"pre-rollback", "one"}, hook{"post-rollback", "one"})
			f.failures, f.warnings = 1, []string{"UpgradeFailed"}
		}, deviation{}, rollback},
		"a rollback that counted two": {func(f *facts) {
			f.records = append(f.records, record{number: 3, message: "one", status: "deployed"})
			f.hooks = append(f.hooks[:3:3], hook{"pre-rollback", "one"}, hook{"post-rollback", "one"})
			f.failures, f.warnings = 2, []string{"UpgradeFailed", "RollbackFailed"}
		}, deviation{failed: true}, rollback},
	} {
		f := upgraded()
		tc.change(&f)
		same(t, name, tc.w.compare(&f), tc.want)
	}
}

// same compares deviations. Their texts only need to exist if there is any.
func same(t *testing.T, name string, got, want deviation) {
	t.Helper()
	said := len(got.wrong) > 0
	got.wrong = nil
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %+v, want %+v", name, got, want)
	}
	if said != (fmt.Sprint(want) != fmt.Sprint(deviation{})) {
		t.Errorf("%s: something is said to be wrong: %v", name, said)
	}
}

func TestCompareCommits(t *testing.T) {
	commits := []commit{{message: "one", settled: true}, {message: "two"}, {message: "three"}}
	run := func(messages ...string) (hooks []hook) {
		for i, m := range messages {
			event := "upgrade"
			if i == 0 {
				event = "install"
			}
			hooks = append(hooks, hook{"pre-" + event, m}, hook{"post-" + event, m})
		}
		return hooks
	}
	stored := func(messages ...string) (records []record) {
		for i, m := range messages {
			records = append(records, record{number: i + 1, message: m, status: "superseded"})
		}
		return records
	}
	for name, tc := range map[string]struct {
		f    facts
		want deviation
	}{
		"all":                         {facts{records: stored("one", "two", "three"), hooks: run("one", "two", "three")}, deviation{}},
		"one was overtaken":           {facts{records: stored("one", "three"), hooks: run("one", "three")}, deviation{}},
		"it was overtaken half-way":   {facts{records: stored("one", "two", "three"), hooks: append(run("one", "three"), hook{"pre-upgrade", "two"})}, deviation{}},
		"the last is missing":         {facts{records: stored("one", "two"), hooks: run("one", "two")}, deviation{missing: 1, skipped: 2}},
		"one that settled is missing": {facts{records: stored("two", "three"), hooks: run("two", "three")}, deviation{missing: 1, skipped: 2}},
		"an overtaken one twice":      {facts{records: stored("one", "two", "two", "three"), hooks: run("one", "two", "two", "three")}, deviation{extra: 1, repeated: 2}},
		"installed, then upgraded":    {facts{records: stored("one", "one", "three"), hooks: append(run("one", "three"), run("x", "one")[2:]...)}, deviation{extra: 1, repeated: 2}},
		"a failure":                   {facts{records: stored("one", "three"), hooks: run("one", "three"), failures: 1}, deviation{failed: true}},
	} {
		same(t, name, compareCommits(&tc.f, commits), tc.want)
	}
}
