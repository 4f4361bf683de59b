// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// TestInBatch: all threads of the benchmark and of its children have the batch policy.
func TestInBatch(t *testing.T) {
	t.Parallel()
	const inside = "PINTLE_BENCH_INSIDE"
	if os.Getenv(inside) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInBatch$")
		cmd.Env = append(os.Environ(), inside+"=1")
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v:\n%s", err, output)
		}
		return
	}
	// The program is executed again before it checks its inputs.
	if err := command(t.Context(), []string{"--bin", t.TempDir(), "--controller", "missing"}); err == nil {
		t.Fatal("measured a controller that does not exist")
	}
	threads, err := filepath.Glob("/proc/self/task/*")
	if err != nil || len(threads) < 2 {
		t.Fatalf("threads %v, error %v", threads, err)
	}
	for _, thread := range threads {
		expectBatch(t, filepath.Base(thread))
	}
	child := exec.CommandContext(t.Context(), "sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	expectBatch(t, strconv.Itoa(child.Process.Pid))
	if err := child.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = child.Wait()
}

func expectBatch(t *testing.T, thread string) {
	t.Helper()
	id, err := strconv.Atoi(thread)
	if err != nil {
		t.Fatal(err)
	}
	// Older kernels do not report the time slice.
	if attr, err := unix.SchedGetAttr(id, 0); err != nil || attr.Policy != unix.SCHED_BATCH || attr.Runtime != 0 && attr.Runtime != turn {
		t.Errorf("thread %s is scheduled as %+v, error %v", thread, attr, err)
	}
}
