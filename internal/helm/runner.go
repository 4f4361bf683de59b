// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package helm runs the Helm SDK: it reads the history of a release, runs one
// action, waits for objects, and records what Helm stored.
//
// With chart it is the only room that knows Helm. It decides nothing: which
// action to run is given, and what came of it is returned as a release.Outcome.
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
	"helm.sh/helm/v3/pkg/storage"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/chart"
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
	index   *Index
	now     func() time.Time
	memo    memo
	packer  packer
	offered offerDigest
	// followers are shared by all jobs, so that they share watches.
	followers followers
	// reserved are the objects that jobs are about to have.
	reserved reservations
	// large is held by the job whose chart takes much memory to render.
	large chan struct{}
}

// NewRunner returns a runner that takes charts from charts. The index, which may
// be nil, is of the cluster that local connections lead to. The first call must be
// over before any other.
func NewRunner(charts *chart.Store, index *Index, now func() time.Time) *Runner {
	// Helm keeps the name it signs its writes with in a package variable. It is
	// the reference's name, so that a release changes hands without a change of
	// field ownership.
	if kube.ManagedFieldsManager != helmv2.FieldManager {
		kube.ManagedFieldsManager = helmv2.FieldManager
	}
	r := &Runner{charts: charts, index: index, now: now, large: make(chan struct{}, 1)}
	if index != nil {
		index.forget = r.memo.forget
	}
	return r
}

// Remembered returns how many stored revisions are known without being read, and
// roughly how many bytes that takes.
func (r *Runner) Remembered() (revisions int, bytes int64) { return r.memo.stats() }

// Run performs a job and returns when Helm has stopped writing. Cancelling ctx
// does not stop Helm, which could leave things half done: it ends the waits, and
// Helm then records the failure itself.
func (r *Runner) Run(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job) release.Outcome {
	out := release.Outcome{Action: job.Action, Desired: job.Desired, Started: r.now()}
	redact := newRedactor(job.Secrets)
	getter, job.retrier = r.withRetries(ctx, getter, job)
	defer job.retrier.End()
	run, err := r.prepare(ctx, getter, job, redact)
	if err == nil {
		defer run.adoption.end()
		if err = run.perform(ctx, job); err == nil {
			err = run.store.unrecorded()
		}
		out.Revisions = run.store.revisions()
		out.Logs = run.logs.lines()
		var unlisted error
		out.Inventory, unlisted = run.inventory()
		out.Unlisted = redact.error(unlisted)
		out.Diagnosis = redact.diagnosis(run.client.inquest.found(err))
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
	store  *recorder
	logs   *logBuffer
	gate   *gate
	// adoption knows whose objects are that are new to the release.
	adoption *adoption
	// crds are the objects in the crds folders of the chart.
	crds kube.ResourceList
	// size is what the new revision's record takes, if people are to be told.
	size  *release.RecordSize
	large chan struct{}
}

func (r *Runner) prepare(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job, redact redactor) (*run, error) {
	secrets, err := secretsOf(getter, job.target().StorageNamespace)
	if err != nil {
		return nil, err
	}
	logs := newLogBuffer(logr.FromContextOrDiscard(ctx), r.now, redact)
	store := &recorder{
		secretStore: newSecretStore(ctx, secrets, job.target().StorageNamespace, job.target().Name, r.now),
		uid:         job.Desired.UID, mark: job.mark(ctx), redact: redact, memo: &r.memo,
	}
	store.packer = &r.packer
	var local bool
	if store.way, local, _ = wayOf(getter); local {
		store.index = r.index
	}
	kc := kube.New(getter)
	kc.Log = logs.printf
	kc.Namespace = job.target().Namespace
	c := &client{
		Client: kc, ctx: ctx, origin: job.Origin, idle: job.Idle, told: job.Applied, retrier: job.retrier,
		objects: &builder{getter: getter, namespace: kc.Namespace}, getter: shared(getter), followers: &r.followers,
		inquest: newInquest(job, r.now),
	}
	if job.retrier != nil {
		// Waits and repeated requests share the slot of the job.
		c.idle = job.retrier.ReleaseSlot
	}
	c.attempt = store.attempt
	c.inquest.own = redact.own
	if c.manner, err = job.manner(store); err != nil {
		return nil, err
	}
	gate := &gate{Driver: store, client: c}
	if c.adoption, err = r.adoption(getter, job, c); err != nil {
		return nil, err
	}
	releases := storage.Init(gate)
	releases.Log = logs.printf
	return &run{
		charts: r.charts, client: c, store: store, logs: logs, gate: gate, large: r.large, adoption: c.adoption,
		config: &action.Configuration{
			RESTClientGetter: getter, Releases: releases, KubeClient: c, Log: logs.printf,
		},
	}, nil
}

// observe prepares for a look at a stored revision that stores nothing.
func (r *Runner) observe(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job, redact redactor) (*run, error) {
	run, err := r.prepare(ctx, getter, job, redact)
	if err == nil {
		r.sparing(getter, run.store.secretStore)
	}
	return run, err
}

// sparing has a store not read again what History has read, by the same way, of which
// nothing newer is known since. Install, upgrade, and all else that Run does, read again.
// What corrects drift does not: the manifest of a revision does not change, and live
// objects are looked at.
func (r *Runner) sparing(getter genericclioptions.RESTClientGetter, s *secretStore) *secretStore {
	way, _, _ := wayOf(getter)
	s.lately = func(key string) *corev1.Secret { return r.memo.body(way, s.namespace, key) }
	return s
}

// mark returns the label of a revision that the job marks as failed because it
// was cut off: the job is being ended on purpose, or, when it unlocks, the process
// that worked on the revision died. Neither counts as a failure.
func (j *Job) mark(ctx context.Context) func() string {
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
// Helm's own, where nobody can catch one.
func (r *run) perform(ctx context.Context, job Job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			logr.FromContextOrDiscard(ctx).Error(r.store.redact.error(fmt.Errorf("%v", p)), "Helm panicked", "stack", string(debug.Stack()))
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
