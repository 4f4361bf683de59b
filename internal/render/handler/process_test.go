// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package handler

import (
	"context"
	"os"
	"testing"

	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/worker"
)

// TestMain serves calls if the test binary was started as a worker.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == worker.Command {
		os.Exit(worker.Serve(context.Background(), ForProcess()))
	}
	os.Exit(m.Run())
}

// processes returns a client of worker processes that run the test binary.
func processes(t testing.TB) *remote.Client {
	t.Helper()
	pool := worker.New(worker.Options{})
	t.Cleanup(pool.Close)
	return remote.New(pool)
}
