// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller is the shell around the decisions: what wakes us, the five
// steps of a visit, and the one write that ends it. It knows controller-runtime
// and the API server, and decides nothing about releases.
package controller

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/attempt"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/status"
)

// resolver finds out what a HelmRelease asks for.
type resolver interface {
	Resolve(ctx context.Context, hr *helmv2.HelmRelease) (inputs.Want, error)
	FetchChart(ctx context.Context, hr *helmv2.HelmRelease, want inputs.Want) (inputs.Want, error)
}

// helmRunner reads and changes Helm releases.
type helmRunner interface {
	helmReader
	helmRenderer
	helmMover
	Run(ctx context.Context, getter genericclioptions.RESTClientGetter, job helm.Job) release.Outcome
}

// historyReader reads the revisions of a release: History may answer from the index,
// LiveHistory asks the API server.
type historyReader interface {
	History(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, recorded helmv2.Snapshots) ([]release.Revision, error)
	LiveHistory(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, recorded helmv2.Snapshots) ([]release.Revision, error)
}

// helmReader reads what is stored of a release, and what became of its objects.
type helmReader interface {
	historyReader
	Health(ctx context.Context, getter genericclioptions.RESTClientGetter, job helm.Job, version int) (release.Health, error)
	Inventory(ctx context.Context, getter genericclioptions.RESTClientGetter, job helm.Job, version int) ([]release.Object, error)
	Preserved(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, stored []release.Revision, values map[string]any) (string, error)
	Objects(ctx context.Context, getter genericclioptions.RESTClientGetter, job helm.Job, version int) ([]*resource.Info, error)
}

// helmRenderer renders what was rendered once more, and says whether it has to be.
type helmRenderer interface {
	Rerender(ctx context.Context, getter genericclioptions.RESTClientGetter, job helm.Job, version int) (release.Rerendering, error)
	Reads(ctx context.Context, getter genericclioptions.RESTClientGetter, job helm.Job) (release.Rerendering, error)
	Offers(getter genericclioptions.RESTClientGetter) (string, error)
}

// helmMover checks whether a release can be installed elsewhere, and finds releases
// whose place is not recorded.
type helmMover interface {
	CheckTarget(ctx context.Context, getter genericclioptions.RESTClientGetter, job helm.Job, old release.Target) (release.TargetCheck, error)
	Stray(ctx context.Context, getter genericclioptions.RESTClientGetter, namespace, uid string) (*release.Target, []release.Revision, error)
}

// attempts runs actions in the background.
type attempts interface {
	Begin(ctx context.Context, key types.NamespacedName, info attempt.Info, task attempt.Task) bool
	Running(key types.NamespacedName) *release.Running
	Ended(key types.NamespacedName) (release.Outcome, bool)
	Forget(key types.NamespacedName)
	Cancel(key types.NamespacedName, cause error)
}

// HelmReleaseReconciler makes the cluster match HelmReleases.
type HelmReleaseReconciler struct {
	client   client.Client
	events   record.EventRecorder
	metrics  *metrics.Metrics
	desired  resolver
	helm     helmRunner
	attempts attempts
	drift    driftDetector
	objects  follower
	// where says in which cluster a release lives and who touches it.
	where whereabouts
	// live reads from the API server what must not be behind.
	live client.Reader
	// cached reads metadata of ConfigMaps and Secrets from the cache.
	cached client.Reader
	// helmCharts is held while one is made.
	helmCharts sync.Mutex
	// noCrossNamespaceRefs, externalArtifacts and noConfigWatches are settings.
	noCrossNamespaceRefs bool
	externalArtifacts    bool
	noConfigWatches      bool
	// overriddenManagers have no say in the objects of releases.
	overriddenManagers []string
	// defaults and allowDNS are of every job.
	defaults helmv2.Defaults
	allowDNS bool
	backoff  workqueue.TypedRateLimiter[types.NamespacedName]
	// spread returns d, moved a little at random; stagger something between zero
	// and d.
	spread  func(d time.Duration) time.Duration
	stagger func(d time.Duration) time.Duration
	now     func() time.Time
	written writes
	rest    resting
	bursts  bursts
	// refusals are the releases whose records would be too large.
	refusals refusals
	// outages are the HelmReleases that cannot be reconciled because of an API server.
	outages outages
	// unanswered are the writes of status of which it is not known whether they were carried out.
	unanswered unanswered
	// unread are those of which objects could not be compared because of an API server.
	unread outages
	// rendered are the charts that read the cluster.
	rendered renderings
	// downloads are those that HelmReleases wait for.
	downloads downloads
	// dependencies reads what of other kinds HelmReleases depend on, and awaiting wakes
	// those that wait for it; nil where nobody does.
	dependencies *dependencyObjects
	awaiting     *awaiting
	// standoffs are those that wait for objects of other releases.
	standoffs standoffs
	// holders knows the Operations that keep Helm waiting.
	holders *holders
}

// Reconcile brings one HelmRelease one step closer to what it asks for.
//
//	record   has an attempt ended? tell everyone     report
//	fetch    what should be installed?               desired
//	observe  what is installed?                      helm, drift
//	decide   what is the one thing to do?            release
//	act      announce it, then begin it              attempt, helm, drift
func (r *HelmReleaseReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	hr := &helmv2.HelmRelease{}
	if err := r.client.Get(ctx, req.NamespacedName, hr); err != nil {
		return r.gone(req.NamespacedName, err)
	}
	defer r.timed(req.NamespacedName, r.now())
	if r.written.outdated(hr) {
		return r.result(req.NamespacedName, release.After(staleRetry)), nil
	}
	if present, err := r.ensureFinalizer(ctx, hr); !present {
		return r.unwritten(err)
	}
	r.meet(ctx, hr)
	if sent, carriedOut := r.unanswered.carriedOut(hr); carriedOut {
		return r.published(hr, sent), nil
	}
	before := hr.DeepCopy()
	suspension := release.SuspensionOf(hr.Spec.Suspend, hr.Annotations, r.now())
	// However it came about, it means the same to all that follows.
	hr.Spec.Suspend = suspension.Active

	// In this order: an attempt that ends in between is seen as ended, not missed.
	running := r.attempts.Running(req.NamespacedName)
	if outcome, ended := r.ended(hr); ended {
		return r.publishFinished(ctx, before, outcome)
	}

	want, err := r.fetch(ctx, hr)
	if err != nil && running == nil {
		return r.publishBlocked(ctx, before, hr, err)
	}
	want.Suspension = suspension
	r.attend(req.NamespacedName, want.Desired)
	in := release.Input{Desired: want.Desired, Recorded: hr.Status, Now: r.now()}
	in.Observed.Oversized = r.refusals.of(req.NamespacedName)
	if err := r.holders.inTheWay(ctx, hr, in.Now, &in.Observed); err != nil {
		return r.publishBlocked(ctx, before, hr, err)
	}
	free := running == nil && in.Observed.LockHolder == nil && in.Observed.WaitingOperation == nil
	if left := r.rest.left(hr, want.Desired, in.Now); left > 0 && free {
		return r.atRest(req.NamespacedName, left, in.Now), nil
	}
	way, err := r.observe(ctx, hr, want, running, &in)
	if err != nil {
		return r.publishBlocked(ctx, before, hr, err)
	}

	r.arriving(ctx, hr, &in)
	decision := release.Decide(in)
	ctrl.LoggerFrom(ctx).Info("decided", "rule", decision.Rule, "action", release.Name(decision.Action), "why", decision.Why)
	if !decision.Acts() {
		return r.settle(ctx, before, hr, way, want, decision, in)
	}

	if want, err = r.hold(ctx, hr, want, decision.Action); err != nil {
		return r.publishBlocked(ctx, before, hr, err)
	}
	started := status.Started(hr, decision, want.Desired, in.Now)
	if err := r.announce(ctx, before, started); err != nil {
		return r.unwritten(err)
	}
	r.announced(ctx, hr, decision, in, started)
	if !r.begin(ctx, hr, way, want, in, decision) {
		// Announced and not begun: the next visit decides the same again.
		return r.result(req.NamespacedName, release.After(staleRetry)), nil
	}
	return ctrl.Result{}, nil
}

// atRest ends the visit of a release that was found in sync, and of which nothing has
// changed since.
func (r *HelmReleaseReconciler) atRest(key types.NamespacedName, left time.Duration, now time.Time) ctrl.Result {
	r.outages.over(key)
	r.metrics.Reconciliation(metrics.RuleCached)
	r.metrics.Succeeded(key, now)
	return yielding(r.result(key, release.After(left)))
}

// announced tells of an action whose announcement is written.
func (r *HelmReleaseReconciler) announced(ctx context.Context, hr *helmv2.HelmRelease, d release.Decision, in release.Input, started status.Report) {
	r.outages.over(client.ObjectKeyFromObject(hr))
	r.noteDrift(ctx, hr, d, in, started)
	r.bereave(hr, d, in)
	r.metrics.Reconciliation(d.Rule)
}

// timed observes how long a visit took that is over.
func (r *HelmReleaseReconciler) timed(key types.NamespacedName, begun time.Time) {
	r.metrics.ReconcileDuration(key, r.now().Sub(begun))
}

// gone ends the visit of an object that could not be read. If it does not exist
// any more, nothing is left to record an attempt for. Neither is there if its labels
// say that another controller looks after it now, which may be about to act: what
// runs here is to end.
func (r *HelmReleaseReconciler) gone(key types.NamespacedName, err error) (ctrl.Result, error) {
	if apierrors.IsNotFound(err) {
		r.attempts.Cancel(key, context.Canceled)
		r.attempts.Forget(key)
		r.backoff.Forget(key)
		r.written.forget(key)
		r.unanswered.forget(key)
		r.where.forget(key)
		r.rest.forget(key)
		r.bursts.forget(key)
		r.refusals.forget(key)
		r.outages.over(key)
		r.downloads.forget(key)
		r.awaiting.forget(key)
		r.dependencies.forget(key)
		r.standoffs.forget(key)
		r.uncompare(key)
		r.metrics.Forget(key)
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, err
}

// ended returns the outcome of an attempt of this very object. One made for an
// object of the same name that is gone is nobody's any more.
func (r *HelmReleaseReconciler) ended(hr *helmv2.HelmRelease) (release.Outcome, bool) {
	key := client.ObjectKeyFromObject(hr)
	outcome, ended := r.attempts.Ended(key)
	if ended && outcome.Desired.UID != string(hr.UID) {
		r.attempts.Forget(key)
		return release.Outcome{}, false
	}
	return outcome, ended
}

// fetch finds out what is wanted, and sees to it that the HelmChart exists that
// spec.chart stands for.
func (r *HelmReleaseReconciler) fetch(ctx context.Context, hr *helmv2.HelmRelease) (inputs.Want, error) {
	if hr.DeletionTimestamp.IsZero() && !hr.Spec.Suspend {
		if err := r.ensureHelmChart(ctx, hr); err != nil {
			return inputs.Want{}, err
		}
	}
	want, err := r.desired.Resolve(ctx, hr)
	// Also while an attempt runs: what is being downloaded may supersede it.
	r.downloads.await(client.ObjectKeyFromObject(hr), inputs.DownloadEnded(err))
	r.awaiting.await(client.ObjectKeyFromObject(hr), err)
	return want, err
}

// blockedBy returns what an error tells users.
func blockedBy(err error) *release.Blocked {
	var blocked *release.Blocked
	if errors.As(err, &blocked) {
		return blocked
	}
	return release.BlockedBy(helmv2.ReasonStateError, err, "Reconciliation failed")
}
