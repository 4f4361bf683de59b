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
// With -short, it plays every fourth attack.
func TestAttacks(t *testing.T) {
	t.Parallel()
	pool := worker.New(worker.Options{})
	t.Cleanup(pool.Close)
	files, err := filepath.Glob("testdata/attacks/*.yaml")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d attacks, %v", len(files), err)
	}
	for i, file := range files {
		if testing.Short() && i%4 != 0 {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		in := input(t, m{"templates/evil.yaml": string(text)}, m{})
		var got *remote.Rendered
		var failure *worker.Failure
		var ended *remote.Ended
		// A busy machine may not reach the template in a short time.
		for timeout := 250 * time.Millisecond; timeout < time.Minute; timeout *= 4 {
			got, err = remote.New(hasty{pool, timeout}).Render(t.Context(), in, &rest.Config{})
			if !errors.As(err, &ended) || strings.Contains(err.Error(), ": template ") {
				break
			}
		}
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
	if _, err := remote.New(pool).Render(t.Context(), good, &rest.Config{}); err != nil {
		t.Errorf("the next call: %v", err)
	}
}
