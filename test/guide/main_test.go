// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package guide runs the commands of docs/tutorial.md and README.md after `make run`. Without -short
// it also runs those of docs/from-flux.md, docs/running.md and docs/troubleshooting.md on a real
// control plane, beside the real helm-controller. The nodes are simulated: they run no containers.
// The package runs the containers of controllers as processes, so that a command that changes a
// Deployment, such as `kubectl set image`, starts and ends controllers.
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

// env is shared by all tests with helm-controller. The first of them starts it.
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
	if os.Getenv("PINTLE_CLUSTER_BIN") == "" || os.Getenv("PINTLE_CONTROLLER") == "" {
		return 1, errors.New("PINTLE_CLUSTER_BIN and PINTLE_CONTROLLER are not set: make builds their executables")
	}
	log.SetLogger(logr.Discard())
	dir = filepath.Join(harness.Root(), "bin", "guide", strconv.Itoa(os.Getpid()))
	code = m.Run()
	if env != nil {
		err = env.Stop(ctx)
	}
	if err != nil || code != 0 {
		fmt.Println("the logs of the controllers are kept in", dir)
		return code, err
	}
	return code, os.RemoveAll(dir)
}
