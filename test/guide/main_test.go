// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package guide runs the commands of docs/from-flux.md and docs/running.md on a real control plane,
// beside the real helm-controller. The nodes are simulated: they run no containers. The package
// runs the containers of controllers as processes, so that a command that changes a Deployment, such
// as `kubectl set image`, starts and ends controllers.
package guide

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/pintle-dev/pintle/test/harness"
)

// env is shared by all tests.
var env *harness.Environment

// dir has all files of a run. It is removed after a success.
var dir string

func TestMain(m *testing.M) {
	code, err := run(context.Background(), m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "guide:", err)
		code = 1
	}
	os.Exit(code)
}

func run(ctx context.Context, m *testing.M) (code int, err error) {
	bin := os.Getenv("PINTLE_CLUSTER_BIN")
	if bin == "" || os.Getenv("PINTLE_CONTROLLER") == "" || os.Getenv("PINTLE_REFERENCE") == "" {
		return 1, errors.New("PINTLE_CLUSTER_BIN, PINTLE_CONTROLLER and PINTLE_REFERENCE are not set: make builds their executables")
	}
	log.SetLogger(logr.Discard())
	dir = filepath.Join(harness.Root(), "bin", "guide", strconv.Itoa(os.Getpid()))
	// The CRD of HelmRelease is that of helm-controller, as in a cluster with Flux.
	env, err = harness.Start(ctx, harness.Options{Dir: filepath.Join(dir, "env"), ClusterBin: bin, CRDs: os.Getenv("PINTLE_CRDS")})
	if err != nil {
		return 1, err
	}
	code = m.Run()
	if err := env.Stop(ctx); err != nil || code != 0 {
		fmt.Println("the logs of the controllers are kept in", dir)
		return code, err
	}
	return code, os.RemoveAll(dir)
}
