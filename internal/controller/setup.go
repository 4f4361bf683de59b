// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"math/rand/v2"
	"net/http"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/pintle-dev/pintle/internal/attempt"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/desired"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/options"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

func localReference(name string) *fluxmeta.LocalObjectReference {
	return &fluxmeta.LocalObjectReference{Name: name}
}

// Add builds every controller and registers it with the manager.
func Add(mgr ctrl.Manager, o *options.Options) error {
	conn, err := cluster.Connect(mgr.GetConfig())
	if err != nil {
		return err
	}
	m, err := metrics.New(crmetrics.Registry)
	if err != nil {
		return err
	}
	charts := chart.NewStore(&http.Client{Timeout: o.HTTPTimeout}, o.ArtifactMaxBytes)
	ended := &Wakeups{}
	pool := attempt.NewPool(o.Concurrent, ended.Wake)
	if err := mgr.Add(pool); err != nil {
		return err
	}
	r := &HelmReleaseReconciler{
		client:   mgr.GetClient(),
		events:   mgr.GetEventRecorderFor(helmv2.ControllerName), //nolint:staticcheck // the newer recorder cannot annotate events, which carry the revision
		metrics:  m,
		desired:  desired.NewResolver(mgr.GetClient(), charts),
		helm:     helm.NewRunner(charts, time.Now),
		attempts: pool,
		cluster:  conn,
		backoff: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](
			o.MinRetryDelay, o.MaxRetryDelay),
		spread: spreadBy(o.IntervalJitter),
		now:    time.Now,
	}
	return r.Setup(mgr, o.Concurrent, ended)
}

// spreadBy returns a function that moves a duration by up to percent either way.
func spreadBy(percent int) func(time.Duration) time.Duration {
	return func(d time.Duration) time.Duration {
		part := int64(d) * int64(percent) / 100
		if part <= 0 {
			return d
		}
		return d + time.Duration(rand.Int64N(2*part)-part) //nolint:gosec // spreading load needs no secrecy
	}
}
