// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	helmstorage "helm.sh/helm/v3/pkg/storage"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/release"
)

// Job is one action to run, with all it needs. Chart bytes and values belong to
// the job alone.
type Job struct {
	Action  release.Action
	Desired release.Desired
	// Spec holds the options of the action.
	Spec helmv2.HelmReleaseSpec
	// Origin is the HelmRelease: every rendered object is labelled with it.
	Origin Origin
	// Artifact and Values are set for install and upgrade only.
	Artifact chart.Artifact
	Values   map[string]any
	// Secrets are texts that must not appear in what the outcome says, nor in
	// logs, nor in the description that Helm stores with a revision.
	Secrets []string
	// Defaults are what feature gates make of options that are not set.
	Defaults helmv2.Defaults
	// AllowDNS lets templates look up names.
	AllowDNS bool
	// Idle, if set, is called when Helm begins to do nothing but wait. The
	// function it returns is called before Helm goes on and may block.
	Idle func() (resume func())
	// Examiner, if set, says why waits fail. It is asked when one has, and when an
	// object has been silent for 20 s.
	Examiner Examiner
	// Patient lets waits last as long as they may, even if what they wait for will
	// certainly not come about.
	Patient bool
	// Claimants, if set, finds the HelmReleases behind other releases. Without, only
	// Helm's storage tells whether those live.
	Claimants Claimants
	// Applied, if set, is told of every object that was applied on the server: what
	// was sent and what was answered, neither of which it may change or keep. It is
	// called concurrently.
	Applied func(info *resource.Info, sent, answer *unstructured.Unstructured)

	// retrier repeats the requests of the job; nil if the connection sends each once.
	retrier *apiretry.Retrier
}

// Origin names the HelmRelease an object comes from.
type Origin struct{ Name, Namespace string }

// Runner runs jobs. It may be used concurrently, for one release at a time.
type Runner struct {
	charts  *chart.Store
	storage *storage.Store
	now     func() time.Time
	offered offerDigest
	// watches are shared by all jobs.
	watches wait.Watches
	// reserved are the objects that jobs are about to have.
	reserved reservations
	// large is held by the job whose chart takes much memory to render.
	large chan struct{}
}

// NewRunner returns a runner that takes charts from charts. The index describes the storage of
// the cluster of local connections; it may be nil. The first call must return before any other
// call.
func NewRunner(charts *chart.Store, index *storage.Index, now func() time.Time) *Runner {
	// Helm keeps the name it signs its writes with in a package variable. It is
	// the reference's name, so that a release changes hands without a change of
	// field ownership.
	if kube.ManagedFieldsManager != helmv2.FieldManager {
		kube.ManagedFieldsManager = helmv2.FieldManager
	}
	return &Runner{charts: charts, storage: storage.New(index, now), now: now, large: make(chan struct{}, 1)}
}

// Run performs a job and returns when Helm has stopped writing. Cancelling ctx
// does not stop Helm, which could leave things half done: it ends the waits, and
// Helm then records the failure itself.
func (r *Runner) Run(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job) release.Outcome {
	out := release.Outcome{Action: job.Action, Desired: job.Desired, Started: r.now()}
	redact := newRedactor(job.Secrets)
	getter, job.retrier = r.withRetries(ctx, getter, job)
	defer job.retrier.End()
	run, err := r.prepare(ctx, getter, job, redact, false)
	if err == nil {
		defer run.adoption.end()
		if err = run.perform(ctx, job); err == nil {
			err = run.store.UpdateError()
		}
		out.Revisions = run.store.Revisions()
		out.Logs = run.logs.lines()
		var unlisted error
		out.Inventory, unlisted = run.inventory()
		out.Unlisted = redact.error(unlisted)
		out.Diagnosis = redact.diagnosis(run.client.diagnosis(err))
		out.Owners, out.Adopted = run.ownership()
		if len(out.Owners) > 0 {
			out.Diagnosis = nil
		}
		out.HookLogs = redact.logs(run.client.inquest.hookLogs)
		out.Record = redact.size(run.size)
	}
	out.Err, out.Cancelled = redact.error(inLine(err)), err != nil && ctx.Err() != nil
	out.Interrupted = outageOf(job.retrier, err)
	out.Outdated = out.Cancelled && errors.Is(context.Cause(ctx), release.ErrOutdated)
	out.Ended = r.now()
	return out
}

// run is the state of one job.
type run struct {
	charts *chart.Store
	config *action.Configuration
	client *client
	store  *storage.Driver
	redact redactor
	// beforeStore, if set, changes a new revision before it is stored.
	beforeStore func(*helmrelease.Release) error
	logs        *logBuffer
	gate        *gate
	// adoption knows whose objects are that are new to the release.
	adoption *adoption
	// crds are the objects in the crds folders of the chart.
	crds kube.ResourceList
	// size is what the new revision's record takes, if people are to be told.
	size  *release.RecordSize
	large chan struct{}
}

// prepare returns the state of a job. With readCache, stored revisions may come from the read
// cache of the storage.
func (r *Runner) prepare(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job, redact redactor, readCache bool) (*run, error) {
	logs := newLogBuffer(logr.FromContextOrDiscard(ctx), r.now, redact)
	run := &run{charts: r.charts, redact: redact, logs: logs, large: r.large}
	var err error
	run.store, err = r.storage.Open(ctx, getter, job.target(), storage.Options{
		UID: job.Desired.UID, FailureLabel: job.failureLabel(ctx), Prepare: run.prepareRevision, Redact: redact.text, ReadCache: readCache,
	})
	if err != nil {
		return nil, err
	}
	kc := kube.New(getter)
	kc.Log = logs.printf
	kc.Namespace = job.target().Namespace
	c := &client{
		Client: kc, ctx: ctx, origin: job.Origin, told: job.Applied, retrier: job.retrier,
		objects: &builder{getter: getter, namespace: kc.Namespace}, inquest: newInquest(job),
		attempt: run.store.Attempt, setApplied: run.store.SetApplied, storeApplied: run.store.StoreApplied,
	}
	c.inquest.own = redact.own
	waits, err := job.waitOptions()
	if err != nil {
		return nil, err
	}
	waits.Getter, waits.Watches, waits.Clients, waits.Log = shared(getter), &r.watches, kc.Factory.KubernetesClientSet, c.Log
	waits.Idle, waits.Secrets, waits.Now = job.Idle, c.inquest.secrets, r.now
	if job.retrier != nil {
		// Waits and repeated requests share the slot of the job.
		waits.Idle = job.retrier.ReleaseSlot
	}
	c.waiter = wait.New(ctx, waits)
	if c.adoption, err = r.adoption(getter, job, c); err != nil {
		return nil, err
	}
	run.client, run.adoption, run.gate = c, c.adoption, &gate{Driver: run.store, client: c}
	releases := helmstorage.Init(run.gate)
	releases.Log = logs.printf
	run.config = &action.Configuration{RESTClientGetter: getter, Releases: releases, KubeClient: c, Log: logs.printf}
	return run, nil
}

// prepareRevision changes a new revision before it is stored.
func (r *run) prepareRevision(rls *helmrelease.Release) error {
	if r.beforeStore == nil {
		return nil
	}
	return r.beforeStore(rls)
}

// observe returns the state of a job that stores nothing. The manifest of a revision does not
// change, so it may come from the read cache; live objects are read.
func (r *Runner) observe(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job, redact redactor) (*run, error) {
	return r.prepare(ctx, getter, job, redact, true)
}

// failureLabel returns the label of a revision that fails because the job is interrupted or
// superseded. A job that unlocks labels a revision whose process died. Neither counts as a
// failure.
func (j *Job) failureLabel(ctx context.Context) func() string {
	_, unlocking := j.Action.(release.Unlock)
	return func() string {
		switch {
		case unlocking:
			return helmv2.LabelInterrupted
		case errors.Is(context.Cause(ctx), release.ErrOutdated):
			return helmv2.LabelOutdated
		case ctx.Err() != nil, j.retrier.Outage() != nil:
			return helmv2.LabelInterrupted
		}
		return ""
	}
}

// target is the release the job works on: what is uninstalled or unlocked may
// have been elsewhere.
func (j *Job) target() release.Target {
	switch a := j.Action.(type) {
	case release.Uninstall:
		return a.Target
	case release.Unlock:
		return a.Target
	case release.Install, release.Upgrade, release.Test, release.Rollback, release.Recheck, release.CorrectDrift,
		release.Finalize, release.Adopt, release.Forget, release.Settle, release.Wait, release.Stall:
	}
	return j.Desired.Target
}

// perform runs the action. A panic while Helm renders or uninstalls ends the job,
// not the controller; installs and upgrades apply and wait on goroutines of
// Helm's own, where a panic cannot be recovered.
func (r *run) perform(ctx context.Context, job Job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			logr.FromContextOrDiscard(ctx).Error(r.redact.error(fmt.Errorf("%v", p)), "Helm panicked", "stack", string(debug.Stack()))
			err = fmt.Errorf("%s panicked: %v", release.Name(job.Action), p)
		}
	}()
	switch a := job.Action.(type) {
	case release.Install:
		return r.install(ctx, job, a)
	case release.Upgrade:
		return r.upgrade(ctx, job, a)
	case release.Test:
		return r.test(job, a)
	case release.Rollback:
		return r.rollback(job, a)
	case release.Recheck:
		return r.heal(job, a)
	case release.Uninstall:
		return r.uninstall(job, a)
	case release.Unlock:
		return r.unlock(a)
	case release.CorrectDrift, release.Finalize, release.Adopt, release.Forget, release.Settle, release.Wait, release.Stall:
	}
	return fmt.Errorf("%s is no action of Helm's", release.Name(job.Action))
}
