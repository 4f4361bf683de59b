// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/controller/connection"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/page"
	"github.com/pintle-dev/pintle/internal/page/access"
	"github.com/pintle-dev/pintle/internal/page/site"
	"github.com/pintle-dev/pintle/internal/version"
)

// pageQPS and pageBurst limit the requests of the page to the API server: those for rights of users.
const pageQPS, pageBurst = 20, 100

// addPage adds the web page to the manager, if there is one. It has a client of its own: each replica
// serves the page, and the manager's client writes only while it leads.
func addPage(mgr ctrl.Manager, o controllerOptions) error {
	if o.UI.Address == "" {
		return nil
	}
	config := rest.CopyConfig(o.Config)
	config.QPS, config.Burst = pageQPS, pageBurst
	reviews, err := client.New(config, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return err
	}
	finder := &connection.Finder{
		Live: mgr.GetAPIReader(), Clusters: o.Clusters, DefaultServiceAccount: o.DefaultServiceAccount,
		Workloads: cluster.WorkloadOptions{DefaultServiceAccount: o.DefaultKubeconfigServiceAccount, AllowServiceAccounts: o.Gates.ObjectLevelWorkloadIdentity},
	}
	users := &access.Authenticator{Writer: reviews, Anonymous: o.UI.AnonymousUser}
	handler, err := site.New(site.Options{
		User: users.User, Now: time.Now, Shard: o.WatchLabels, Secure: o.UI.CertFile != "", Health: health(mgr, o),
		Source: &access.Source{
			Rights: &access.Rights{Writer: reviews}, Kept: mgr.GetClient(), Live: reviews, Lists: access.NewLists(reviews, o.watchedNamespace(), time.Now), KeepsOperations: o.Operations.Load,
			As: access.AsRelease(finder.Find, mgr.GetScheme()), Scheme: mgr.GetScheme(), Now: time.Now,
		},
	})
	if err != nil {
		return err
	}
	return mgr.Add(&page.Server{Address: o.UI.Address, CertFile: o.UI.CertFile, KeyFile: o.UI.KeyFile, Handler: handler})
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
