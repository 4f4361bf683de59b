// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Pintle is a Kubernetes controller that reconciles HelmReleases: it installs, upgrades, rolls
// back and uninstalls Helm charts through the Helm SDK.
//
//	main.go         parses flags, and starts the manager
//	controllers.go  adds the controllers and their parts to the manager
//	manager.go      the manager: its cache, endpoints and leader election
//	workers.go      worker processes, which are started from the same executable
//	leader.go       leader election, and the restriction of writes to the leader
//	standby.go      the wait for a controller in another namespace
//	clouds.go       access to clusters of cloud providers
//	page.go         the web page
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"sync/atomic"
	"time"

	"github.com/fluxcd/cli-utils/pkg/flowcontrol"
	"github.com/fluxcd/pkg/runtime/logger"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/oomwatch"
	"github.com/pintle-dev/pintle/internal/options"
	"github.com/pintle-dev/pintle/internal/version"
)

func main() {
	serveAsWorker()
	if err := run(); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "pintle:", err)
		os.Exit(1)
	}
}

// run returns when the manager has stopped.
func run() error {
	o, err := options.Parse(os.Args[1:], os.Stderr)
	if err != nil {
		return err
	}
	if o.Version {
		_, err := fmt.Println(version.Read())
		return err
	}
	startLogging(o)
	config, err := restConfig(o)
	if err != nil {
		return err
	}
	m, err := metrics.New(crmetrics.Registry)
	if err != nil {
		return err
	}
	election, err := newElection(config, o, m)
	if err != nil {
		return err
	}
	mgr, err := newManager(config, election, o)
	if err != nil {
		return err
	}
	ctx := ctrl.SetupSignalHandler()
	// The sender is not a runnable of the manager, which would stop it before the controllers:
	// they emit events at shutdown.
	sender := newSender(ctx, o, m)
	if sender != nil {
		defer sender.Close()
	}
	workers, err := newWorkers(o, m)
	if err != nil {
		return err
	}
	defer workers.Close()
	parts := controllerOptions{Options: o, Config: config, Election: election, Metrics: m, Sender: sender, Workers: workers, Operations: &atomic.Bool{}}
	parts.Clusters = newConnections(parts)
	parts = parts.withCharts(mgr.GetAPIReader())
	if err := errors.Join(addControllers(mgr, parts), addPage(mgr, parts)); err != nil {
		return err
	}
	if ctx, err = watchMemory(ctx, o); err != nil {
		return fmt.Errorf("feature gate OOMWatch: %w", err)
	}
	return mgr.Start(ctx)
}

// startLogging sets the logger of the controller and of the libraries. It logs the version, what the
// controller reconciles and the options that matter most, and then those that have no effect.
func startLogging(o *options.Options) {
	logger.SetLogger(logger.NewLogger(o.Log))
	// Helm logs values that it cannot merge to the standard logger. They may be secret.
	log.SetOutput(io.Discard)
	i := version.Read()
	ctrl.Log.Info("starting pintle", append([]any{"version", i.Version, "revision", i.Revision, "go", i.Go, "helm", i.Helm}, o.Summary()...)...)
	for _, notice := range o.Notices() {
		ctrl.Log.Info(notice)
	}
}

// restConfig returns the configuration for the controller's own cluster. It has the rate limits of
// releases.
func restConfig(o *options.Options) (*rest.Config, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = o.Client.QPS, o.Client.Burst
	config.UserAgent = controllerName(o)
	// client-go would add the credentials of the controller to each request that follows one.
	config.Wrap(apiretry.NoRedirects)
	return config, nil
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

// watchMemory returns a context that also ends when memory usage reaches the threshold, if that is
// enabled. The controller then shuts down gracefully.
func watchMemory(ctx context.Context, o *options.Options) (context.Context, error) {
	if !o.Gates.OOMWatch {
		return ctx, nil
	}
	return oomwatch.Watch(ctx, oomwatch.Options{
		Percent: o.Memory.Threshold, Interval: o.Memory.Interval, MaxPath: o.Memory.MaxPath, CurrentPath: o.Memory.CurrentPath,
		CgroupRoot: oomwatch.CgroupRoot, Log: ctrl.Log.WithName("memory"),
	})
}
