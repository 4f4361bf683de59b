// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/controller/setup"
	"github.com/pintle-dev/pintle/internal/events"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/helmchart/archive"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/options"
	"github.com/pintle-dev/pintle/internal/worker"
)

// controllerOptions configure the controllers.
type controllerOptions struct {
	*options.Options
	// Config is the configuration for the controller's own cluster.
	Config *rest.Config
	// Election restricts writes to the leader.
	Election *election
	Metrics  *metrics.Metrics
	// Sender posts events; nil posts none.
	Sender *events.Sender
	// Workers parse and render charts.
	Workers worker.Caller
	// Charts has the artifacts, and Archives reads the archives of HelmCharts; nil without their gate.
	Charts   *chart.Store
	Archives *archive.Reader
	// Clusters are the connections to the clusters of releases.
	Clusters *cluster.Connections
	// Operations is true while the controller of Operations runs.
	Operations *atomic.Bool
}

// addControllers adds both controllers and their parts to the manager.
func addControllers(mgr ctrl.Manager, o controllerOptions) error {
	index, err := storage.NewIndex(mgr.GetConfig(), o.watchedNamespace())
	if err != nil {
		return err
	}
	key, keySource, err := newSealKey(mgr, o)
	if err != nil {
		return err
	}
	if err := errors.Join(mgr.Add(index), mgr.Add(keySource)); err != nil {
		return err
	}
	_, err = setup.Add(mgr, controller.Options{
		Inputs:                inputs.NewResolver(mgr.GetClient(), mgr.GetAPIReader(), o.Charts).WithSettings(o.settings()),
		Helm:                  helm.NewRunner(o.Charts, o.Workers, index, key, time.Now),
		Indexed:               index.Synced(),
		KeyDecided:            keySource.Decided(),
		Clusters:              o.Clusters,
		DefaultServiceAccount: o.DefaultServiceAccount,
		Workloads: cluster.WorkloadOptions{
			DefaultServiceAccount: o.DefaultKubeconfigServiceAccount, AllowServiceAccounts: o.Gates.ObjectLevelWorkloadIdentity,
		},
		Metrics:                 o.Metrics,
		Notifications:           o.Sender,
		Now:                     time.Now,
		Concurrent:              o.Concurrent,
		MinRetryDelay:           o.MinRetryDelay,
		MaxRetryDelay:           o.MaxRetryDelay,
		JitterPercent:           int(o.IntervalJitter.Percentage),
		NoCrossNamespaceRefs:    o.ACL.NoCrossNamespaceRefs,
		ExternalArtifacts:       o.Gates.ExternalArtifact,
		NoConfigWatches:         o.Gates.DisableConfigWatchers,
		OverriddenManagers:      o.OverrideManagers,
		WatchedNamespace:        o.watchedNamespace(),
		Defaults:                o.defaults(),
		AllowDNS:                o.Gates.AllowDNSLookups,
		OperationTimeout:        o.OperationTimeout,
		OperationCleanupTimeout: o.OperationCleanupTimeout,
		ClusterID:               o.ClusterID,
		Observe:                 observeAs(o.Options),
		HelmCharts: controller.HelmCharts{
			Enabled: o.Gates.HelmChartAPI, ReinstallAsK3s: o.HelmChartReinstall == options.ReinstallAsK3s, Archives: o.Archives,
		},
		OperationsServed: func() { o.Operations.Store(true) },
	})
	return err
}

// newSealKey returns the key that seals release records, and the runnable that reads it when this
// replica leads. It is in the namespace of the controller, so that all replicas and shards share it.
func newSealKey(mgr ctrl.Manager, o controllerOptions) (*storage.SealKey, *storage.SealKeySource, error) {
	clients, err := corev1client.NewForConfig(mgr.GetConfig())
	if err != nil {
		return nil, nil, err
	}
	key := &storage.SealKey{}
	return key, storage.NewSealKeySource(clients, o.RuntimeNamespace, key, o.Observe, ctrl.Log.WithName("seals")), nil
}

// watchedNamespace returns the only watched namespace; empty for all.
func (o controllerOptions) watchedNamespace() string {
	if o.WatchAllNamespaces {
		return ""
	}
	return o.RuntimeNamespace
}

// defaults returns the defaults of fields that feature gates change.
func (o controllerOptions) defaults() helmv2.Defaults {
	return helmv2.Defaults{RetryOnFailure: o.Gates.DefaultToRetryOnFailure, Helm3: o.Gates.UseHelm3Defaults}
}

// withCharts returns o with the store of charts, whose size is a metric.
func (o controllerOptions) withCharts(live client.Reader) controllerOptions {
	download := artifactClient(o.Options)
	if o.Gates.HelmChartAPI {
		o.Archives = newArchives(live, o)
		download.Transport = &archive.Transport{Base: download.Transport, Reader: o.Archives}
	}
	charts := chart.NewStore(chart.Options{
		Client: download, Workers: o.Workers, MaxBytes: o.ArtifactMaxBytes,
		CacheBytes: o.ArtifactCacheBytes, NoCache: o.ArtifactCacheBytes == 0,
		Now: time.Now, Downloaded: o.Metrics.Downloaded,
	})
	o.Metrics.Collect(func(f *metrics.Stats) {
		s := charts.Stats()
		f.Caches = append(f.Caches,
			metrics.Cache{Name: "chart_identities", Entries: s.Identities, Bytes: -1},
			metrics.Cache{Name: "chart_archives", Entries: s.Archives, Bytes: s.ArchiveBytes})
	})
	o.Charts = charts
	return o
}

// artifactClient returns the client that downloads charts.
func artifactClient(o *options.Options) *http.Client {
	return &http.Client{Timeout: o.HTTPTimeout, CheckRedirect: chart.CheckRedirect, Transport: &chart.Transport{
		Base: http.DefaultTransport, Retries: o.HTTPRetry, SourceController: o.SourceController, SourceWatcher: o.SourceWatcher,
	}}
}

// newArchives returns the reader of the archives of HelmCharts.
func newArchives(live client.Reader, o controllerOptions) *archive.Reader {
	// Parse has validated the ranges.
	allowed, _ := o.ArchiveRanges()
	finder := &controller.ConnectionFinder{Live: live, Clusters: o.Clusters, DefaultServiceAccount: o.DefaultServiceAccount}
	return &archive.Reader{
		Chart: archive.HelmCharts(live), Access: finder.ArchiveAccess, Timeout: o.HTTPTimeout, MaxBytes: o.ArtifactMaxBytes,
		Transport: func(config *tls.Config) http.RoundTripper {
			from := archive.Addresses{Allowed: allowed, Instead: "allow its range with --helmchart-archive-cidr"}
			return &chart.Transport{Base: from.Transport(config), Retries: o.HTTPRetry}
		},
	}
}

// settings returns the settings of resolvers of sources, values and dependencies.
func (o controllerOptions) settings() inputs.Settings {
	return inputs.Settings{
		Defaults:             o.defaults(),
		NoCrossNamespaceRefs: o.ACL.NoCrossNamespaceRefs,
		ExternalArtifacts:    o.Gates.ExternalArtifact,
		HelmCharts:           o.Gates.HelmChartAPI,
		DirectSources:        o.Gates.DirectSourceFetch,
		KeepChartVersions:    o.Gates.DisableChartDigestTracking,
		AdditiveReadyExpr:    o.Gates.AdditiveCELDependencyCheck,
		DependencyRetry:      o.RequeueDependency,
		RefuseDenials:        o.DryRunDenials == string(v1alpha1.DryRunDenialsRefuse),
	}
}

// newConnections returns the connections to the clusters of releases. Only the leader writes
// through them.
func newConnections(o controllerOptions) *cluster.Connections {
	return cluster.NewConnections(o.Config, cluster.Options{
		Kubeconfig:       cluster.KubeconfigOptions{InsecureExec: o.Kubeconfig.InsecureExecProvider, InsecureTLS: o.Kubeconfig.InsecureTLS},
		TransportWrapper: o.Election.forReleases(),
		CloudLookup:      lookUpCluster,
		MaxTokenAge:      o.TokenLifetime(),
		NoTokenCache:     o.TokenLifetime() == 0,
		Now:              time.Now,
	})
}

// newSender returns the sender of events to the events address, nil if there is no address.
func newSender(ctx context.Context, o *options.Options, m *metrics.Metrics) *events.Sender {
	if o.EventsAddr == "" || o.Observe {
		return nil
	}
	instance, err := os.Hostname()
	if err != nil {
		// The instance is optional.
		ctrl.Log.Error(err, "cannot determine the host name, events have no reporting instance")
	}
	return events.NewSender(ctx, events.Options{
		URL: o.EventsAddr, Controller: helmv2.ControllerName, Instance: instance, Flush: 5 * time.Second,
		Observer: m, Log: ctrl.Log.WithName("notifications"), Now: time.Now,
	})
}
