// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

//go:build reference

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/pintle-dev/pintle/test/harness"
)

// neighbour returns the path of a program of test/neighbours.
func neighbour(t *testing.T, name string) string {
	t.Helper()
	folder := os.Getenv("PINTLE_NEIGHBOURS")
	if folder == "" {
		t.Fatal("PINTLE_NEIGHBOURS is not set: `make test-neighbours` builds the programs in that folder")
	}
	return filepath.Join(folder, name)
}

// startNeighbour applies the CRDs of Flux's other controllers, and starts one of them until the end of
// the test.
func (w world) startNeighbour(name string, args ...string) *harness.Controller {
	w.Helper()
	path := neighbour(w.T, name)
	w.Must(env.ApplyCRDs(w.Context(), filepath.Join(filepath.Dir(path), "crds")))
	args = append(args, "--health-addr=0", "--metrics-addr=0", "--log-encoding=console")
	c := harness.NewController(path, args, append(os.Environ(), "KUBECONFIG="+env.Kubeconfig, "RUNTIME_NAMESPACE=default"),
		filepath.Join(filepath.Dir(env.audit), name+".log"))
	w.Must(c.Start())
	w.Cleanup(func() {
		if w.Failed() {
			w.Logf("the log of %s ends:\n%s", name, c.LogTail(40))
		}
		w.Must(c.Stop(context.WithoutCancel(w.Context())))
	})
	return c
}
