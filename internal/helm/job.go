// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	"helm.sh/helm/v3/pkg/action"
	helmrelease "helm.sh/helm/v3/pkg/release"
	helmstorage "helm.sh/helm/v3/pkg/storage"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/cel"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/helm/apply"
	"github.com/pintle-dev/pintle/internal/helm/redact"
	"github.com/pintle-dev/pintle/internal/helm/revision"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/render/remote"
)

// Origin identifies the HelmRelease of an object.
type Origin = apply.Origin

// OwnerCandidates finds the HelmReleases of the Helm release that the ownership metadata of an
// object names.
type OwnerCandidates = apply.OwnerCandidates

// Job is one action and its input. The chart and the values belong to the job alone.
type Job struct {
	Action  release.HelmAction
	Desired release.Desired
	// History is the history of the HelmRelease. It proves stored revisions that have no seal.
	History helmv2.Snapshots
	// Spec holds the options of the action.
	Spec helmv2.HelmReleaseSpec
	// Origin is the HelmRelease. All objects get labels with its name.
	Origin Origin
	// Artifact and Values are set for install and upgrade only.
	Artifact chart.Artifact
	Values   map[string]any
	// Secrets are texts that are removed from the outcome, from logs, and from the description that
	// Helm stores with a revision.
	Secrets []string
	// Layers, if set, returns the layers of Values, the one with the lowest precedence first. Plans and
	// forecasts need them.
	Layers func() []plan.Layer
	// Skips are the hooks that an upgrade may leave out, because Operations have run them.
	Skips []release.Skip
	// Defaults are the defaults of options according to the feature gates.
	Defaults helmv2.Defaults
	// AllowDNS enables the template function getHostByName.
	AllowDNS bool
	// Lookups, if set, returns the connection of templates, given the connection of the release.
	// Without it, templates read with the identity of the release.
	Lookups func(*rest.Config) *rest.Config
	// Idle, if set, is called when the action starts to wait. The function that it returns is
	// called before the action continues, and may block.
	Idle func() (resume func())
	// Examiner, if set, finds the causes of failed waits. It is called when a wait has failed, and
	// when an object has not changed for 20 s.
	Examiner Examiner
	// Patient disables the early end of waits that cannot succeed.
	Patient bool
	// OwnerCandidates, if set, finds the HelmReleases of other releases. Without it, only Helm's
	// storage shows whether those exist.
	OwnerCandidates OwnerCandidates
	// Applied, if set, is called with each object that was applied on the server: the sent object
	// and the answer. It must not change or keep them. It is called concurrently.
	Applied func(info *resource.Info, sent, answer *unstructured.Unstructured)

	// plans is true if the job only computes a plan.
	plans bool
	// retrier repeats the requests of the job; nil if each request is sent once.
	retrier *apiretry.Retrier
}

// target returns the release that the job changes. A release that is uninstalled or unlocked may
// have another target than the desired one.
func (j *Job) target() release.Target {
	switch a := j.Action.(type) {
	case release.Uninstall:
		return a.Target
	case release.Unlock:
		return a.Target
	case release.Install, release.Upgrade, release.Test, release.Rollback, release.Recheck, release.FailBake, release.CorrectDrift:
	}
	return j.Desired.Target
}

// attempt describes the attempt of the job. Without an action, the job needs none.
func (j *Job) attempt() release.Attempt {
	attempt := release.Attempt{Action: helmv2.ReleaseAction(release.Name(j.Action)), Inputs: release.InputsOf(j.Desired)}
	switch a := j.Action.(type) {
	case release.Install:
		attempt.Plan = a.Plan.Digest
		return attempt
	case release.Upgrade:
		attempt.TakeOver, attempt.Plan = a.TakeOver, a.Plan.Digest
		return attempt
	case release.Rollback:
		attempt.RollbackTo, attempt.Hold, attempt.Plan = a.Version, a.Hold, a.Plan.Digest
		return attempt
	case release.Test:
		attempt.Inputs, attempt.Request = release.Inputs{}, a.Request
		return attempt
	case release.Uninstall:
		attempt.Inputs, attempt.Plan = release.Inputs{}, a.Plan.Digest
		return attempt
	case release.Unlock, release.Recheck, release.FailBake, release.CorrectDrift:
	}
	return release.Attempt{}
}

// storedManifests returns which manifests the action builds that are stored ones.
func (j *Job) storedManifests() apply.StoredManifests {
	switch j.Action.(type) {
	case release.Upgrade:
		return apply.SecondStored
	case release.Rollback:
		return apply.FirstStored
	case release.Uninstall, release.Recheck, release.FailBake:
		return apply.AllStored
	case release.Install, release.Test, release.Unlock, release.CorrectDrift:
	}
	return apply.NoneStored
}

// failureLabel returns the label of a revision that fails because the job is interrupted or
// outdated. A job that unlocks labels a revision whose process died. Neither counts as a failure.
func (j *Job) failureLabel(ctx context.Context) func() string {
	_, unlocking := j.Action.(release.Unlock)
	return func() string {
		switch {
		case unlocking:
			return helmv2.LabelInterrupted
		case errors.Is(context.Cause(ctx), release.ErrOutdated):
			return helmv2.LabelOutdated
		case ctx.Err() != nil:
			return helmv2.LabelInterrupted
		}
		return ""
	}
}

// waitsForJobs reports whether an action waits for Jobs when it waits for objects.
func waitsForJobs(spec helmv2.HelmReleaseSpec, made helmv2.ReleaseAction) bool {
	if made == helmv2.ActionInstall {
		return !spec.GetInstall().DisableWait && !spec.GetInstall().DisableWaitForJobs
	}
	if made == helmv2.ActionRollback {
		return !spec.GetRollback().DisableWait && !spec.GetRollback().DisableWaitForJobs
	}
	return !spec.GetUpgrade().DisableWait && !spec.GetUpgrade().DisableWaitForJobs
}

// waitOptions returns the readiness checks of a spec.
func waitOptions(spec helmv2.HelmReleaseSpec, defaults helmv2.Defaults) (o wait.Options, err error) {
	o.Legacy = spec.GetWaitStrategy(defaults) == helmv2.WaitLegacy
	if !o.Legacy {
		o.Checks, err = cel.CompileReadinessChecks(spec.HealthCheckExprs)
	}
	return o, err
}

// waitOptions returns the readiness checks of the job. The user's checks apply to hooks only if
// the action waits for its objects, and never to tests. Checks that cannot be compiled do not
// prevent the removal of a release.
func (j *Job) waitOptions() (wait.Options, error) {
	o, err := waitOptions(j.Spec, j.Defaults)
	o.Examiner, o.Patient, o.HookRole, o.Namespace = j.Examiner, j.Patient, release.RoleHook, j.target().Namespace
	waits := true
	switch j.Action.(type) {
	case release.Install:
		waits = !j.Spec.GetInstall().DisableWait
	case release.Upgrade:
		waits = !j.Spec.GetUpgrade().DisableWait
	case release.Rollback:
		waits = !j.Spec.GetRollback().DisableWait
	case release.Uninstall:
		waits = !j.Spec.GetUninstall().DisableWait
		err = nil
	case release.Unlock:
		err = nil
	case release.Test:
		waits = false
		o.HookRole = release.RoleTest
	case release.Recheck, release.FailBake, release.CorrectDrift:
	}
	if waits {
		o.HookChecks = o.Checks
	}
	return o, err
}

// run is the state of one job.
type run struct {
	job      Job
	runner   *Runner
	getter   genericclioptions.RESTClientGetter
	charts   *chart.Store
	remote   *remote.Client
	config   *action.Configuration
	client   *apply.Client
	store    *storage.Driver
	gate     *revision.Gate
	redact   redact.Redactor
	logs     *redact.Log
	findings *findings
	// fill, if set, adds the rendered content to a new revision.
	fill func(*helmrelease.Release)
	// size is the size of the new revision's record, if it is reported.
	size *release.RecordSize
}

// prepare returns the state of a job. The caller must close its client.
func (r *Runner) prepare(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job, redactor redact.Redactor) (*run, error) {
	run := &run{
		job: job, runner: r, getter: getter, charts: r.charts, remote: r.remote, redact: redactor,
		logs:     redact.NewLog(logr.FromContextOrDiscard(ctx), r.now, redactor),
		findings: &findings{examiner: job.Examiner, redact: redactor, namespace: job.target().Namespace, given: job.Secrets},
	}
	var err error
	run.store, err = r.storage.Open(ctx, getter, job.target(), storage.Options{
		UID: job.Desired.UID, History: job.History, Attempt: job.attempt(), SourceRevision: job.Desired.SourceRevision, Plan: release.PlanOf(job.Action),
		FailureLabel: job.failureLabel(ctx), Redact: redactor.Text, Stop: job.retrier.Stop,
	})
	if err != nil {
		return nil, err
	}
	run.gate = revision.NewGate(run.store, job.target().Name, job.Action, r.now)
	run.gate.Skips = job.Skips
	run.gate.Next, run.gate.Read = run.prepareRevision, run.findings.addRevisions
	waits, err := job.waitOptions()
	if err != nil {
		return nil, err
	}
	waits.Getter, waits.Watches, waits.Idle, waits.Secrets, waits.Now = sharedConnection(getter), &r.watches, job.Idle, run.findings.secrets, r.now
	if job.retrier != nil {
		// Waits and repeated requests share the slot of the job.
		waits.Idle = job.retrier.ReleaseSlot
	}
	run.client, err = apply.New(ctx, apply.Options{
		Getter: getter, Log: run.logs.Printf, Target: job.target(), UID: job.Desired.UID, Origin: job.Origin, Waits: waits,
		Reservations: &r.reservations, OwnerCandidates: job.OwnerCandidates, Record: run.record(), Findings: run.findings, Applied: job.Applied,
		Stored: job.storedManifests(), Repeat: job.retrier.Do, Keeps: job.keeps(isLocal(getter)),
		FailedSince: func(before int) (storage.Manifest, []storage.FailedRevision, error) {
			return storage.FailedSince(run.store, before)
		},
		Unproven: run.store.Unproven,
	})
	if err != nil {
		return nil, err
	}
	releases := helmstorage.Init(run.gate)
	releases.Log = run.logs.Printf
	run.config = &action.Configuration{RESTClientGetter: getter, Releases: releases, KubeClient: run.client, Log: run.logs.Printf}
	return run, nil
}

// record is the record of the revision that an action works on, for the client.
type record struct {
	*storage.Driver

	hooks *revision.Hooks
	// installs is true for an install that runs hooks.
	installs bool
}

// record returns the record for the client of the run.
func (r *run) record() record {
	_, installs := r.job.Action.(release.Install)
	return record{Driver: r.store, hooks: r.gate.Hooks, installs: installs && !r.job.Spec.GetInstall().DisableHooks}
}

// HookRun implements apply.Record.
func (r record) HookRun() string { return r.hooks.Run() }

// HookProgress implements apply.Record.
func (r record) HookProgress() (revision.Progress, time.Time) { return r.hooks.Progress() }

// HookEnded implements apply.Record.
func (r record) HookEnded(succeeded bool) error { return r.hooks.Ended(succeeded) }

// WaitsWhenOutdated implements apply.Record. An upgrade does not run the hooks of an install, so
// that an install is not cut short before they have run.
func (r record) WaitsWhenOutdated() bool { return r.installs && r.hooks.Left() }

// prepareRevision is called before a new revision is checked and stored.
func (r *run) prepareRevision(rls *helmrelease.Release) {
	if r.fill != nil {
		r.fill(rls)
	}
	r.client.Preflight.EndLookups()
	r.client.Leftovers.BeforeRevision(rls.Version)
	r.findings.addRevisions(rls)
	r.job.retrier.Own(r.client.Own())
}

// chooseMethod sets the apply method when the new revision is stored, since Helm has read the
// history by then. In mode auto it is the method of the given revision; 0 stands for the last one.
func (r *run) chooseMethod(mode helmv2.ServerSideApplyMode, version int, force bool) {
	r.gate.Choose = func(last int) {
		m := apply.NextMethod(r.store, mode, version, last, force)
		if force && m.ServerSide {
			r.logs.Printf("force has no meaning for server-side apply and is ignored")
		}
		r.client.Begin(m)
		r.store.SetApplyMethod(apply.MethodName(m.ServerSide))
	}
}
