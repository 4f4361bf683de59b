// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package bubble runs the controller inside a synctest bubble, against an API server and a server of
// artifacts in memory: no sockets, no processes, and fake time. Its tests are about triggers, times
// and requests. What depends on a real API server is in test/integration.
//
// A bubble ends only after all of its goroutines. What the process shares must not keep a time or a
// channel of a bubble: TestMain removes the handlers of k8s.io/apimachinery that do. Nothing takes
// time but timers, so that a duration is exact and may be compared.
//
//	controller_test.go    the manager with the controllers
//	world_test.go         the two servers, and the words of the tests
//	interval_test.go      at rest: intervals and their jitter
//	values_test.go        triggers by objects with values
//	artifacts_test.go     triggers by sources, and downloads that fail
//	dependencies_test.go  triggers by dependencies
//	requests_test.go      requests by annotation, suspensions and holds
//	drift_test.go         triggers by objects of a release, and the limit of corrections
//	failures_test.go      retries, and their events and notifications
//	outages_test.go       an API server that is away or answers with errors
//	policies_test.go      freezes, approvals, and policies that cannot be read
//	shares_test.go        requests without answers beside other releases
//	process_test.go       the start, the death and the next process
//	leader_test.go        leader election
//	versions_test.go      what earlier versions of the controller have left
package bubble

import (
	"cmp"
	"context"
	"io"
	"log"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/labels"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/transport"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/controller/setup"
	"github.com/pintle-dev/pintle/internal/events"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/render/handler"
	"github.com/pintle-dev/pintle/internal/worker"
)

// The delays are the defaults of the flags, except for the jitter.
const (
	minRetryDelay = 5 * time.Second
	maxRetryDelay = 15 * time.Minute
)

// watchLabel selects the ConfigMaps and Secrets that the controller watches.
const watchLabel = "reconcile.fluxcd.io/watch"

// settings is how one controller differs from another.
type settings struct {
	inputs.Settings

	// jitter is in percent. Without it, intervals are exact.
	concurrent, jitter int
	downloadTimeout    time.Duration
	notifications      *events.Sender
	// wrap, if set, wraps the transport of all requests, and forReleases the transport for other clusters.
	wrap, forReleases transport.WrapperFunc
	// lostLease is true if the manager ends with an error because it has lost its lease.
	lostLease bool
	// manager, if set, changes the options of the manager.
	manager func(*ctrl.Options)
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	log.SetOutput(io.Discard)
	// A handler limits the rate of errors in the whole process, by a time that differs between bubbles.
	utilruntime.ErrorHandlers = nil
	os.Exit(m.Run())
}

// sealKey returns the key of the controller. The records in testdata/versions are sealed with it.
func sealKey() *storage.SealKey {
	key := &storage.SealKey{}
	key.Set([]byte("0123456789abcdef0123456789abcdef"))
	return key
}

// workers parses and renders charts in this process.
func workers() worker.Caller { return worker.Local{Handler: handler.New()} }

// start starts a controller. It stops at the end of the test, or when the returned function is
// called.
func (w *world) start(edit ...func(*settings)) (stop func()) {
	w.Helper()
	s := settings{Settings: inputs.Settings{DependencyRetry: 30 * time.Second, ExternalArtifacts: true}}
	for _, e := range edit {
		e(&s)
	}
	opts := ctrl.Options{
		Scheme: w.scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Controller: crconfig.Controller{SkipNameValidation: new(true)},
		Cache:  controller.Cache(labels.SelectorFromSet(labels.Set{watchLabel: "Enabled"})),
		Client: controller.Client(), GracefulShutdownTimeout: new(10 * time.Minute),
	}
	if s.manager != nil {
		s.manager(&opts)
	}
	config := w.config("pintle", w)
	if s.wrap != nil {
		config.Wrap(s.wrap)
	}
	inner, err := ctrl.NewManager(config, opts)
	w.must(err)
	mgr := &manager{Manager: inner}
	m, err := metrics.New(prometheus.NewRegistry())
	w.must(err)
	charts := chart.NewStore(chart.Options{Workers: workers(), Client: &http.Client{Transport: w, Timeout: cmp.Or(s.downloadTimeout, time.Minute)}, MaxBytes: 1 << 20})
	index, err := storage.NewIndex(mgr.GetConfig(), "")
	w.must(err)
	w.must(mgr.Add(index))
	_, err = setup.Add(mgr, controller.Options{
		Inputs: inputs.NewResolver(mgr.GetClient(), mgr.GetAPIReader(), charts).WithSettings(s.Settings),
		Helm:   helm.NewRunner(charts, workers(), index, sealKey(), time.Now), Indexed: index.Synced(),
		Clusters: cluster.NewConnections(mgr.GetConfig(), cluster.Options{Now: time.Now, TransportWrapper: s.forReleases}),
		Metrics:  m, Notifications: s.notifications, Now: time.Now,
		Concurrent: cmp.Or(s.concurrent, 4), MinRetryDelay: minRetryDelay, MaxRetryDelay: maxRetryDelay, JitterPercent: s.jitter,
		NoCrossNamespaceRefs: s.NoCrossNamespaceRefs, ExternalArtifacts: s.ExternalArtifacts,
		OperationTimeout: 5 * time.Minute, OperationCleanupTimeout: time.Hour, ClusterID: "bubble",
	})
	w.must(err)
	// The controller is stopped after the test, whose context has ended then.
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	done := make(chan error, 1)
	mgr.started.Store(true)
	go func() { done <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil && !s.lostLease {
			w.Error(err)
		}
		synctest.Wait()
	})
	w.Cleanup(stop)
	return stop
}

// manager starts controllers that are added while it runs, such as the Operation controller, when nothing
// else goes on. Otherwise one may start before it has all of its watches. It holds its lock then until
// its cache is filled, which takes time, and time stands still while the next watch waits for the lock.
type manager struct {
	ctrl.Manager

	started atomic.Bool
}

// Add implements ctrl.Manager.
func (m *manager) Add(r ctrlmanager.Runnable) error {
	if _, is := r.(ctrlcontroller.Controller); !is || !m.started.Load() {
		return m.Manager.Add(r)
	}
	time.AfterFunc(time.Nanosecond, func() {
		// A manager that has stopped takes no runnables.
		_ = m.Manager.Add(r)
	})
	return nil
}
