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

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

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
	// attacked is true after a line "forge". saved are the records that an attacker has copied.
	attacked bool
	saved    map[int]*release.Revision

	access access
	// demands are what policies demand.
	demands policy.Demands

	// forcing is the token of the last announced force, and forced the last one whose end is
	// recorded. unrecorded is true from the announcement of an install or upgrade until its end is
	// recorded.
	forcing, forced string
	unrecorded      bool

	// plan is the ReleasePlan; nil if there is none. changes are those that the next one states.
	plan    *plan
	changes []v1alpha1.PlanChange
	dangers []v1alpha1.PlanDanger
	plans   int

	// The memory of the process, which a crash loses.
	running *action
	// elsewhere is the action that another process has resumed.
	elsewhere *action
	ended     *release.Outcome
	oversized *release.Oversized
	// accepted is the token of a requested run of the tests that has not begun.
	accepted string
	// void is the digest of a plan that would not do any more what it states.
	void string
	// suspended is spec.suspend at the last report of this process; nil without one.
	suspended *bool

	// The reconciliation that is played.
	out    printer
	retry  release.Retry
	writes int
	// paused is true if the reconciliation left no immediate work.
	paused bool
}

// plan is the ReleasePlan of the HelmRelease. Each computed plan has another digest, as if the chart
// rendered otherwise each time.
type plan struct {
	digest, basis string
	action        v1alpha1.PlanAction
	changes       []v1alpha1.PlanChange
	dangers       []v1alpha1.PlanDanger

	approved, approvedBy, rejected, rejection string
	// override is the override that was not used yet; nil if there is none. overridden is its digest.
	override   *release.Override
	overridden string
	// replace names the objects that are replaced, and voidReplace is why that has no effect.
	replace     *v1alpha1.PlanReplace
	voidReplace string
}

// object returns the plan as a ReleasePlan.
func (p *plan) object() *v1alpha1.ReleasePlan {
	o := &v1alpha1.ReleasePlan{}
	o.Spec = v1alpha1.ReleasePlanSpec{Approved: p.approved, ApprovedBy: p.approvedBy, Rejected: p.rejected, Replace: p.replace}
	o.Status = v1alpha1.ReleasePlanStatus{Digest: p.digest, Action: p.action, Changes: p.changes}
	for _, c := range p.changes {
		if c.Change == v1alpha1.ChangeRefused {
			o.Status.Summary.Refused++
		}
	}
	return o
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
			UID: uid, Namespace: namespace,
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
	if !d.Deleted {
		d.Hold = release.HoldOf(w.hr.Annotations, w.now)
		d = d.InPlace(w.hr.Status)
	}
	planned := d.Requests.Plan != d.Requests.PlanHandled
	if d.Deleted || d.Suspension.Active && !planned || d.Hold.Active && w.blocked != nil {
		d.Chart, d.ConfigDigest = release.Chart{}, ""
	}
	return demanded(d, w.demands, w.hr.Status, w.running.observed())
}

// act announces an action and runs it until its end or a crash.
func (w *World) act(d release.Decision, in release.Input, helm helmResult, die string) error {
	want, found := in.Desired, release.TakenOver(in, d)
	if test, _ := d.Action.(release.Test); test.Request != "" {
		w.accept(test.Request)
		want.Target = release.ObservedTarget(in)
	}
	if die == "announce" {
		w.die()
		return nil
	}
	started := withSuspension(w, status.Started(w.hr, d, want, w.now))
	started.Events = append(started.Events, status.DependentsLeft(d, in)...)
	if equality.Semantic.DeepEqual(started.Status, w.hr.Status) {
		return fmt.Errorf("the announcement of %s changes nothing", release.Name(d.Action))
	}
	if err := w.write(started.Status); err != nil {
		return err
	}
	w.suspended = new(w.hr.Spec.Suspend)
	w.out.status("announced", &w.hr.Status)
	if err := checkEvents(started.Events); err != nil {
		return err
	}
	w.out.events(started.Events)
	w.unrecorded = w.unrecorded || isRelease(d.HelmAction())
	if d.Rule == release.RuleForced {
		w.forcing = want.Requests.Force
	}
	if die == "begin" {
		w.die()
		return nil
	}
	if release.AppliesDesired(d.HelmAction()) {
		w.debounce = nil
	}
	w.accepted = ""
	helm = helm.against(d.HelmAction())
	if !isRelease(d.HelmAction()) && release.Name(d.HelmAction()) != string(helmv2.ActionRollback) {
		// The action creates no revision.
		helm.percent = 0
	}
	if helm.refuses() {
		w.running = &action{kind: d.HelmAction(), want: want, started: w.now, store: w.target(d.HelmAction(), want), refused: helm.err()}
	} else {
		w.running = w.target(d.HelmAction(), want).begin(d.HelmAction(), want, uid, w.now, w.hr.Status.History)
	}
	w.running.found, w.running.size = found, helm.size()
	if to := stageOf(die); to > 0 || die == "run" {
		w.running.reach(to)
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

// accept records a requested run of the tests as handled.
func (w *World) accept(token string) {
	if w.hr.Annotations[helmv2.AnnotationTestAt] == "" || release.RequestsOf(w.hr.Annotations).TestHandled == token {
		return
	}
	w.accepted = token
	handle(w, helmv2.AnnotationTestAt, token)
}

// handle records a request as handled.
func handle(w *World, request, token string) {
	w.hr.Annotations[helmv2.AnnotationHandled] = release.WithHandled(w.hr.Annotations, request, token)
	w.out.line("handled %s", w.hr.Annotations[helmv2.AnnotationHandled])
}

// finish ends the running action. Its outcome is recorded later.
func (w *World) finish(e ending) {
	w.now = w.now.Add(took)
	if w.running.told && e.cause != nil && !e.elsewhere && !e.shutdown && e.outage == "" {
		e.cancelled, e.outdated = true, true
	}
	o, store := w.running.end(e, w.now), w.running.store
	o.TakenOver, o.Record = w.running.found, w.running.size
	if a, ok := o.Action.(release.CorrectDrift); ok {
		w.correct(a, &o)
	}
	if o.PlanVoid {
		w.void = w.plan.digest
	}
	w.running, w.ended = nil, &o
	w.out.hooks(store)
	w.out.stored(store.observed())
}

// cancel ends the running action early.
func (w *World) cancel(outdated bool) {
	w.out.line("cancelled")
	w.finish(ending{cause: errors.New("context canceled"), waiting: true, cancelled: true, outdated: outdated})
}

// die ends the process and drops its memory.
func (w *World) die() {
	w.running, w.ended, w.oversized, w.accepted, w.void = nil, nil, nil, "", ""
	w.suspended = nil
	for _, store := range w.stores {
		w.out.hooks(store)
	}
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
	rep := withSuspension(w, status.Finished(w.hr, o, w.now))
	if err := w.publish(rep, die); err != nil {
		return err
	}
	if isRelease(o.Action) && !o.EndedEarly() && !o.Deferred() {
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
	bare := end
	end = func(hr *helmv2.HelmRelease) status.Report {
		return status.WithSuspension(bare(hr), hr, release.SuspensionOf(hr.Spec.Suspend, hr.Annotations, w.now), w.suspended, w.now)
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

func withSuspension(w *World, r status.Report) status.Report {
	return status.WithSuspension(r, w.hr, release.SuspensionOf(w.hr.Spec.Suspend, w.hr.Annotations, w.now), w.suspended, w.now)
}

// publish writes a changed status, then emits events.
func (w *World) publish(rep status.Report, die string) error {
	if !equality.Semantic.DeepEqual(rep.Status, w.hr.Status) {
		if err := w.write(rep.Status); err != nil {
			return err
		}
	}
	w.retry, w.suspended = rep.Retry, new(w.hr.Spec.Suspend)
	w.out.status("", &w.hr.Status)
	if die == "events" {
		w.running, w.ended, w.oversized, w.accepted = nil, nil, nil, ""
		w.out.line("died")
		return nil
	}
	if err := checkEvents(rep.Events); err != nil {
		return err
	}
	w.out.events(rep.Events)
	return nil
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
	return w.noteRecorded()
}
