// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// sizeRead is enough for the kernel to read far ahead.
const sizeRead = 32 << 20

// TestReread: after a reread only pages around the accessed one are mapped.
func TestReread(t *testing.T) {
	path := filepath.Join(t.TempDir(), "executable")
	if err := os.WriteFile(path, bytes.Repeat([]byte("x"), sizeRead), 0o600); err != nil {
		t.Fatal(err)
	}
	const around = 64
	before := mappedAtOnce(t, path)
	if err := reread(path); err != nil {
		t.Fatal(err)
	}
	after := mappedAtOnce(t, path)
	if after > around {
		t.Errorf("%d KiB are mapped at once, and were %d", after, before)
	}
	if before <= around {
		t.Logf("this kernel or file system has no large pages: %d KiB", before)
	}
	if err := reread(path + "-not-there"); err == nil {
		t.Error("a file that is not there is read")
	}
}

// mappedAtOnce returns how many KiB of a file are mapped when one byte is read.
func mappedAtOnce(t *testing.T, path string) int {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	data, err := unix.Mmap(int(file.Fd()), 0, sizeRead, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(data) }()
	if data[sizeRead-3<<20] != 'x' {
		t.Fatal("the file holds something else")
	}
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	_, mapping, found := strings.Cut(string(smaps), path)
	_, rss, told := strings.Cut(mapping, "Rss:")
	if !found || !told {
		t.Fatal("the mapping is not listed")
	}
	n, err := strconv.Atoi(strings.Fields(rss)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
