// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package oomwatch

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// DropExecutable gives back to the kernel all pages of this process's executable
// that are only read: code, constants and tables of the runtime. What is needed
// again is mapped again, from the page cache as long as the kernel keeps it there,
// and what only the start needed is not. It changes nothing else, and may be called
// at any time. An error means that nothing, or not all, was given back.
func DropExecutable() error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer func() { _ = smaps.Close() }()
	mappings, err := unwritten(smaps, path)
	if err != nil {
		return err
	}
	if len(mappings) == 0 {
		return fmt.Errorf("%s is not among the mappings that are only read", path)
	}
	for _, m := range mappings {
		err = errors.Join(err, drop(m))
	}
	return err
}

func drop(m mapping) error {
	// To be among the first that the kernel reclaims, when it wants memory. Kernels
	// before 5.4 do not know of this.
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_COLD)
	// A file that was written a moment ago may be in huge pages, all of which would come
	// back with each instruction that is needed. Kernels may have been built without.
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_NOHUGEPAGE)
	if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED); errno != 0 {
		return fmt.Errorf("madvise %x-%x: %w", m.start, m.end, errno)
	}
	return nil
}
