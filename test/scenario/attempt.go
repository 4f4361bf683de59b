// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"slices"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// stage is the progress of an action, in the order of the values.
type stage int

// The stages. The zero value is an action whose revision is stored.
const (
	stagePreHook  stage = iota + 1 // the hook before the objects runs
	stageObjects                   // it has succeeded, and objects are applied
	stageWait                      // all objects are applied
	stagePostHook                  // the hook after the wait runs
	stageDone
)

// stageOf returns the stage that a word names; 0 if it names none.
func stageOf(word string) stage {
	switch word {
	case "pre-hook":
		return stagePreHook
	case "objects":
		return stageObjects
	case "wait":
		return stageWait
	case "post-hook":
		return stagePostHook
	}
	return 0
}

// newAttempt returns the attempt of an action on a revision.
func (a *action) newAttempt(version int) *release.Attempt {
	a.store.ran.attempts++
	made := &release.Attempt{
		ID: fmt.Sprintf("%s.%d.%d", uid, version, a.store.ran.attempts), Run: 1, Action: helmv2.ReleaseAction(release.Name(a.kind)),
	}
	switch kind := a.kind.(type) {
	case release.Install:
		made.Inputs, made.Plan = release.InputsOf(a.want), kind.Plan.Digest
	case release.Upgrade:
		made.Inputs, made.TakeOver, made.Plan = release.InputsOf(a.want), kind.TakeOver, kind.Plan.Digest
	case release.Rollback:
		made.Inputs, made.RollbackTo, made.Hold = release.InputsOf(a.want), kind.Version, kind.Hold
	case release.Test:
		made.Request = kind.Request
	case release.Uninstall, release.Unlock, release.Recheck, release.FailBake, release.CorrectDrift:
	}
	return made
}

// work makes the revision that the action changes contain its attempt: the one of an earlier
// process, or a new one.
func (a *action) work() {
	if a.made == nil || a.owner != uid {
		return
	}
	test, _ := a.kind.(release.Test)
	if at := a.made.Attempt; at == nil || !a.proven[a.made] || at.Action != helmv2.ReleaseAction(release.Name(a.kind)) || at.Request != test.Request {
		a.made.Attempt = a.newAttempt(a.made.Version)
		if a.store.tests && test.Request != "" {
			a.made.TestRequest, a.made.Tests = test.Request, map[string]release.TestRun{testName: {Started: a.started, Phase: "Running"}}
		}
	} else {
		at.Run++
	}
	a.run = a.made.Attempt.Run
}

// resume takes over the pending revision of an interrupted action. Helm does not see it, and an
// older revision is deployed as before.
func (a *action) resume(version int) {
	last := a.store.newest()
	if last == nil || last.Version != version || !last.Pending() || !a.proven[last] || last.Attempt == nil || last.Attempt.Action != helmv2.ReleaseAction(release.Name(a.kind)) {
		a.refused = fmt.Errorf("revision %d was not left by an interrupted %s", version, release.Name(a.kind))
		return
	}
	if !last.Attempt.Hold && last.Attempt.Inputs != release.InputsOf(a.want) {
		a.refused = fmt.Errorf("revision %d has other inputs", version)
		return
	}
	older := storage{revisions: a.store.revisions[:len(a.store.revisions)-1]}
	a.made, a.replaced = last, older.deployed()
	if before := older.newest(); a.replaced == nil && before != nil && last.Status == helmv2.StatusPendingUpgrade {
		a.replaced = before
	}
}

// event returns the event of the hooks before or after the objects of the action; empty if it has
// none.
func (a *action) event(when string) string {
	switch a.kind.(type) {
	case release.Install, release.Upgrade, release.Rollback:
		return when + "-" + release.Name(a.kind)
	case release.Uninstall:
		return when + "-delete"
	case release.Test:
		return "test"
	case release.Unlock, release.Recheck, release.FailBake, release.CorrectDrift:
	}
	return ""
}

// reach brings the action to a stage, unless it has come further.
func (a *action) reach(to stage) {
	if a.made == nil || a.made.Attempt == nil || a.refused != nil {
		return
	}
	defer a.wrote()
	if to >= stagePreHook {
		a.hook(a.event("pre"), to > stagePreHook)
	}
	if to >= stageWait && isRevision(a.kind) {
		a.made.Applied = true
	}
	if _, testing := a.kind.(release.Test); to >= stagePostHook && !testing {
		a.hook(a.event("post"), to > stagePostHook)
	}
}

// hook starts the hook of an event, waits for one that an earlier process has started, and finishes
// it if required. A finished hook is not run again.
func (a *action) hook(event string, finish bool) {
	at, ran := a.made.Attempt, a.store.ran
	if !a.store.has(event) {
		return
	}
	if at.Event == a.event("post") && event == a.event("pre") && event != at.Event {
		return
	}
	name := "Job/" + event
	if at.Event == event && slices.Contains(at.Finished, name) {
		return
	}
	switch {
	case at.Running != name:
		at.Event, at.Running, at.Finished = event, name, nil
		a.say("hook %s of revision %d started", event, a.made.Version)
	case a.run > 1 && a.waits == "":
		a.waits = name
		a.say("hook %s of revision %d awaited", event, a.made.Version)
	}
	if finish {
		at.Running, at.Finished = "", []string{name}
		ran.finished[at.ID+" "+event]++
		a.say("hook %s of revision %d succeeded", event, a.made.Version)
		if a.made.InstallHooksLeft && (event == "post-install" || event == "pre-install" && !a.store.has("post-install")) {
			a.made.InstallHooksLeft = false
		}
	}
}

func (a *action) say(format string, args ...any) {
	if a.store.hooks {
		a.store.ran.lines = append(a.store.ran.lines, fmt.Sprintf(format, args...))
	}
}

// isRevision reports whether an action creates a revision.
func isRevision(a release.HelmAction) bool {
	return isRelease(a) || release.Name(a) == string(helmv2.ActionRollback)
}

// waitsOn reports whether Helm does not end the running action for newer inputs: it is an install
// whose hooks have not all run.
func (a *action) waitsOn() bool {
	_, install := a.kind.(release.Install)
	return install && a.made != nil && a.made.InstallHooksLeft
}

// observed returns the action as the next reconciliation finds it; nil if none is running.
func (a *action) observed() *release.Running {
	if a == nil {
		return nil
	}
	return &release.Running{
		Action:     helmv2.ReleaseAction(release.Name(a.kind)),
		Generation: a.want.Generation, Started: a.started, Desired: a.want,
	}
}
