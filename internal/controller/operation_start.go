// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
)

// operationsRetry is how often it is asked whether Operations can be watched, if
// nobody tells that something has changed.
const operationsRetry = 10 * time.Minute

// operationsStart starts the Operation controller once there are Operations. Those
// who take an image and keep their definitions have none, and perhaps no rights to
// them either: a controller that watched them would end the process.
type operationsStart struct {
	live client.Reader
	log  logr.Logger
	// namespace is the only one that is watched; empty is all.
	namespace string
	begin     func(ctx context.Context) error
	// changed gets something when the API server may offer other kinds than before.
	changed chan struct{}
}

// tell says that the API server may offer other kinds than before. It never blocks.
func (s *operationsStart) tell() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Start implements manager.Runnable.
func (s *operationsStart) Start(ctx context.Context) error {
	var said string
	for {
		err := s.watchable(ctx)
		if err == nil {
			s.log.Info("Operations are served")
			return s.begin(ctx)
		}
		if why := err.Error(); why != said && ctx.Err() == nil {
			said = why
			s.log.Info("Operations are not served until their definition and the rights to them are there", "cause", why)
		}
		select {
		case <-s.changed:
			// What is defined is not served at once.
			if !pause(ctx, time.Second) {
				return nil
			}
		case <-time.After(operationsRetry):
		case <-ctx.Done():
			return nil
		}
	}
}

// pause reports whether a time has passed before ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// watchable returns why what the Operation controller watches cannot be; nil if it
// can.
func (s *operationsStart) watchable(ctx context.Context) error {
	for _, list := range []client.ObjectList{&opsv1alpha1.OperationList{}, &batchv1.JobList{}, &corev1.PodList{}} {
		options := []client.ListOption{client.Limit(1), client.InNamespace(s.namespace)}
		if _, ours := list.(*opsv1alpha1.OperationList); !ours {
			options = append(options, client.HasLabels{opsv1alpha1.LabelOperation})
		}
		if err := s.live.List(ctx, list, options...); err != nil {
			return fmt.Errorf("list %T: %w", list, err)
		}
	}
	return nil
}

// addOperations lets a manager serve Operations beside HelmReleases.
func (r *HelmReleaseReconciler) addOperations(mgr ctrl.Manager, p Parts, wake func(client.ObjectKey)) (*operationsStart, error) {
	r.holders = &holders{cached: mgr.GetClient(), live: mgr.GetAPIReader()}
	o := &OperationReconciler{
		client:    mgr.GetClient(),
		live:      mgr.GetAPIReader(),
		events:    r.events,
		metrics:   p.Metrics,
		hooks:     p.Helm,
		values:    p.Desired,
		delegates: delegates{where: &r.where},
		holders:   r.holders,
		wake:      wake,
		timeout:   p.OperationTimeout,
		clusterID: p.ClusterID,
		now:       p.Now,
	}
	start := &operationsStart{
		live: mgr.GetAPIReader(), log: mgr.GetLogger().WithName("operations"), namespace: p.WatchedNamespace, changed: make(chan struct{}, 1),
		begin: func(ctx context.Context) error {
			if err := o.setup(ctx, mgr, p.Concurrent); err != nil {
				return err
			}
			r.holders.served.Store(true)
			return nil
		},
	}
	return start, mgr.Add(start)
}
