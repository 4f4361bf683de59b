// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// The kernel does not limit the memory of executables with the race detector.

//go:build !race

package handler

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/worker"
)

// TestAttacks: a template that would not end, or would take all memory or stack, fails one call. The
// error names chart and template, or is that of Helm. The next call succeeds.
func TestAttacks(t *testing.T) {
	t.Parallel()
	pool := worker.New(worker.Options{})
	t.Cleanup(pool.Close)
	client := remote.New(hasty{pool, 2 * time.Second})
	files, err := filepath.Glob("../../helm/preview/testdata/attacks/*.yaml")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d attacks, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		in := input(t, m{"templates/evil.yaml": string(text)}, m{})
		got, err := client.Render(t.Context(), in, &rest.Config{})
		var failure *worker.Failure
		var ended *remote.Ended
		switch {
		case err == nil && len(got.Manifest) > 1<<20:
			t.Errorf("%s: %d bytes were rendered", filepath.Base(file), len(got.Manifest))
		case err == nil:
			t.Logf("%s is harmless", filepath.Base(file))
		case errors.As(err, &ended) && strings.HasPrefix(err.Error(), "rendering chart web 1.0.0+abc: template web/templates/evil.yaml "), errors.As(err, &failure):
			t.Logf("%s: %.150s", filepath.Base(file), err)
		default:
			t.Errorf("%s: %v", filepath.Base(file), err)
		}
	}
	good := input(t, charts()["Small"].files, charts()["Small"].values)
	if _, err := client.Render(t.Context(), good, &rest.Config{}); err != nil {
		t.Errorf("the next call: %v", err)
	}
}
