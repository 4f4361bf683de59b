// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/page"
	"github.com/pintle-dev/pintle/internal/page/access"
	"github.com/pintle-dev/pintle/internal/page/live"
	"github.com/pintle-dev/pintle/internal/page/site"
	"github.com/pintle-dev/pintle/internal/version"
)

// addPage adds the web page to the manager, if there is one. It has a client of its own: each replica
// serves the page, and the manager's client writes only while it leads.
func addPage(mgr ctrl.Manager, o controllerOptions) error {
	if o.UI.Address == "" {
		return nil
	}
	config := rest.CopyConfig(o.Config)
	// The page bounds the number of concurrent reviews instead.
	config.QPS, config.Burst = -1, -1
	reviews, err := client.New(config, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return err
	}
	finder := &controller.ConnectionFinder{
		Live: mgr.GetAPIReader(), Clusters: o.Clusters, DefaultServiceAccount: o.DefaultServiceAccount,
		Workloads: cluster.WorkloadOptions{DefaultServiceAccount: o.DefaultKubeconfigServiceAccount, AllowServiceAccounts: o.Gates.ObjectLevelWorkloadIdentity},
	}
	users := access.NewAuthenticator(reviews, o.UI.AnonymousUser, time.Now)
	limits, log := page.NewLimits(time.Now), ctrl.Log.WithName("page")
	pages, err := site.New(site.Options{
		User: users.User, Now: time.Now, Shard: o.WatchLabels, Secure: o.UI.CertFile != "", Enter: limits.Enter, Health: health(mgr, o),
		Live: live.New(mgr.GetCache(), liveKinds(), time.Now),
		Source: &access.Source{
			Rights: access.NewRights(reviews, time.Now), Kept: mgr.GetClient(), Live: reviews, Charts: o.Charts, Settings: o.settings(), KeepsOperations: o.Operations.Load,
			As:      access.AsRelease(finder.Peek, mgr.GetScheme()),
			Compare: access.CompareAsRelease(finder.Peek, mgr.GetScheme(), o.OverrideManagers, time.Now), Readiness: access.ReadinessAsRelease(finder.Peek, mgr.GetScheme()), Scheme: mgr.GetScheme(), Now: time.Now,
			Log: log,
		},
	})
	if err != nil {
		return err
	}
	return mgr.Add(&page.Server{Address: o.UI.Address, CertFile: o.UI.CertFile, KeyFile: o.UI.KeyFile, Site: pages, Limits: limits, Log: log})
}

// liveKinds returns the kinds whose changes are reported to open pages. The controller watches them.
func liveKinds() []live.Kind {
	return []live.Kind{
		{Object: &helmv2.HelmRelease{}, Resource: helmv2.GroupVersion.WithResource("helmreleases"), Path: "/releases/"},
		{Object: &opsv1alpha1.Operation{}, Resource: opsv1alpha1.GroupVersion.WithResource("operations"), Path: "/operations/"},
	}
}

// health returns a function that reads the state of this replica from memory.
func health(mgr ctrl.Manager, o controllerOptions) func() site.Health {
	replica, err := os.Hostname()
	if err != nil {
		// The name is optional.
		replica = "unnamed"
	}
	return func() site.Health {
		h := site.Health{
			Version: version.Read().Version, Replica: replica, Elects: elects(o.Options), Observes: o.Observe, Unreachable: o.Clusters.Unreachable(),
		}
		select {
		case <-mgr.Elected():
			h.Leads = true
		default:
		}
		stats := metrics.Read(o.Metrics)
		h.Actions, h.Slots, h.SlotsUsed = stats.InProgress, stats.Slots, stats.SlotsUsed
		return h
	}
}
