// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"

	"github.com/fluxcd/pkg/runtime/pprof"
	"github.com/fluxcd/pkg/runtime/probes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/events"
	"github.com/pintle-dev/pintle/internal/options"
)

// newManager returns a manager without controllers. Its clients write only while this replica
// leads.
func newManager(config *rest.Config, e *election, o *options.Options) (ctrl.Manager, error) {
	config = rest.CopyConfig(withoutRateLimit(config))
	// Inside of the transport that waits for the lease, which may take longer.
	config.Wrap(apiretry.Deadline)
	mgr, err := ctrl.NewManager(e.restrict(config), e.options(managerOptions(o)))
	if err != nil {
		return nil, err
	}
	e.recordEvents(mgr)
	probes.SetupChecks(mgr, ctrl.Log)
	return mgr, nil
}

func managerOptions(o *options.Options) ctrl.Options {
	opts := ctrl.Options{
		Scheme:                        controller.Scheme(),
		Metrics:                       metricsserver.Options{BindAddress: o.MetricsAddr, ExtraHandlers: profiles(o)},
		HealthProbeBindAddress:        o.HealthAddr,
		LeaderElection:                elects(o),
		LeaderElectionID:              leaseName(o),
		LeaderElectionReleaseOnCancel: o.LeaderElection.ReleaseOnCancel,
		LeaderElectionNamespace:       o.RuntimeNamespace,
		LeaseDuration:                 &o.LeaderElection.LeaseDuration,
		RenewDeadline:                 &o.LeaderElection.RenewDeadline,
		RetryPeriod:                   &o.LeaderElection.RetryPeriod,
		GracefulShutdownTimeout:       &o.GracefulShutdown,
		Cache:                         controller.Cache(o.ConfigSelector()),
		Client:                        controller.Client(),
		EventBroadcaster:              events.NewBroadcaster(), //nolint:staticcheck // the newer API loses counts and long messages
	}
	if !o.WatchAllNamespaces {
		opts.Cache.DefaultNamespaces = map[string]cache.Config{o.RuntimeNamespace: {}}
	}
	if selector := o.Selector(); selector != nil {
		opts.Cache.ByObject[&helmv2.HelmRelease{}] = cache.ByObject{Label: selector}
	}
	return opts
}

// profiles returns the handlers of net/http/pprof, nil unless they are enabled. Every client that
// can read the metrics can read them, and can cause their cost.
func profiles(o *options.Options) map[string]http.Handler {
	if !o.EnablePprof {
		return nil
	}
	return pprof.GetHandlers()
}
