// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// window is a period of time. A fault's window ends when process, API server and lease are back.
type window struct{ from, back time.Time }

// compareInterrupted compares the facts with a sequence of commits that overlapped with faults. The
// release must have reached the last one. There is at most one revision for each commit, and each
// hook of a deployed revision ran once. A revision may only have failed if its commit was
// overtaken. Objects of earlier commits are gone.
func compareInterrupted(f *facts, commits []commit) deviation {
	var v deviation
	for i, c := range commits {
		v.extra += v.revisionsOf(f, commits, i)
		for _, run := range []string{"pre", "post", "pre-delete", "post-delete"} {
			v.repeated += v.runsOf(f, run, c.message)
		}
	}
	v.hooksOf(f)
	last := commits[len(commits)-1].message
	if newest, _ := f.newest(); newest.message == last && newest.status == "deployed" {
		v.markersOf(f, last)
	}
	v.counted(f, 0, nil)
	for _, r := range f.records {
		if r.unexplained {
			v.failed = true
			v.say("revision %d of %s failed without an interruption", r.number, r.message)
		}
	}
	return v
}

// revisionsOf returns the number of revisions that a commit has too many of: those beyond the
// first, and those that failed before a newer commit.
func (v *deviation) revisionsOf(f *facts, commits []commit, i int) int {
	all, failed := 0, 0
	for _, r := range f.records {
		if r.message != commits[i].message {
			continue
		}
		all++
		overtaken := i+1 < len(commits) && !r.closed.Before(commits[i+1].at)
		if r.deployed.IsZero() && !r.closed.IsZero() && !overtaken {
			failed++
			v.say("revision %d of %s failed before a newer commit", r.number, r.message)
		}
	}
	if all > 1 {
		v.say("there are %d revisions of %s", all, commits[i].message)
	}
	return max(all-1, failed, 0)
}

// runOf returns which hooks must not run twice for a commit: those of an install and of an upgrade
// are the same. An interrupted install is uninstalled if its commit was overtaken.
func runOf(event string) string {
	phase, action, _ := strings.Cut(event, "-")
	if action == "install" || action == "upgrade" {
		return phase
	}
	return event
}

// runsOf returns the number of runs beyond the first of a commit's hook.
func (v *deviation) runsOf(f *facts, run, message string) int {
	var runs []job
	for _, j := range f.jobs {
		if runOf(j.event) == run && j.message == message {
			runs = append(runs, j)
		}
	}
	for i, j := range runs {
		if i == 0 {
			continue
		}
		first := "had not succeeded"
		if runs[i-1].succeeded {
			first = "had succeeded"
		}
		v.say("%s ran again after %s, which %s", j.hook, runs[i-1].hook, first)
	}
	return max(0, len(runs)-1)
}

// hooksOf adds the hooks that did not succeed although their revision was deployed. One whose end
// was not observed is taken for one that succeeded, since the revision was deployed. Those of the
// install belong to the release: they have to succeed even if an upgrade followed an interrupted
// install.
func (v *deviation) hooksOf(f *facts) {
	succeeded, installed, deployed := map[hook]bool{}, map[string]bool{}, false
	for _, j := range f.jobs {
		done := j.succeeded || j.unknown
		succeeded[j.hook] = succeeded[j.hook] || done
		installed[j.event] = installed[j.event] || done
	}
	for _, r := range f.records {
		if r.deployed.IsZero() {
			continue
		}
		deployed = true
		if r.install {
			continue
		}
		for _, event := range []string{"pre-upgrade", "post-upgrade"} {
			if h := (hook{event, r.message}); !succeeded[h] {
				v.skipped++
				v.say("%s did not succeed, but revision %d is deployed", h, r.number)
			}
		}
	}
	for _, event := range []string{"pre-install", "post-install"} {
		if deployed && !installed[event] {
			v.skipped++
			v.say("%s never succeeded, but the release is deployed", event)
		}
	}
}

// markersOf adds the objects of earlier commits that still exist.
func (v *deviation) markersOf(f *facts, last string) {
	left := slices.DeleteFunc(slices.Clone(f.markers), func(message string) bool { return message == last })
	v.left = len(left)
	if v.left > 0 {
		v.say("objects are left of %s", list(left))
	}
	if len(left) == len(f.markers) {
		v.failed = true
		v.say("the object of %s does not exist", last)
	}
}

// recovery is how a release recovered from faults.
type recovery struct {
	// struck is the number of interruptions of actions.
	struck int
	// inFlight is the longest time that an interrupted action took for each interruption, waiting
	// the longest one that the action of a commit took that had not begun. Faults, hooks and the
	// controller of Deployments are excepted.
	inFlight, waiting time.Duration
}

// recoveryOf returns how a release recovered, as far as commits were deployed.
func recoveryOf(f *facts, commits []commit, faults []window) recovery {
	var all recovery
	excepted := slices.Concat(faults, f.rollouts)
	for _, j := range f.jobs {
		excepted = append(excepted, window{j.created, j.ended})
	}
	for _, c := range commits {
		begun, ended, deployed := spanOf(f, c.message)
		if begun.IsZero() {
			continue
		}
		struck := 0
		var back time.Time
		for _, w := range faults {
			if w.from.After(begun) && (ended.IsZero() || w.from.Before(ended)) {
				struck++
			}
			if back.IsZero() && w.back.After(c.at) {
				back = w.back
			}
		}
		all.struck += struck
		// Both are zero for a commit that was not deployed.
		if struck > 0 {
			all.inFlight = max(all.inFlight, outside(begun, deployed, excepted)/time.Duration(struck))
		} else if !back.IsZero() {
			all.waiting = max(all.waiting, outside(back, deployed, excepted))
		}
	}
	return all
}

// late adds that a release recovered too slowly.
func (v *deviation) late(r recovery, most limits) {
	if r.inFlight > most.inFlight {
		v.failed = true
		v.say("an interrupted action took %.1f s for each interruption, the limit being %s", r.inFlight.Seconds(), most.inFlight)
	}
	if r.waiting > most.waiting {
		v.failed = true
		v.say("the action of a commit ended %.1f s after a fault, the limit being %s", r.waiting.Seconds(), most.waiting)
	}
}

// spanOf returns when the first revision of a commit began, when the last one ended, and when one
// was deployed. Ended is zero while one is pending.
func spanOf(f *facts, message string) (begun, ended, deployed time.Time) {
	for _, r := range f.records {
		if r.message != message {
			continue
		}
		if begun.IsZero() || r.begun.Before(begun) {
			begun = r.begun
		}
		ended = r.closed
		if !r.deployed.IsZero() {
			ended, deployed = r.deployed, r.deployed
		}
	}
	return begun, ended, deployed
}

// outside returns how much of a period is in none of some windows, which may overlap. A window
// without an end does not end. The result is zero for a period that ends before it begins.
func outside(from, to time.Time, windows []window) time.Duration {
	sorted := slices.Clone(windows)
	slices.SortFunc(sorted, func(a, b window) int { return cmp.Compare(a.from.UnixNano(), b.from.UnixNano()) })
	var sum time.Duration
	at := from
	for _, w := range sorted {
		if !w.from.Before(to) {
			break
		}
		sum += max(0, w.from.Sub(at))
		if w.back.IsZero() {
			return sum
		}
		if w.back.After(at) {
			at = w.back
		}
	}
	return sum + max(0, to.Sub(at))
}
