// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/options"
	"github.com/pintle-dev/pintle/internal/worker"
)

// TestMain runs main if this executable is a worker process.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == worker.Command {
		main()
	}
	os.Exit(m.Run())
}

// TestWorkerProcess: the executable serves calls of a pool with the default options.
func TestWorkerProcess(t *testing.T) {
	pool := worker.New(worker.Options{})
	defer pool.Close()
	_, err := pool.Call(t.Context(), worker.Call{Function: "no such function"}, nil)
	if _, ok := errors.AsType[*worker.Failure](err); !ok {
		t.Errorf("got %v", err)
	}
}

// TestProfilesAreOptional: profiles are served only with --enable-pprof.
func TestProfilesAreOptional(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want int
	}{
		{nil, http.StatusNotFound},
		{[]string{"--enable-pprof"}, http.StatusOK},
	} {
		o, err := options.Parse(tc.args, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		mux := http.NewServeMux()
		for path, handler := range managerOptions(o).Metrics.ExtraHandlers {
			mux.Handle(path, handler)
		}
		for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/goroutine", "/debug/pprof/symbol"} {
			answer := httptest.NewRecorder()
			mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
			if answer.Code != tc.want {
				t.Errorf("%v: %s returns %d, want %d", tc.args, path, answer.Code, tc.want)
			}
		}
	}
}

// TestCacheIsSmall: the manager uses the cache configuration of package controller, also with one
// watched namespace.
func TestCacheIsSmall(t *testing.T) {
	for _, args := range [][]string{nil, {"--watch-all-namespaces=false"}} {
		t.Setenv("RUNTIME_NAMESPACE", "here")
		o, err := options.Parse(args, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		got := managerOptions(o)
		if got.Cache.DefaultTransform == nil || len(got.Cache.ByObject) != 4 || got.Client.Cache == nil {
			t.Errorf("%v: the manager's cache lacks the configuration of package controller", args)
		}
	}
}

// TestShard: a label selector limits the cached HelmReleases, and changes the Lease.
func TestShard(t *testing.T) {
	for _, tc := range []struct {
		args  []string
		kinds int
		lease string
	}{
		{nil, 4, "helm-controller-leader-election"},
		{[]string{"--watch-label-selector=sharding.fluxcd.io/key=shard1"}, 5, "helm-controller-leader-election-73fdc1be"},
	} {
		o, err := options.Parse(tc.args, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		got := managerOptions(o)
		if len(got.Cache.ByObject) != tc.kinds || got.Cache.DefaultLabelSelector != nil || got.LeaderElectionID != tc.lease {
			t.Errorf("%v: %d kinds, default selector %v, Lease %s", tc.args, len(got.Cache.ByObject), got.Cache.DefaultLabelSelector, got.LeaderElectionID)
		}
		for kind, by := range got.Cache.ByObject {
			if _, ok := kind.(*helmv2.HelmRelease); ok && by.Label.String() != "sharding.fluxcd.io/key=shard1" {
				t.Errorf("HelmReleases are selected by %s", by.Label)
			}
		}
	}
}

// TestArtifactClient: flags and environment configure the client of downloads.
func TestArtifactClient(t *testing.T) {
	t.Setenv("SOURCE_CONTROLLER_LOCALHOST", "localhost:1")
	t.Setenv("SOURCE_WATCHER_LOCALHOST", "localhost:2")
	o, err := options.Parse([]string{"--http-timeout=7s", "--http-retry=3"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	client := artifactClient(o)
	got, ok := client.Transport.(*chart.Transport)
	if !ok || client.Timeout != 7*time.Second || got.Retries != 3 || got.SourceController != "localhost:1" || got.SourceWatcher != "localhost:2" {
		t.Errorf("%+v", client)
	}
}

// TestLibrariesLogAsJSON: klog and controller-runtime log in the configured format.
func TestLibrariesLogAsJSON(t *testing.T) {
	o, err := options.Parse([]string{"--log-encoding=json"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	logs, err := os.Create(filepath.Join(t.TempDir(), "logs"))
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = logs
	t.Cleanup(func() { os.Stderr = stderr })
	startLogging(o)
	t.Cleanup(klog.ClearLogger)
	klog.ErrorS(errors.New("some error"), "message of a library")
	ctrl.Log.Info("message of the controller")
	raw, err := os.ReadFile(logs.Name())
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
	// The first one describes the executable.
	if len(lines) != 3 || !bytes.Contains(lines[0], []byte("starting pintle")) {
		t.Errorf("%d lines, want 3: %s", len(lines), raw)
	}
	for _, line := range lines {
		if !json.Valid(line) {
			t.Errorf("not JSON: %s", line)
		}
	}
}
