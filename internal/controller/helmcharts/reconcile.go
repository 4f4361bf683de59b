// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmcharts

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/helmchart"
	"github.com/pintle-dev/pintle/internal/helmchart/archive"
	"github.com/pintle-dev/pintle/internal/status"
)

const (
	// fieldOwner is the field manager of the objects that are made. Fields that others add stay.
	fieldOwner = client.FieldOwner("pintle-helmcharts")
	// deletedRetry is the pause until an object that is being deleted is looked for again.
	deletedRetry = 5 * time.Second
)

// Reconciler reconciles HelmCharts.
type Reconciler struct {
	// client reads through the cache, and live past it.
	client client.Client
	live   client.Reader
	// referenced has the metadata of objects that HelmCharts reference.
	referenced client.Reader
	// secrets has the secretVersion of each HelmChart.
	secrets sync.Map
	events  controller.EventRecorder
	// enqueue triggers a reconciliation of a HelmRelease.
	enqueue func(types.NamespacedName)
	// connections and records read releases that exist.
	connections           *controller.ConnectionFinder
	records               records
	defaultServiceAccount string
	externalArtifacts     bool
	// asK3s reinstalls failed releases even if they hold claims.
	asK3s    bool
	now      func() time.Time
	archives *archives
}

// Reconcile makes and keeps the objects of one HelmChart, and mirrors the state of its release. Its
// deletion deletes them by their owner references.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	c := &cattlev1.HelmChart{}
	if err := r.client.Get(ctx, req.NamespacedName, c); err != nil {
		r.archives.forget(req.NamespacedName)
		r.secrets.Delete(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !helmchart.Manages(c) {
		return ctrl.Result{}, r.handOver(ctx, c)
	}
	if !c.DeletionTimestamp.IsZero() {
		if result, ends, err := r.ended(ctx, c); ends {
			return result, err
		}
	}
	in, err := r.gather(ctx, c)
	var made *helmv2.HelmRelease
	if err == nil {
		made, err = r.make(ctx, in)
	}
	found, err := obstacleOf(err)
	if err != nil {
		return retry(err)
	}
	taken := replaced(c, made, found.refusal != nil)
	if made != nil && (in.Before == nil || taken) {
		if err := r.keepAccount(ctx, c, made); err != nil {
			return retry(err)
		}
	}
	if made == nil {
		// A HelmChart that is refused keeps what it had.
		made = in.Before
	}
	if err := r.mirror(ctx, c, status.HelmChartInput{
		Recorded: c.Status, Refusal: found.refusal, Release: made, Policy: helmchart.FailurePolicy(in), Ignored: helmchart.Ignored(c.Spec),
	}); err != nil {
		return retry(err)
	}
	switch {
	case taken:
		return retry(r.dropFinalizer(ctx, c))
	case found.again > 0:
		return after(found.again), nil
	}
	return after(r.archives.next(req.NamespacedName, isLost(in.Before))), nil
}

// ended reports whether nothing is made for a HelmChart that is being deleted: the garbage collector
// deletes its objects, or a Job of k3s' controller uninstalls its release. Otherwise that controller has
// left its finalizer and has not begun, so that the HelmRelease must uninstall.
func (r *Reconciler) ended(ctx context.Context, c *cattlev1.HelmChart) (result ctrl.Result, ends bool, err error) {
	if !hasFinalizer(c) {
		return ctrl.Result{}, true, nil
	}
	exists, finished, err := r.uninstalls(ctx, c)
	switch {
	case err != nil:
		result, err = retry(err)
	case finished:
		result, err = retry(r.dropFinalizer(ctx, c))
	case exists:
		result = after(deletedRetry)
	default:
		return ctrl.Result{}, false, nil
	}
	return result, true, err
}

// obstacle is why not all objects of a HelmChart were made; zero if all were.
type obstacle struct {
	// refusal is nil if the obstacle will pass.
	refusal *helmchart.Refusal
	// again is the pause until the next attempt; zero if an event follows.
	again time.Duration
}

// obstacleOf returns the obstacle that an error states, or the error.
func obstacleOf(err error) (obstacle, error) {
	if refusal, is := errors.AsType[*helmchart.Refusal](err); is {
		o := obstacle{refusal: refusal}
		if refusal.Reason == cattlev1.ReasonNameTaken {
			o.again = deletedRetry
		}
		return o, nil
	}
	if u, is := errors.AsType[*unfinished](err); is {
		return obstacle{again: min(u.left, deletedRetry)}, nil
	}
	switch {
	case errors.Is(err, errDeleted):
		return obstacle{again: deletedRetry}, nil
	case errors.Is(err, errDownloading):
		return obstacle{}, nil
	}
	return obstacle{}, err
}

// retry returns the result of a write that failed. A conflict means that the cache is behind. In a
// namespace that is being deleted nothing can be made, and the HelmChart is deleted too.
func retry(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return after(controller.StaleRetry), nil
	}
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

func after(d time.Duration) ctrl.Result { return ctrl.Result{RequeueAfter: d} }

// mirror writes the status of a HelmChart, and emits the events about its change.
func (r *Reconciler) mirror(ctx context.Context, c *cattlev1.HelmChart, in status.HelmChartInput) error {
	now, all := status.HelmChart(in)
	if equality.Semantic.DeepEqual(c.Status, now) {
		return nil
	}
	written := c.DeepCopy()
	written.Status = now
	if err := r.client.Status().Patch(ctx, written, client.MergeFromWithOptions(c, client.MergeFromWithOptimisticLock{}), fieldOwner); err != nil {
		return err
	}
	controller.Emit(r.events, written, all...)
	return nil
}

// offer sets the artifact of an ExternalArtifact, from which the chart is read again by its digest.
func (r *Reconciler) offer(ctx context.Context, c *cattlev1.HelmChart, a *helmchart.Archive) error {
	source := &sourcev1.ExternalArtifact{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(c), source); err != nil {
		return err
	}
	if have := source.Status.Artifact; have != nil && have.URL == a.URL && have.Digest == a.Digest {
		return nil
	}
	offered := source.DeepCopy()
	offered.Status.Artifact = &fluxmeta.Artifact{URL: a.URL, Path: strings.TrimPrefix(a.URL, "http://"+archive.Host+"/"), Digest: a.Digest, Revision: a.Revision, LastUpdateTime: metav1.Now()}
	return r.client.Status().Patch(ctx, offered, client.MergeFromWithOptions(source, client.MergeFromWithOptimisticLock{}), fieldOwner)
}

// archiveKept emits an event about a read that failed while an older version of the archive is kept.
func (r *Reconciler) archiveKept(c *cattlev1.HelmChart, err error) {
	controller.Emit(r.events, c, status.HelmChartArchiveKept(err.Error()))
}

// record writes the revision of a release that is taken over into the status of its HelmRelease.
func (r *Reconciler) record(ctx context.Context, made *helmv2.HelmRelease, found *existing) error {
	recorded := made.DeepCopy()
	recorded.Status = status.TakenOver(made.Status, made.Spec.StorageNamespace, found.revision, found.objects)
	return r.client.Status().Patch(ctx, recorded, client.MergeFrom(made), fieldOwner)
}
