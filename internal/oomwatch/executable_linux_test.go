// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package oomwatch

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"
)

// TestTrim: what was mapped of the executable is so no longer, and the process
// goes on.
func TestTrim(t *testing.T) {
	mapAll(t)
	before := resident(t)
	if err := (Trim{Log: logr.Discard()}).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := resident(t); after > before*3/4 {
		t.Errorf("%d KiB of files are resident, of %d before", after, before)
	}
	if (Trim{}).NeedLeaderElection() {
		t.Error("replicas that wait for the lease keep what they do not need")
	}
}

// TestTrimRefusesHugePages: what is needed again comes back in small ones. A kernel
// that was built without huge pages has nothing to refuse, which is no error.
func TestTrimRefusesHugePages(t *testing.T) {
	_, without := os.Stat("/sys/kernel/mm/transparent_hugepage")
	if err := DropExecutable(); err != nil {
		t.Fatal(err)
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	code := false
	for line := range strings.Lines(string(smaps)) {
		switch fields := strings.Fields(line); {
		case len(fields) > 1 && !strings.HasSuffix(fields[0], ":"):
			code = fields[1] == "r-xp" && fields[len(fields)-1] == path
		case fields[0] == "VmFlags:" && code:
			if without == nil && !slices.Contains(fields, "nh") {
				t.Errorf("the code may be mapped in huge pages: %s", line)
			}
			return
		}
	}
	t.Error("no code is mapped")
}

// TestTrimEnds: a process that is about to end does not wait for it.
func TestTrimEnds(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (Trim{After: time.Hour, Log: logr.Discard()}).Start(ended); err != nil {
		t.Error(err)
	}
}

// mapAll has the kernel map all that can be given back.
func mapAll(t *testing.T) {
	t.Helper()
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = smaps.Close() }()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mappings, err := unwritten(smaps, path)
	if err != nil || len(mappings) == 0 {
		t.Fatalf("mappings %v, %v", mappings, err)
	}
	for _, m := range mappings {
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_POPULATE_READ); errno != 0 {
			t.Skipf("this kernel does not map on request: %v", errno)
		}
	}
}

// resident returns how many KiB of files are in the memory of this process.
func resident(t *testing.T) uint64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(status), "RssFile:")
	if !found {
		t.Fatal("/proc/self/status does not tell")
	}
	n, err := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
