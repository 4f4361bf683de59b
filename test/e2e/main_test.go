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
	"testing"

	"github.com/pintle-dev/pintle/test/fixture"
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
	fixture.Exit("e2e", code, err)
}

func run(m *testing.M) (int, error) {
	dir := filepath.Join(harness.Root(), "bin", "e2e", strconv.Itoa(os.Getpid()))
	env.audit = filepath.Join(dir, "audit.log")
	suite := fixture.Suite{
		Options: harness.Options{Dir: dir, AuditLog: env.audit},
		Prepare: func(ctx context.Context, e *harness.Environment) (err error) {
			env.Environment = e
			// These sources are not needed by `make run`.
			if env.charts, err = harness.StartHelmRepository(ctx); err != nil {
				return err
			}
			env.git, err = harness.StartGit(ctx, filepath.Join(dir, "git"))
			return err
		},
		Failed: func(e *harness.Environment) error {
			kept := dir + "-controller.log"
			fmt.Println("the controller's log is kept in", kept)
			return os.Rename(e.Controller.LogPath, kept)
		},
	}
	code, err := suite.Run(context.Background(), m)
	if env.charts != nil {
		err = errors.Join(err, env.charts.Close())
	}
	if env.git != nil {
		err = errors.Join(err, env.git.Close())
	}
	return code, err
}
