// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/trigger"
	"github.com/pintle-dev/pintle/internal/controller/optional"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/watch"
)

// watchable returns an error if a kind that the controller of Operations watches cannot be
// listed. After an upgrade of the image alone, the CRD or the rights to it may be missing.
func watchable(ctx context.Context, live client.Reader, namespace string) error {
	for _, list := range []client.ObjectList{&opsv1alpha1.OperationList{}, &batchv1.JobList{}, &corev1.PodList{}} {
		options := []client.ListOption{client.Limit(1), client.InNamespace(namespace)}
		if _, ours := list.(*opsv1alpha1.OperationList); !ours {
			options = append(options, client.HasLabels{opsv1alpha1.LabelOperation})
		}
		if err := live.List(ctx, list, options...); err != nil {
			return fmt.Errorf("list %T: %w", list, err)
		}
	}
	return nil
}

// Releases is the controller of HelmReleases.
type Releases interface {
	// Enqueue triggers a reconciliation of a HelmRelease.
	Enqueue(key types.NamespacedName)
	// Demands returns what policies demand of a HelmRelease.
	Demands(ctx context.Context, hr *helmv2.HelmRelease) policy.Demands
}

const (
	// watchRefill is the interval at which a Job elsewhere that changes all the time enqueues its
	// Operation.
	watchRefill = 2 * time.Second
	// watchGrace is how long a Job elsewhere is watched after its Operation needs it.
	watchGrace = 30 * time.Second
)

// Add adds the controller of Operations to a manager. The controller starts when the Starter finds
// that Operations can be watched.
func Add(mgr ctrl.Manager, o controller.Options, shared controller.Shared, releases Releases) (*optional.Starter, error) {
	changed := &trigger.Queue{}
	watches := watch.NewRegistry(changed.Enqueue, watch.Options{
		Grace: watchGrace, Refill: watchRefill, Log: mgr.GetLogger().WithName("operations"),
	})
	r := newReconciler(parts{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), identities: impersonator{connections: shared.Connections, scheme: mgr.GetScheme()},
		hooks: o.Helm, values: o.Inputs, releases: releases, watches: watches,
	}, o, shared)
	start := &optional.Starter{
		What: "Operations", Log: mgr.GetLogger().WithName("operations"), Signal: optional.NewSignal(),
		Watchable: func(ctx context.Context) error { return watchable(ctx, mgr.GetAPIReader(), o.WatchedNamespace) },
		Run: func(ctx context.Context) error {
			if err := r.setup(ctx, mgr, changed, o.Concurrent, o.NewQueue); err != nil {
				return err
			}
			shared.Locks.UseCache()
			if o.OperationsServed != nil {
				o.OperationsServed()
			}
			return nil
		},
	}
	return start, errors.Join(mgr.Add(watches), mgr.Add(start))
}

// parts are what a Reconciler reads and writes with.
type parts struct {
	client client.Client
	// live reads past the cache.
	live       client.Reader
	identities identities
	// hooks reads the hooks of releases, values which of their values are secret.
	hooks    hookReader
	values   valueReader
	releases Releases
	watches  watcher
}

func newReconciler(p parts, o controller.Options, shared controller.Shared) *Reconciler {
	written, locked, resumed := &writes{now: o.Now}, &writes{now: o.Now}, &writes{now: o.Now}
	observer := &observer{
		client: p.client, live: p.live, hooks: p.hooks, values: p.values, identities: p.identities, locks: shared.Locks, policies: p.releases.Demands,
		timeout: o.OperationTimeout, cleanupTimeout: o.OperationCleanupTimeout, clusterID: o.ClusterID, now: o.Now,
		locked: locked, resumed: resumed, watches: p.watches, undeleted: &failures{},
	}
	return &Reconciler{
		client: p.client, events: shared.Events, metrics: o.Metrics, locks: shared.Locks, observer: observer,
		actor:   &actor{client: p.client, observer: observer, written: written, locked: locked, resumed: resumed},
		enqueue: p.releases.Enqueue, now: o.Now, written: written,
	}
}
