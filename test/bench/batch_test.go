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

// TestInBatch: who measures has every thread scheduled as a batch job, and so is a
// process that it starts.
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
	// It begins anew before it looks for what it needs.
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
	// A kernel whose turns cannot be chosen says nothing of them.
	if attr, err := unix.SchedGetAttr(id, 0); err != nil || attr.Policy != unix.SCHED_BATCH || attr.Runtime != 0 && attr.Runtime != turn {
		t.Errorf("thread %s is scheduled as %+v, error %v", thread, attr, err)
	}
}
