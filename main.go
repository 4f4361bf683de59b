// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Pintle is a Kubernetes controller that reconciles HelmReleases: it installs, upgrades, rolls
// back and uninstalls Helm charts through the Helm SDK.
//
//	main.go    parses flags, and wires and starts the controllers
//	leader.go  leader election, and the restriction of writes to the leader
//	clouds.go  access to clusters of cloud providers
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/pprof"
	"os"
	"time"

	"github.com/fluxcd/cli-utils/pkg/flowcontrol"
	"go.uber.org/zap/zapcore"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/controller/setup"
	"github.com/pintle-dev/pintle/internal/events"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/oomwatch"
	"github.com/pintle-dev/pintle/internal/options"
)

func main() {
	if err := run(); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "pintle:", err)
		os.Exit(1)
	}
}

func run() error {
	o, err := options.Parse(os.Args[1:], os.Stderr)
	if err != nil {
		return err
	}
	startLogging(o, os.Stderr)
	for _, notice := range o.Notices() {
		ctrl.Log.Info(notice)
	}
	// Helm logs values that it cannot merge to the standard logger. They may be secret.
	log.SetOutput(io.Discard)
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = float32(o.KubeAPIQPS), o.KubeAPIBurst
	config.UserAgent = helmv2.ControllerName
	election, err := newElection(config, o)
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(election.restrict(withoutRateLimit(config)), election.options(managerOptions(o)))
	if err != nil {
		return err
	}
	election.recordEvents(mgr)
	if err := errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("ping", healthz.Ping),
	); err != nil {
		return err
	}
	ctx := ctrl.SetupSignalHandler()
	m, err := metrics.New(crmetrics.Registry)
	if err != nil {
		return err
	}
	// The sender is not a runnable of the manager, which would stop it before the controllers:
	// they emit events at shutdown.
	sender := newSender(ctx, o, m)
	if sender != nil {
		defer sender.Close()
	}
	if err := addControllers(mgr, o, config, election, m, sender); err != nil {
		return err
	}
	if o.Gates.OOMWatch {
		if ctx, err = watchMemory(ctx, o.Memory); err != nil {
			return fmt.Errorf("feature gate OOMWatch: %w", err)
		}
	}
	return mgr.Start(ctx)
}

// watchMemory returns a context that also ends when memory usage reaches the threshold. The
// controller then shuts down gracefully.
func watchMemory(ctx context.Context, w options.MemoryWatch) (context.Context, error) {
	return oomwatch.Watch(ctx, oomwatch.Options{
		Percent: w.Threshold, Interval: w.Interval, MaxPath: w.MaxPath, CurrentPath: w.CurrentPath, CgroupRoot: oomwatch.CgroupRoot, Log: ctrl.Log.WithName("memory"),
	})
}

// withoutRateLimit returns config without client-side rate limiting if API Priority and Fairness
// is enabled. The clients of releases keep their rate limits.
func withoutRateLimit(config *rest.Config) *rest.Config {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if enabled, err := flowcontrol.IsEnabled(ctx, config); err != nil || !enabled {
		return config
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, -1
	return config
}

// newSender returns the sender of events to the events address, nil if there is no address.
func newSender(ctx context.Context, o *options.Options, m *metrics.Metrics) *events.Sender {
	if o.EventsAddr == "" {
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

func addControllers(mgr ctrl.Manager, o *options.Options, config *rest.Config, turns *election, m *metrics.Metrics, sender *events.Sender) error {
	charts := chart.NewStore(artifactClient(o), o.ArtifactMaxBytes).WithCacheLimit(o.ArtifactCacheBytes).
		WithObserver(time.Now, m.Downloaded)
	defaults := helmv2.Defaults{RetryOnFailure: o.Gates.DefaultToRetryOnFailure, Helm3: o.Gates.UseHelm3Defaults}
	resolver := inputs.NewResolver(mgr.GetClient(), mgr.GetAPIReader(), charts).WithSettings(inputs.Settings{
		Defaults:             defaults,
		NoCrossNamespaceRefs: o.NoCrossNamespaceRefs,
		ExternalArtifacts:    o.Gates.ExternalArtifact,
		DirectSources:        o.Gates.DirectSourceFetch,
		KeepChartVersions:    o.Gates.DisableChartDigestTracking,
		AdditiveReadyExpr:    o.Gates.AdditiveCELDependencyCheck,
		DependencyRetry:      o.RequeueDependency,
	})
	watched := ""
	if !o.WatchAllNamespaces {
		watched = o.RuntimeNamespace
	}
	index, err := storage.NewIndex(mgr.GetConfig(), watched)
	if err != nil {
		return err
	}
	if err := mgr.Add(index); err != nil {
		return err
	}
	m.Collect(func(f *metrics.Stats) {
		s := charts.Stats()
		f.Caches = append(f.Caches,
			metrics.Cache{Name: "chart_identities", Entries: s.Identities, Bytes: -1},
			metrics.Cache{Name: "chart_archives", Entries: s.Archives, Bytes: s.ArchiveBytes},
			metrics.Cache{Name: "parsed_charts", Entries: s.Parsed, Bytes: s.ParsedBytes})
	})
	return setup.Add(mgr, setup.Options{
		Inputs:  resolver,
		Helm:    helm.NewRunner(charts, index, time.Now),
		Indexed: index.Synced(),
		Clusters: cluster.NewConnections(config, cluster.Options{
			Kubeconfig:       cluster.KubeconfigOptions{InsecureExec: o.InsecureKubeconfigExec, InsecureTLS: o.InsecureKubeconfigTLS},
			TransportWrapper: turns.leaderOnly(), CloudLookup: find, Now: time.Now,
			MaxTokenAge: o.TokenLifetime(), NoTokenCache: o.TokenLifetime() == 0,
		}),
		DefaultServiceAccount: o.DefaultServiceAccount,
		Workloads:             cluster.WorkloadOptions{DefaultServiceAccount: o.DefaultKubeconfigServiceAccount, AllowServiceAccounts: o.Gates.ObjectLevelWorkloadIdentity},
		Metrics:               m,
		Notifications:         sender,
		Now:                   time.Now,
		Concurrent:            o.Concurrent,
		MinRetryDelay:         o.MinRetryDelay,
		MaxRetryDelay:         o.MaxRetryDelay,
		JitterPercent:         o.IntervalJitter,

		NoCrossNamespaceRefs: o.NoCrossNamespaceRefs,
		ExternalArtifacts:    o.Gates.ExternalArtifact,
		NoConfigWatches:      o.Gates.DisableConfigWatchers,
		OverriddenManagers:   o.OverrideManagers,
		WatchedNamespace:     watched,
		Defaults:             defaults,
		AllowDNS:             o.Gates.AllowDNSLookups,
		OperationTimeout:     o.OperationTimeout,
		ClusterID:            o.ClusterID,
	})
}

func artifactClient(o *options.Options) *http.Client {
	return &http.Client{Timeout: o.HTTPTimeout, CheckRedirect: chart.CheckRedirect, Transport: &chart.Transport{
		Base: http.DefaultTransport, Retries: o.HTTPRetry, SourceController: o.SourceController, SourceWatcher: o.SourceWatcher,
	}}
}

func managerOptions(o *options.Options) ctrl.Options {
	opts := ctrl.Options{
		Scheme:                        controller.Scheme(),
		Metrics:                       metricsserver.Options{BindAddress: o.MetricsAddr, ExtraHandlers: profiles(o)},
		HealthProbeBindAddress:        o.HealthAddr,
		LeaderElection:                o.LeaderElect,
		LeaderElectionID:              leaseName(o),
		LeaderElectionReleaseOnCancel: o.LeaderElectReleaseOnEnd,
		LeaderElectionNamespace:       o.RuntimeNamespace,
		LeaseDuration:                 &o.LeaseDuration,
		RenewDeadline:                 &o.LeaseRenewDeadline,
		RetryPeriod:                   &o.LeaseRetryPeriod,
		GracefulShutdownTimeout:       &o.GracefulShutdown,
		Cache:                         controller.Cache(o.ConfigSelector()),
		Client:                        controller.Client(),
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
	return map[string]http.Handler{
		"/debug/pprof/":        http.HandlerFunc(pprof.Index),
		"/debug/pprof/cmdline": http.HandlerFunc(pprof.Cmdline),
		"/debug/pprof/profile": http.HandlerFunc(pprof.Profile),
		"/debug/pprof/symbol":  http.HandlerFunc(pprof.Symbol),
		"/debug/pprof/trace":   http.HandlerFunc(pprof.Trace),
	}
}

// startLogging sets the logger of controller-runtime and of klog, so that libraries log in the
// same format as the controller.
func startLogging(o *options.Options, to io.Writer) {
	level := map[string]zapcore.Level{"trace": -2, "debug": zapcore.DebugLevel, "info": zapcore.InfoLevel, "error": zapcore.ErrorLevel}[o.LogLevel]
	logger := zap.New(zap.UseDevMode(o.LogEncoding == "console"), zap.Level(level), zap.WriteTo(to))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
}
