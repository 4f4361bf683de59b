// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"fmt"
	"slices"
	"sync"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"

	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/hookjob"
	"github.com/pintle-dev/pintle/internal/release"
)

// Store holds the revisions of a release and the attempts on them.
type Store interface {
	driver.Driver
	// AttemptOn returns the attempt on a revision; nil if there is none.
	AttemptOn(version int) (*release.Attempt, error)
	// Begin makes later updates of a revision contain a new attempt.
	Begin(version int) (release.Attempt, error)
	// SetAttempt makes later updates of a revision contain an attempt.
	SetAttempt(version int, a release.Attempt) error
	// Resume takes over the attempt on a revision, and returns the revision.
	Resume(version int) (*helmrelease.Release, release.Attempt, error)
	// Skip makes the new revision contain the hook that its upgrade leaves out.
	Skip(skip release.Skip)
	// Proven reports whether a revision that was read comes from the HelmRelease of the action.
	Proven(version int) bool
}

// eventsOf returns the events whose hooks an action runs, in their order; none if it runs no hooks.
func eventsOf(a release.HelmAction) []helmrelease.HookEvent {
	switch a.(type) {
	case release.Install:
		return []helmrelease.HookEvent{helmrelease.HookPreInstall, helmrelease.HookPostInstall}
	case release.Upgrade:
		return []helmrelease.HookEvent{helmrelease.HookPreUpgrade, helmrelease.HookPostUpgrade}
	case release.Rollback:
		return []helmrelease.HookEvent{helmrelease.HookPreRollback, helmrelease.HookPostRollback}
	case release.Uninstall:
		return []helmrelease.HookEvent{helmrelease.HookPreDelete, helmrelease.HookPostDelete}
	case release.Test:
		return []helmrelease.HookEvent{helmrelease.HookTest}
	case release.Unlock, release.Recheck, release.FailBake, release.CorrectDrift:
	}
	return nil
}

// creates reports whether an action creates a revision.
func creates(a release.HelmAction) bool {
	switch a.(type) {
	case release.Install, release.Upgrade, release.Rollback:
		return true
	case release.Test, release.Uninstall, release.Unlock, release.Recheck, release.FailBake, release.CorrectDrift:
	}
	return false
}

// Progress states how far an earlier process had come with a hook.
type Progress int

const (
	// NotStarted is a hook that was not started.
	NotStarted Progress = iota
	// Started is a hook whose start was recorded. Its object may exist.
	Started
	// Finished is a hook that has succeeded.
	Finished
)

// step is the run of one hook for one event.
type step struct {
	event    helmrelease.HookEvent
	hook     int
	progress Progress
	// last is the recorded run of a hook that an earlier process has started.
	last helmrelease.HookExecution
}

// Hooks records the hooks that an action of Helm runs. Each start is stored before the hook is
// created, and each success before the hook is deleted. Helm runs all hooks of an event one after
// the other; for those that an earlier process or an Operation has run, the client does nothing. The zero value
// belongs to an action that has not begun. It may be used concurrently.
type Hooks struct {
	store Store
	now   func() time.Time

	mu sync.Mutex
	// version is the number of the revision; 0 before begin.
	version int
	key     string
	attempt release.Attempt
	// all are the hooks of the revision, and order has their indexes in the order in which they run.
	// given maps those that Helm has to their index in all.
	all   []*helmrelease.Hook
	order []int
	given map[*helmrelease.Hook]int
	// queue are the steps that Helm has not begun, in their order. current is the one that runs;
	// nil if there is none.
	queue   []step
	current *step
	// updated is the release in Helm's last update; nil if there was none.
	updated *helmrelease.Release
	// ran are the hooks that have run in this process.
	ran map[int]bool
	// cancelled, if set, reports whether the action is cancelled. The result of a hook is unknown
	// then.
	cancelled func() bool
}

// UnknownIf makes failed hooks count as unknown if the action is cancelled.
func (h *Hooks) UnknownIf(cancelled func() bool) { h.cancelled = cancelled }

// begin gives Helm the hooks of a release for an attempt. Those of events before that of the
// attempt are left out, and so are all hooks of a revision that is not proven. Their weights are
// their places in the order, by which Helm sorts them.
func (h *Hooks) begin(rls *helmrelease.Release, a release.Attempt, events []helmrelease.HookEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.version, h.key, h.attempt, h.all = rls.Version, storage.Key(rls.Name, rls.Version), a, rls.Hooks
	h.order = hookjob.Order(hooksOf(rls))
	h.given, h.ran = map[*helmrelease.Hook]int{}, map[int]bool{}
	first := max(0, slices.Index(events, helmrelease.HookEvent(a.Event)))
	if !h.store.Proven(rls.Version) {
		first = len(events)
	}
	h.queue = nil
	for _, event := range events[first:] {
		h.queue = append(h.queue, h.stepsOf(event)...)
	}
	rls.Hooks = make([]*helmrelease.Hook, 0, len(h.all))
	for i, hook := range h.all {
		own := *hook
		own.Events = slices.DeleteFunc(slices.Clone(hook.Events), func(e helmrelease.HookEvent) bool {
			return slices.Contains(events[:first], e)
		})
		own.Weight = slices.Index(h.order, i)
		if own.LastRun.Phase == helmrelease.HookPhaseRunning {
			// Only the hook that Helm starts has this phase.
			own.LastRun.Phase = helmrelease.HookPhaseUnknown
		}
		rls.Hooks = append(rls.Hooks, &own)
		h.given[&own] = i
	}
}

// hooksOf returns the hooks of a release, and its namespace.
func hooksOf(rls *helmrelease.Release) (all []hookjob.Hook, namespace string) {
	for _, h := range rls.Hooks {
		hook := hookjob.Hook{Name: h.Name, Kind: h.Kind, Weight: h.Weight, Manifest: h.Manifest}
		for _, e := range h.Events {
			hook.Events = append(hook.Events, string(e))
		}
		all = append(all, hook)
	}
	return all, rls.Namespace
}

// stepsOf returns the steps of an event in their order, with the progress of the attempt.
func (h *Hooks) stepsOf(event helmrelease.HookEvent) []step {
	var steps []step
	for _, i := range h.order {
		if hook := h.all[i]; slices.Contains(hook.Events, event) {
			steps = append(steps, step{event: event, hook: i, last: hook.LastRun})
		}
	}
	mark := func(name string, p Progress) {
		i := slices.IndexFunc(steps, func(s step) bool { return s.progress == NotStarted && nameOf(h.all[s.hook]) == name })
		if i >= 0 {
			steps[i].progress = p
		}
	}
	if skip := h.attempt.Skipped; skip != nil && event == helmrelease.HookPreUpgrade {
		mark(skip.Hook, Finished)
	}
	if string(event) != h.attempt.Event {
		return steps
	}
	for _, name := range h.attempt.Finished {
		mark(name, Finished)
	}
	if h.attempt.Running != "" {
		mark(h.attempt.Running, Started)
	}
	return steps
}

func nameOf(hook *helmrelease.Hook) string { return hook.Kind + "/" + hook.Name }

// Left reports whether hooks of the attempt were not started.
func (h *Hooks) Left() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.queue) > 0
}

// Run identifies the run of the present hook in the attempt, in each process: by the event and the
// number of the hook. It is empty if no hook runs.
func (h *Hooks) Run() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.current == nil {
		return ""
	}
	return fmt.Sprintf("%s/%d", h.current.event, h.current.hook)
}

// Progress returns how far an earlier process had come with the hook that runs or, if none runs,
// with the next one, and when it started the hook.
func (h *Hooks) Progress() (Progress, time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.current
	if s == nil && len(h.queue) > 0 {
		s = &h.queue[0]
	}
	if s == nil {
		return NotStarted, time.Time{}
	}
	return s.progress, s.last.StartedAt.Time
}

// update stores the revision with all its hooks. It sends no request if Helm starts a hook that an
// earlier process has started.
func (h *Hooks) update(key string, rls *helmrelease.Release) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.updated = rls
	started := h.start(rls)
	if started && h.current.progress != NotStarted {
		return nil
	}
	if status := rls.Info.Status; !started && !status.IsPending() && status != helmrelease.StatusUninstalling {
		h.end()
	}
	return h.write(key, h.whole(rls))
}

// end removes the progress of an action that has ended. Tests that have succeeded keep it: if their
// result does not reach the status, they count as interrupted and are not run again.
func (h *Hooks) end() {
	if h.attempt.Event == string(helmrelease.HookTest) && h.attempt.Running == "" {
		return
	}
	h.attempt.Event, h.attempt.Finished, h.attempt.Running = "", nil, ""
}

// start makes the hook that Helm starts the current one. It reports false if Helm starts none.
func (h *Hooks) start(rls *helmrelease.Release) bool {
	i := slices.IndexFunc(rls.Hooks, func(hook *helmrelease.Hook) bool { return hook.LastRun.Phase == helmrelease.HookPhaseRunning })
	if i < 0 {
		return false
	}
	hook, known := h.given[rls.Hooks[i]]
	if !known {
		return false
	}
	// Tests may be excluded by filters.
	for len(h.queue) > 0 && h.queue[0].hook != hook {
		h.queue = h.queue[1:]
	}
	if len(h.queue) == 0 {
		return false
	}
	s := h.queue[0]
	h.queue, h.current = h.queue[1:], &s
	h.ran[hook] = s.progress != Finished
	if s.progress != NotStarted {
		rls.Hooks[i].LastRun = s.last
		return true
	}
	if h.attempt.Event != string(s.event) {
		h.attempt.Event, h.attempt.Finished = string(s.event), nil
	}
	h.attempt.Running = nameOf(h.all[hook])
	return true
}

// whole returns a release with all hooks, in their present state.
func (h *Hooks) whole(rls *helmrelease.Release) *helmrelease.Release {
	for _, hook := range rls.Hooks {
		i, known := h.given[hook]
		if !known {
			continue
		}
		own := *h.all[i]
		own.DeletePolicies = hook.DeletePolicies
		if h.ran[i] {
			own.LastRun = hook.LastRun
		}
		if h.ran[i] && own.LastRun.Phase == helmrelease.HookPhaseFailed && h.cancelled != nil && h.cancelled() {
			own.LastRun.Phase = helmrelease.HookPhaseUnknown
		}
		h.all[i] = &own
	}
	whole := *rls
	whole.Hooks = h.all
	return &whole
}

func (h *Hooks) write(key string, whole *helmrelease.Release) error {
	if err := h.store.SetAttempt(h.version, h.attempt); err != nil {
		return err
	}
	return h.store.Update(key, whole)
}

// Ended is called when the hook that runs has ended. It stores that the hook has succeeded, which
// Helm itself stores with the next hook only.
func (h *Hooks) Ended(succeeded bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.current
	if h.current = nil; s == nil || !succeeded || s.progress == Finished {
		return nil
	}
	whole := h.whole(h.updated)
	own := *h.all[s.hook]
	own.LastRun.CompletedAt, own.LastRun.Phase = helmtime.Time{Time: h.now()}, helmrelease.HookPhaseSucceeded
	h.all[s.hook] = &own
	h.attempt.Finished, h.attempt.Running = append(slices.Clone(h.attempt.Finished), nameOf(&own)), ""
	return h.write(h.key, whole)
}

// Fail stores that the attempt has failed, so that the next one runs all hooks. It sends no request
// if no hook has run.
func (h *Hooks) Fail() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.updated == nil || h.attempt.Event == "" {
		return nil
	}
	h.attempt.Event, h.attempt.Finished, h.attempt.Running = "", nil, ""
	return h.write(h.key, h.whole(h.updated))
}

// Failed returns the names of the hooks that ran in this process and have not succeeded.
func (h *Hooks) Failed() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var names []string
	for i, hook := range h.all {
		if h.ran[i] && hook.LastRun.Phase != helmrelease.HookPhaseSucceeded {
			names = append(names, hook.Name)
		}
	}
	return names
}
