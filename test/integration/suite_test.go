// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package integration runs the controller inside the test process against a real API server. The
// tests write the sources themselves. There are no nodes and no other controllers, so every write
// can be counted.
//
// Tests neither sleep nor limit their waits. The limit is the -timeout of the suite, which prints all
// goroutines, and a wait of more than 30 seconds prints what it waits for. A test waits with:
//
//	until      versions of an object, until one has what is expected (watches_test.go)
//	untilTrue  anything else, which is asked for again when an object changes
//	quiet      nothing is left to do for a HelmRelease or Operation (barrier_test.go)
//	observed   the same, but its action may go on
//	recorded   the same as quiet, and all events are on the API server
//	received   the controllers have handled the present version of a watched object
//	noticed    drift detection has received the present version of an object of a release
//	known      the controllers have the present version of a policy or plan
//
// All but the first two look into the controllers, which run in the process of the tests: their work
// queues, their event handlers, and what they do in the background. A trigger between a watch and a
// queue is seen when the event handler has returned. Exceptions are triggers that pass goroutines of
// the controller: a policy that was received, and the last instruction of work in the background. A
// test that finds nothing to happen may miss these; it does not fail.
package integration

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	clienttransport "k8s.io/client-go/transport"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	crmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/controller/setup"
	"github.com/pintle-dev/pintle/internal/events"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/helmchart/archive"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/leader"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/render/handler"
	"github.com/pintle-dev/pintle/internal/worker"
	"github.com/pintle-dev/pintle/test/harness"
)

// maxArtifact is the size limit the controller under test is given.
const maxArtifact = 1 << 20

// watchLabel is the label of ConfigMaps and Secrets that the controller watches.
const watchLabel = "reconcile.fluxcd.io/watch"

// suite is shared by all tests of the package.
var suite struct {
	config *rest.Config
	client client.Client
	// watches are those of the tests, and barriers those of the controllers.
	watches  *watches
	barriers *barriers
	// requests are the requests of the shared controller.
	requests *requestLog
	// log is the file the controllers write to; empty if it is the test's output.
	log string
	// canaries search for values of Secrets in all outputs of the suite's controllers.
	canaries *harness.Canaries
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == worker.Command {
		os.Exit(worker.Serve(context.Background(), handler.ForProcess()))
	}
	ctrl.SetLogger(zap.New(zap.UseDevMode(true), zap.WriteTo(logFile())))
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
	}
	os.Exit(code)
}

// exitLeaked is the status of a suite whose controllers have shown a value of a Secret. The tests
// must not be repeated then.
const exitLeaked = 3

// logFile is the controller's log. It is not in the test's output, and is kept after a failure.
func logFile() *os.File {
	f, err := os.CreateTemp("", "pintle-integration-*.log")
	if err != nil {
		return os.Stderr
	}
	fmt.Println("controller log:", f.Name())
	suite.log = f.Name()
	return f
}

func run(m *testing.M) (code int, err error) {
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		return 1, errors.New("KUBEBUILDER_ASSETS is not set: run make test, or make cluster-build and set it to bin/cluster")
	}
	env := &envtest.Environment{
		CRDDirectoryPaths: []string{
			harness.CRDs(os.Getenv("PINTLE_CRDS")), filepath.Join(assets, "source-crds"), filepath.Join(harness.Root(), "config", "helmchart", "crd"),
		},
		ErrorIfCRDPathMissing: true,
		// The API server waits for requests that are still being answered when it stops.
		ControlPlaneStartTimeout: patience, ControlPlaneStopTimeout: patience,
		CRDInstallOptions: envtest.CRDInstallOptions{MaxTime: patience},
	}
	server, err := env.Start()
	if err != nil {
		return 1, err
	}
	defer func() {
		if stopErr := env.Stop(); stopErr != nil {
			code, err = max(code, 1), errors.Join(err, stopErr)
		}
	}()
	end, err := useServer(server)
	if err != nil {
		return 1, err
	}
	defer end()
	if suite.canaries, err = harness.WatchCanaries(suite.config); err != nil {
		return 1, err
	}
	if suite.log != "" {
		suite.canaries.Log(suite.log)
	}
	suite.canaries.Metrics("the process", gather(crmetrics.Registry))
	// No test may depend on polling of dependencies.
	suite.requests = &requestLog{seen: map[string][]string{}}
	stop, err := startController(config{wrap: suite.requests.wrap, helmCharts: controller.HelmCharts{Enabled: true}, settings: inputs.Settings{DependencyRetry: time.Hour, ExternalArtifacts: true}})
	if err != nil {
		return 1, err
	}
	code = m.Run()
	if err = stop(); err != nil {
		code = 1
	}
	leaks := suite.canaries.Check(context.Background())
	if leaks != nil {
		code = exitLeaked
	}
	return code, errors.Join(err, leaks)
}

// useServer makes an API server that of the suite. The returned function ends its watches; it must be
// called before the API server ends.
func useServer(config *rest.Config) (end func(), err error) {
	config.QPS, config.Burst = 500, 1000
	suite.config, suite.barriers = config, &barriers{}
	if suite.client, err = client.New(config, client.Options{Scheme: controller.Scheme()}); err != nil {
		return nil, err
	}
	if suite.watches, err = newWatches(config); err != nil {
		return nil, err
	}
	return suite.watches.stop, nil
}

// gather returns the names and labels of all series, as /metrics would.
func gather(from prometheus.Gatherer) func(context.Context) ([]string, error) {
	return func(context.Context) ([]string, error) {
		var all []string
		families, err := from.Gather()
		for _, f := range families {
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					all = append(all, f.GetName()+"{"+l.GetName()+"="+l.GetValue()+"}")
				}
			}
		}
		return all, err
	}
}

// startController starts a controller. The returned function stops it and returns the manager's
// error.
func startController(c config) (stop func() error, err error) {
	skipNames := true
	opts := ctrl.Options{
		Scheme:     controller.Scheme(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: crconfig.Controller{SkipNameValidation: &skipNames},
		Cache:      controller.Cache(labels.SelectorFromSet(labels.Set{watchLabel: "Enabled"})),
		Client:     controller.Client(), GracefulShutdownTimeout: new(patience),
		EventBroadcaster: events.NewBroadcaster(), //nolint:staticcheck // as in the executable
	}
	if err := c.see(&opts); err != nil {
		return nil, err
	}
	all := suite.barriers
	observed := all.add(c.name)
	opts.NewCache = observed.newCache
	config := rest.CopyConfig(suite.config)
	if c.endpoint != nil {
		config = rest.CopyConfig(c.endpoint)
	}
	if c.wrap != nil {
		config.Wrap(c.wrap)
	}
	if c.observe {
		config.Wrap(leader.ObserveOwn)
	}
	mgr, err := ctrl.NewManager(config, opts)
	if err != nil {
		return nil, err
	}
	observed.events = mgr.GetEventRecorderFor("barrier") //nolint:staticcheck // it is the one of the controllers
	registry := prometheus.NewRegistry()
	observed.metrics = registry
	if c.metrics != nil {
		c.metrics(registry)
	}
	observeAs := ""
	var forReleases clienttransport.WrapperFunc
	if c.observe {
		observeAs, forReleases = observer, leader.ObserveReleases
	}
	m, err := metrics.New(registry)
	if err != nil {
		return nil, err
	}
	clusters := cluster.NewConnections(mgr.GetConfig(), cluster.Options{Now: time.Now, TransportWrapper: forReleases})
	download := &http.Client{Timeout: 5 * time.Second}
	if c.helmCharts.Enabled {
		finder := &controller.ConnectionFinder{Live: mgr.GetAPIReader(), Clusters: clusters, DefaultServiceAccount: c.defaultServiceAccount}
		c.helmCharts.Archives = &archive.Reader{
			Chart: archive.HelmCharts(mgr.GetAPIReader()), Access: finder.ArchiveAccess, Timeout: download.Timeout, MaxBytes: maxArtifact,
			Transport: func(config *tls.Config) http.RoundTripper {
				return archive.Addresses{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}.Transport(config)
			},
		}
		download.Transport, c.settings.HelmCharts = &archive.Transport{Base: http.DefaultTransport, Reader: c.helmCharts.Archives}, true
	}
	charts := chart.NewStore(chart.Options{Workers: workers(), Client: download, MaxBytes: maxArtifact})
	index, err := storage.NewIndex(mgr.GetConfig(), "")
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(index); err != nil {
		return nil, err
	}
	observed.releases, err = setup.Add(mgr, controller.Options{
		Inputs: inputs.NewResolver(mgr.GetClient(), mgr.GetAPIReader(), charts).WithSettings(c.settings),
		Helm:   helm.NewRunner(charts, workers(), index, sealKey(), time.Now), Indexed: index.Synced(),
		Clusters:              clusters,
		DefaultServiceAccount: c.defaultServiceAccount,
		Metrics:               m, Notifications: c.notifications, Now: time.Now, Concurrent: cmp.Or(c.concurrent, 16),
		MinRetryDelay: 100 * time.Millisecond, MaxRetryDelay: time.Second, JitterPercent: 5,
		NoCrossNamespaceRefs: c.settings.NoCrossNamespaceRefs, ExternalArtifacts: c.settings.ExternalArtifacts,
		OverriddenManagers: c.overridden, OperationTimeout: 5 * time.Minute, OperationCleanupTimeout: time.Hour, ClusterID: "it", Observe: observeAs,
		NewQueue: observed.newQueue, HelmCharts: c.helmCharts,
	})
	if err != nil {
		return nil, err
	}
	last := suite.canaries.Metrics(cmp.Or(c.name, "the shared controller"), gather(registry))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	return func() error {
		defer all.remove(observed)
		last(ctx)
		cancel()
		return <-done
	}, nil
}

// sealKey returns the key of the controller.
func sealKey() *storage.SealKey {
	key := &storage.SealKey{}
	key.Set([]byte("0123456789abcdef0123456789abcdef"))
	return key
}

// workers returns the worker processes that parse and render charts. They run the test binary.
func workers() worker.Caller { return pool() }

// pool has the worker processes of all tests, which end with this process.
var pool = sync.OnceValue(func() *worker.Pool { return worker.New(worker.Options{}) })
