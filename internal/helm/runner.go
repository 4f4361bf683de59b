// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/cancel"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/helm/apply"
	"github.com/pintle-dev/pintle/internal/helm/redact"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/render"
	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/worker"
)

// Runner runs jobs. It may be used concurrently, with one job at a time for a release.
type Runner struct {
	charts  *chart.Store
	remote  *remote.Client
	storage *storage.Store
	now     func() time.Time
	digests render.CapabilitiesDigests
	// watches and reservations are shared by all jobs.
	watches      wait.Watches
	reservations apply.Reservations
	// faults are the last faults of the API servers.
	faults apiretry.Faults
}

// setFieldManager sets the field manager of Helm, which is a variable of its package. It is the
// field manager of helm-controller too, so that fields keep their owner when a release moves
// between the two.
var setFieldManager = sync.OnceFunc(func() { kube.ManagedFieldsManager = helmv2.FieldManager }) //nolint:gochecknoglobals // as Helm's variable

// NewRunner returns a runner that takes charts from charts, and renders them with workers. The index describes the storage of
// the cluster of local connections, and the key seals records; both may be nil.
func NewRunner(charts *chart.Store, workers worker.Caller, index *storage.Index, key *storage.SealKey, now func() time.Time) *Runner {
	setFieldManager()
	return &Runner{charts: charts, remote: remote.New(workers), storage: storage.New(index, key, now), now: now}
}

// Run runs a job and returns when Helm has stopped writing. Cancelling ctx does not stop Helm,
// which would leave the action half done. It ends the waits, and Helm then records the failure.
func (r *Runner) Run(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job) release.Outcome {
	out := release.Outcome{Action: job.Action, Desired: job.Desired, Started: r.now()}
	redactor := redact.New(job.Secrets)
	getter, job.retrier = r.withRetries(ctx, getter, job)
	defer job.retrier.End()
	run, err := r.prepare(ctx, getter, job, redactor)
	if err == nil {
		defer run.client.Close()
		if err = run.perform(ctx); err == nil {
			err = run.store.UpdateError()
		}
		if cause := run.interruption(); err != nil && cause != nil {
			err = cause
		}
		run.report(&out, err)
	}
	out.Err, out.Cancelled = redactor.Error(redact.OneLine(err)), err != nil && ctx.Err() != nil
	if errors.Is(err, storage.ErrOvertaken) {
		out.Err = fmt.Errorf("%w: %w", release.ErrResumedElsewhere, out.Err)
	}
	out.PlanVoid = errors.Is(err, release.ErrPlanVoid)
	_, out.Denied = errors.AsType[apply.Denial](err)
	out.Interrupted = outageOf(job.retrier, err)
	out.Outdated = out.Cancelled && errors.Is(context.Cause(ctx), release.ErrOutdated) && !errors.Is(err, release.ErrShutdown)
	out.Ended = r.now()
	return out
}

// perform runs the action. A panic while Helm renders or uninstalls ends the job and not the
// process. Installs and upgrades apply and wait on goroutines of Helm, whose panics cannot be
// recovered.
func (r *run) perform(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			logr.FromContextOrDiscard(ctx).Error(r.redact.Error(fmt.Errorf("%v", p)), "Helm panicked", "stack", string(debug.Stack()))
			err = fmt.Errorf("%s panicked: %v", release.Name(r.job.Action), p)
		}
	}()
	switch a := r.job.Action.(type) {
	case release.Install:
		if a.Resume != 0 {
			return r.resume(ctx, r.install(ctx, a), a.Resume)
		}
		return r.create(ctx, r.install(ctx, a))
	case release.Upgrade:
		if a.Resume != 0 {
			return r.resume(ctx, r.upgrade(a), a.Resume)
		}
		return r.create(ctx, r.upgrade(a))
	case release.Test:
		return r.test(ctx, a)
	case release.Rollback:
		return r.rollback(ctx, a)
	case release.Recheck:
		return r.recheck(ctx, a)
	case release.FailBake:
		return r.failBake(ctx, a)
	case release.Uninstall:
		return r.uninstall(ctx, a)
	case release.Unlock:
		return unlock(r.config.Releases, a)
	case release.CorrectDrift:
	}
	return fmt.Errorf("%s is no action of Helm's", release.Name(r.job.Action))
}

// interruption returns why requests of the job are no longer sent: the process ends, a server
// does not answer, or another client has written the record. It returns nil if there is no reason.
func (r *run) interruption() error {
	return r.job.retrier.Stopped()
}

// report adds the results of the job to its outcome.
func (r *run) report(out *release.Outcome, err error) {
	out.Revisions = r.store.Revisions()
	out.Logs = r.logs.Lines()
	if manifest, stored := r.store.NewestManifest(); stored {
		var unlisted error
		out.Inventory, unlisted = r.client.Inventory(manifest)
		out.Unlisted = r.redact.Error(unlisted)
	}
	out.Skipped, out.Kept = r.client.Skipped.List(), r.redact.Texts(r.client.Kept())
	if err == nil {
		out.Changes = r.findings.changes(r.client.Changes.List(), release.Resumed(r.job.Action) != 0)
	}
	out.Diagnosis = r.redact.Diagnosis(r.findings.diagnosis(err, r.client.Waiter.Diagnosis()))
	if bake, is := r.job.Action.(release.FailBake); is && err != nil && out.Diagnosis == nil {
		out.Diagnosis = r.redact.Diagnosis(bake.Trouble)
	}
	out.Cause = r.findings.cause(err)
	out.Cause.Text = r.redact.Text(out.Cause.Text)
	conflicts, adopted := r.client.Ownership()
	if len(out.Revisions) > 0 {
		out.Adopted = adopted
	} else if out.Owners = conflicts; len(conflicts) > 0 {
		out.Diagnosis = nil
	}
	out.HookLogs = r.redact.Logs(r.findings.hookLogs)
	out.Record = r.redact.Size(r.size)
}

// retriable is a connection whose requests can be repeated.
type retriable interface {
	// Local reports whether the cluster is the controller's own.
	Local() bool
	// Server returns the address of the API server for messages.
	Server() string
	// WithRetrier returns a connection that repeats requests.
	WithRetrier(r *apiretry.Retrier) genericclioptions.RESTClientGetter
	// Shared returns the connection that WithRetrier was called on.
	Shared() genericclioptions.RESTClientGetter
}

// withRetries returns a connection that repeats the requests of a job, and its retrier. The retrier
// is nil if the connection does not support that.
func (r *Runner) withRetries(ctx context.Context, getter genericclioptions.RESTClientGetter, job Job) (genericclioptions.RESTClientGetter, *apiretry.Retrier) {
	connection, ok := getter.(retriable)
	if !ok {
		return getter, nil
	}
	// Newer inputs only end waits. The action may go on for long, and needs its requests.
	retrier := apiretry.New(cancel.Ending(ctx), apiretry.Options{
		Now: r.now, Server: connection.Server(), Timeout: release.TimeoutOf(job.Action), ReleaseSlot: job.Idle, StopCause: release.ErrShutdown,
		Faults: &r.faults, Remote: !connection.Local(),
		Log: logr.FromContextOrDiscard(ctx),
	})
	return connection.WithRetrier(retrier), retrier
}

// sharedConnection returns the connection that the jobs of an identity share.
func sharedConnection(getter genericclioptions.RESTClientGetter) genericclioptions.RESTClientGetter {
	if connection, ok := getter.(retriable); ok {
		return connection.Shared()
	}
	return getter
}

// outageOf returns the outage that interrupted a failed job; nil if there was none. A job that had no
// worker to render its chart has stored nothing, and is interrupted, too.
func outageOf(r *apiretry.Retrier, err error) *release.Outage {
	outage := r.Outage()
	if outage == nil {
		outage = apiretry.OutageOf(err)
	}
	if err == nil || outage == nil {
		return nil
	}
	return &release.Outage{Server: outage.Server, Since: outage.Since, Cause: outage.Cause, Webhook: outage.Webhook}
}
