// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"fmt"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"helm.sh/helm/v3/pkg/kube"

	"github.com/pintle-dev/pintle/internal/readiness"
	"github.com/pintle-dev/pintle/internal/release"
)

// Waiter waits for the objects of one action. Write results may be added concurrently; there is
// one wait at a time.
type Waiter struct {
	Options
	// ctx ends waits. The interfaces of Helm, through which waits are started, pass none.
	ctx context.Context //nolint:containedctx // a Waiter lives as long as one action
	// results are the answers to writes that no wait has used yet.
	results
	classes classes
	// cause is the diagnosis of the first wait that failed.
	cause *release.Diagnosis
}

// New returns a Waiter whose waits end when ctx does.
func New(ctx context.Context, options Options) *Waiter { return &Waiter{Options: options, ctx: ctx} }

// Readiness configures a wait for the objects of a release. The zero value waits until they are
// ready or the action is outdated.
type Readiness struct {
	// Jobs is true if the wait lasts until all Jobs have completed.
	Jobs bool
	// Outdated is true if the wait continues when the action is outdated.
	Outdated bool
	// Late, if set, is called once if the wait takes longer than five seconds.
	Late func()
}

// UntilReady waits until all objects are ready.
func (w *Waiter) UntilReady(list kube.ResourceList, timeout time.Duration, r Readiness) error {
	c, err := w.readyCondition(r.Jobs)
	if err != nil {
		return err
	}
	c.endsWhenOutdated, c.late, c.diagnosed = !r.Outdated, r.Late, true
	return w.wait(list, timeout, c)
}

// UntilDone waits for hooks: Jobs and Pods must end, other objects must exist. A Job may retry its
// Pods until the timeout; one that has failed for good ends the wait.
func (w *Waiter) UntilDone(list kube.ResourceList, timeout time.Duration) error {
	c := poll(withRules(w.HookChecks, readiness.HookDone))
	c.target, c.lost = true, &status.Result{Status: status.FailedStatus, Message: "was deleted before it was seen to complete"}
	c.diagnosed, c.role = true, w.HookRole
	return w.wait(list, timeout, c)
}

// UntilDeleted waits until all objects are gone. An object that was replaced by another one of
// the same name is gone.
func (w *Waiter) UntilDeleted(list kube.ResourceList, timeout time.Duration) error {
	c := poll(readiness.Gone)
	c.target = true
	return w.wait(list, timeout, c)
}

// UntilEstablished waits until CRDs are established. The user's checks do not apply to them.
func (w *Waiter) UntilEstablished(list kube.ResourceList, timeout time.Duration) error {
	return w.wait(list, timeout, poll(readiness.Ready))
}

// Health reads all objects once and returns whether they are ready, as UntilReady would.
func (w *Waiter) Health(list kube.ResourceList, jobs bool) (release.Health, error) {
	c, err := w.readyCondition(jobs)
	if err != nil {
		return release.Health{}, err
	}
	all := objectsOf(list)
	eachOf(all, func(o *object) { o.read(c) })
	ready := true
	for _, o := range all {
		ready = ready && o.current()
	}
	reasons, failures := reasonsOf(all)
	return release.Health{Ready: ready, Waiting: append(failures, reasons...)}, nil
}

// Look reads all objects once and returns them with their readiness, as UntilReady would have it. It
// returns an error if an object cannot be read.
func (w *Waiter) Look(list kube.ResourceList, jobs bool) ([]Seen, error) {
	c, err := w.readyCondition(jobs)
	if err != nil {
		return nil, err
	}
	all := objectsOf(list)
	eachOf(all, func(o *object) {
		if o.read(c); c.check == nil && o.err == nil {
			// A check of Helm's own reads the object for itself.
			o.live, o.err = get(o.info)
		}
	})
	seen := make([]Seen, len(all))
	for i, o := range all {
		if o.err != nil && o.live == nil {
			return nil, fmt.Errorf("%s: %w", ObjectName(o.info), o.err)
		}
		seen[i] = Seen{Object: UnreadyObject(o.info, o.live), Exists: o.live != nil, Ready: o.current()}
		seen[i].Object.Failed = o.err == nil && o.result.Status == status.FailedStatus
		if !seen[i].Ready && o.err == nil {
			seen[i].Object.Status = describe(o.info, o.result)
		}
	}
	return seen, nil
}

// Seen is an object that was read once.
type Seen struct {
	// Object describes it, as for a diagnosis. Status is a line about an object that is not ready.
	Object release.UnreadyObject
	// Exists is false if the API server does not have it.
	Exists, Ready bool
}

// Diagnosis returns the cause of the first wait that failed, nil if none was found.
func (w *Waiter) Diagnosis() *release.Diagnosis { return w.cause }

// readyCondition returns the condition that objects are ready.
func (w *Waiter) readyCondition(jobs bool) (condition, error) {
	if w.Legacy {
		return legacy(w.ctx, w.Clients, w.Log, jobs)
	}
	if jobs {
		return poll(withRules(w.Checks, w.withUnusedClaims(readiness.ReadyWithJobs))), nil
	}
	return poll(withRules(w.Checks, w.withUnusedClaims(readiness.Ready))), nil
}

// wait returns when the condition holds or can no longer hold.
func (w *Waiter) wait(list kube.ResourceList, timeout time.Duration, c condition) error {
	l := &loop{
		condition: c, ctx: w.ctx, options: &w.Options, results: &w.results, pending: objectsOf(list), inbox: newInbox(),
		diagnosis: diagnosis{ctx: w.ctx, options: &w.Options, cause: &w.cause, diagnosed: c.diagnosed, role: c.role},
	}
	return l.wait(timeout)
}
