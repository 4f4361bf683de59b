// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

// uid is the HelmRelease's; the name and namespace of everything are fixed too,
// because nothing in a scenario depends on them.
const (
	// uid is the UID of the HelmRelease. Names and namespaces are fixed too, because no scenario
	// depends on them.
	uid       = "11111111-2222-3333-4444-555555555555"
	name      = "web"
	namespace = "apps"
	// conflictUID is the UID of another HelmRelease.
	conflictUID = "99999999-2222-3333-4444-555555555555"
	// took is the duration of a Helm action.
	took = 2 * time.Second
)

// World is one HelmRelease, the process that reconciles it, and Helm.
type World struct {
	now     time.Time
	hr      *helmv2.HelmRelease
	want    release.Desired
	blocked *release.Blocked
	// stores maps "<storage namespace>/<release name>" to storage.
	stores  map[string]*storage
	options options
	// notReady is true while the objects of the newest revision are not ready.
	notReady bool
	// live is the difference between live objects and the newest revision.
	live      release.Drift
	conflicts []release.Conflict
	// obstacle is the result of a check of the target, without the stored revisions. unchecked is
	// true if the check cannot be completed.
	obstacle  release.TargetCheck
	unchecked bool
	// lockHolder and waiting are the Operations that hold the lock or wait for it.
	lockHolder, waiting *release.Operation
	// debounce has the changes of inputs since the last install or upgrade.
	debounce *release.Debounce
	// dependents are other HelmReleases that depend on this one.
	dependents []release.Dependent
	gone       bool
	// usedCLI is true after a use of the Helm CLI, and installedByCLI after `helm install`.
	usedCLI, installedByCLI bool

	access access

	// forcing is the token of the last announced force, and forced the last one whose end is
	// recorded. unrecorded is true from the announcement of an install or upgrade until its end is
	// recorded.
	forcing, forced string
	unrecorded      bool

	// The memory of the process, which a crash loses.
	running   *action
	ended     *release.Outcome
	oversized *release.Oversized

	// The reconciliation that is played.
	out    printer
	retry  release.Retry
	writes int
	// paused is true if the reconciliation left no immediate work.
	paused bool
}

// New returns a world in which the HelmRelease was just created.
func New() *World {
	w := &World{
		now: time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC),
		hr: &helmv2.HelmRelease{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: uid, Generation: 1},
			Status:     helmv2.HelmReleaseStatus{ObservedGeneration: -1},
		},
		want: release.Desired{
			UID:    uid,
			Target: release.Target{Name: name, Namespace: namespace, StorageNamespace: namespace},
			Chart:  release.Chart{Name: name, Version: "1.0.0"},
			Policy: release.Policy{
				Interval: 10 * time.Minute, UninstallTimeout: 5 * time.Minute,
				Install:   release.ActionPolicy{Timeout: 5 * time.Minute, Uninstall: true},
				Upgrade:   release.ActionPolicy{Timeout: 5 * time.Minute},
				Reinstall: true,
			},
		},
		stores:  map[string]*storage{},
		options: options{maxHistory: 5},
	}
	w.want.ConfigDigest = digestOf("")
	w.out.remember(&w.hr.Status)
	return w
}

// digestOf stands for the digest of values.
func digestOf(values string) string { return "sha256:of-" + values }

// reconcile plays one reconciliation and, after an action, the one that records it.
func (w *World) reconcile(helm helmResult, die string) error {
	w.writes, w.retry, w.paused = 0, release.Never(), false
	if w.gone {
		w.out.line("gone")
		w.paused = true
		return nil
	}
	if err := w.reconcileOnce(helm, die); err != nil {
		return err
	}
	if w.ended != nil && die == "" {
		if err := w.record(""); err != nil {
			return err
		}
	}
	if die == "" || die == "events" {
		w.out.line("requeue=%s writes=%d", w.retry, w.writes)
	}
	return w.check()
}

// reconcileOnce mirrors Reconcile of the controller.
func (w *World) reconcileOnce(helm helmResult, die string) error {
	if w.ended != nil {
		return w.record(die)
	}
	want := w.desired()
	if w.blocked != nil && !want.Deleted && !want.Suspension.Active && w.running == nil {
		return w.settle(func(hr *helmv2.HelmRelease) status.Report { return status.Blocked(hr, w.blocked, w.now) }, die)
	}
	in := w.input(want)
	var blocked *release.Blocked
	if in.Observed.Unreachable, blocked = w.unreachable(want); blocked != nil {
		return w.settle(func(hr *helmv2.HelmRelease) status.Report { return status.Blocked(hr, blocked, w.now) }, die)
	}
	d := release.Decide(in)
	if err := checkDecision(in, d); err != nil {
		return err
	}
	w.out.decision(d)
	if err := w.checkForce(d, want); err != nil {
		return err
	}
	if d.Acts() && w.lockHolder != nil {
		return fmt.Errorf("%s although an Operation holds the lock", release.Name(d.Action))
	}
	if d.Acts() {
		return w.act(d, in, helm, die)
	}
	if _, ok := d.Action.(release.Finalize); ok {
		w.gone, w.paused = true, true
		w.out.line("finalizer removed")
		w.emit(status.Finalized(d, in))
		if d.State == release.StateAbsent {
			return w.leftBehind()
		}
		return nil
	}
	if wait, ok := d.Action.(release.Wait); ok && wait.Cancel {
		w.cancel(wait.Outdated)
	}
	if _, ok := d.Action.(release.Adopt); ok && die != "announce" && !in.Observed.Newest().Interrupted {
		w.releaseEnded()
	}
	return w.settle(func(hr *helmv2.HelmRelease) status.Report { return status.Settled(hr, d, in) }, die)
}

// input returns the Input of a decision, as the controller would.
func (w *World) input(want release.Desired) release.Input {
	in := release.Input{Desired: want, Recorded: w.hr.Status, Now: w.now}
	if w.running != nil {
		in.Observed.Running = &release.Running{
			Action:     helmv2.ReleaseAction(release.Name(w.running.kind)),
			Generation: w.running.want.Generation, Started: w.running.started, Desired: w.running.want,
		}
	}
	in.Observed.Conflicts = w.conflicts
	if want.Deleted && w.running == nil {
		in.Observed.Dependents = w.dependents
	}
	in.Observed.Oversized = w.oversized
	in.Observed.LockHolder, in.Observed.WaitingOperation = w.lockHolder, w.waiting
	if w.debounce != nil {
		recent := *w.debounce
		in.Observed.Debounce = &recent
	}
	if release.MustReadHistory(want, w.hr.Status, in.Observed.Running) {
		in.Observed.Revisions = w.revisions(in)
		if release.MustFindStray(in) {
			w.findStray(&in)
		}
	}
	if release.MustCheckTarget(in) {
		in.Observed.Target = w.checkTarget(in)
	}
	if release.MustInspect(in) {
		in.Observed.Health = &release.Health{Ready: !w.notReady}
	}
	if release.MustCompare(in) {
		found := w.live
		in.Observed.Drift = &found
	}
	return in
}

// desired mirrors the resolution of inputs. A deleted or suspended HelmRelease needs no chart.
func (w *World) desired() release.Desired {
	d := w.want
	d.Generation = w.hr.Generation
	d.Requests = release.RequestsOf(w.hr.Annotations)
	d.Deleted = !w.hr.DeletionTimestamp.IsZero()
	if d.Deleted {
		d.DeletedAt = w.hr.DeletionTimestamp.Time
	}
	d.Deletion = release.DeletionOf(w.hr.Annotations)
	d.Suspension = release.SuspensionOf(w.hr.Spec.Suspend, w.hr.Annotations, w.now)
	if d.Deleted || d.Suspension.Active {
		d.Chart, d.ConfigDigest = release.Chart{}, ""
	}
	return d
}

// act announces an action and runs it until its end or a crash.
func (w *World) act(d release.Decision, in release.Input, helm helmResult, die string) error {
	want, found := in.Desired, release.TakenOver(in, d)
	if die == "announce" {
		w.die()
		return nil
	}
	started := status.Started(w.hr, d, want, w.now)
	if equality.Semantic.DeepEqual(started.Status, w.hr.Status) {
		return fmt.Errorf("the announcement of %s changes nothing", release.Name(d.Action))
	}
	if err := w.write(started.Status); err != nil {
		return err
	}
	w.out.status("announced", &w.hr.Status)
	w.emit(started.Events)
	w.unrecorded = w.unrecorded || isRelease(d.Action)
	if d.Rule == release.RuleForced {
		w.forcing = want.Requests.Force
	}
	if die == "begin" {
		w.die()
		return nil
	}
	if release.AppliesDesired(d.Action) {
		w.debounce = nil
	}
	if !isRelease(d.Action) && release.Name(d.Action) != string(helmv2.ActionRollback) {
		// The action creates no revision.
		helm.percent = 0
	}
	if helm.refuses() {
		w.running = &action{kind: d.Action, want: want, started: w.now, store: w.target(d.Action, want), refused: helm.err()}
	} else {
		w.running = w.target(d.Action, want).begin(d.Action, want, uid, w.now)
	}
	w.running.found, w.running.size = found, helm.size()
	if die == "run" {
		w.die()
		return nil
	}
	if helm.kind == "running" && w.running.refused == nil {
		w.out.stored(w.running.store.observed())
		return nil
	}
	w.finish(helm.ending(w.now))
	if die == "record" {
		w.die()
	}
	return nil
}

// finish ends the running action. Its outcome is recorded later.
func (w *World) finish(e ending) {
	w.now = w.now.Add(took)
	o, store := w.running.end(e, w.now), w.running.store
	o.TakenOver, o.Record = w.running.found, w.running.size
	if a, ok := o.Action.(release.CorrectDrift); ok {
		w.correct(a, &o)
	}
	w.running, w.ended = nil, &o
	w.out.stored(store.observed())
}

// cancel ends the running action early.
func (w *World) cancel(outdated bool) {
	w.out.line("cancelled")
	w.finish(ending{cause: errors.New("context canceled"), waiting: true, cancelled: true, outdated: outdated})
}

// die ends the process and drops its memory.
func (w *World) die() {
	w.running, w.ended, w.oversized = nil, nil, nil
	w.out.stored(w.current().observed())
	w.out.line("died")
}

// record writes an outcome to status.
func (w *World) record(die string) error {
	o := *w.ended
	if die == "record" {
		w.die()
		return nil
	}
	rep := status.Finished(w.hr, o, w.now)
	if err := w.publish(rep, die); err != nil {
		return err
	}
	if isRelease(o.Action) && !o.EndedEarly() {
		w.releaseEnded()
	}
	switch {
	case o.Oversized():
		w.oversized = status.SizeExceeded(o)
	case o.Stored():
		w.oversized = nil
	}
	w.ended = nil
	return nil
}

// settle ends a reconciliation without an action. Without an immediate requeue, a repetition must
// have the same result.
func (w *World) settle(end func(*helmv2.HelmRelease) status.Report, die string) error {
	if die == "announce" {
		w.die()
		return nil
	}
	if err := w.publish(end(w.hr), die); err != nil {
		return err
	}
	if w.retry.IsNow() {
		return nil
	}
	w.paused = true
	return checkStable(w.hr, end)
}

// publish writes a changed status, then emits events.
func (w *World) publish(rep status.Report, die string) error {
	if !equality.Semantic.DeepEqual(rep.Status, w.hr.Status) {
		if err := w.write(rep.Status); err != nil {
			return err
		}
	}
	w.retry = rep.Retry
	w.out.status("", &w.hr.Status)
	if die == "events" {
		w.running, w.ended, w.oversized = nil, nil, nil
		w.out.line("died")
		return nil
	}
	w.emit(rep.Events)
	return nil
}

func (w *World) emit(events []status.Event) {
	for _, e := range events {
		w.out.event(e)
	}
}

// write stores a status by way of JSON, as the API server does. It returns an error if a field is
// lost, because the next reconciliation would then write it again.
func (w *World) write(status helmv2.HelmReleaseStatus) error {
	raw, err := json.Marshal(status)
	if err != nil {
		return err
	}
	var back helmv2.HelmReleaseStatus
	if err := json.Unmarshal(raw, &back); err != nil {
		return err
	}
	if !equality.Semantic.DeepEqual(status, back) {
		return fmt.Errorf("storing the status loses fields: %s", raw)
	}
	w.hr.Status = back
	w.writes++
	return nil
}
