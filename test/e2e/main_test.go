// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the controller as a process, with charts from a registry through the real
// source-controller, and releases on a real control plane with a simulated node. It uses only APIs
// that kubectl and helm use.
package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/pintle-dev/pintle/test/harness"
)

// env is shared by all tests; each has its own namespace.
var env struct {
	*harness.Environment

	charts *harness.HelmRepository
	git    *harness.Git
	// audit is the path of the API server's audit log.
	audit string
}

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	bin, controller := os.Getenv("PINTLE_CLUSTER_BIN"), os.Getenv("PINTLE_CONTROLLER")
	if bin == "" || controller == "" {
		return 1, fmt.Errorf("PINTLE_CLUSTER_BIN and PINTLE_CONTROLLER are not set: " +
			"these tests need executables that `make test` or `make test-e2e` builds (`make test-fast` runs without them)")
	}
	// Else it complains that it was given none.
	log.SetLogger(logr.Discard())
	ctx := context.Background()
	dir := filepath.Join(harness.Root(), "bin", "e2e", strconv.Itoa(os.Getpid()))
	env.audit = filepath.Join(dir, "audit.log")
	env.Environment, err = harness.Start(ctx, harness.Options{
		Dir:        dir,
		ClusterBin: bin, Controller: controller, CRDs: os.Getenv("PINTLE_CRDS"), AuditLog: env.audit, Canaries: true,
		// Tests that break an input and repair it need short retry delays.
		ControllerArgs: []string{"--min-retry-delay=200ms", "--max-retry-delay=3s", "--log-level=debug"},
		Progress: func(format string, args ...any) {
			fmt.Printf("%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
		},
	})
	if err != nil {
		return 1, err
	}
	if err = startSources(ctx, filepath.Join(dir, "git")); err != nil {
		return 1, errors.Join(err, env.Stop(ctx))
	}
	code = m.Run()
	if strings.Contains(env.Controller.LogTail(1<<20), "WARNING: DATA RACE") {
		code = 1
		fmt.Println("there is a data race in the controller")
	}
	leaks := env.Check(ctx)
	if code != 0 || leaks != nil {
		keep := dir + "-controller.log"
		fmt.Println("the controller's log is kept in", keep)
		_ = os.Rename(env.Controller.LogPath, keep)
	}
	return code, errors.Join(leaks, env.charts.Close(), env.git.Close(), env.Stop(ctx))
}

// startSources starts the sources that `make run` does not need.
func startSources(ctx context.Context, dir string) (err error) {
	if env.charts, err = harness.StartHelmRepository(ctx); err != nil {
		return err
	}
	env.git, err = harness.StartGit(ctx, dir)
	return err
}
