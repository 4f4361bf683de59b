// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// reread has the kernel forget what it holds of a file and read it from the disk
// again, a little at a time. Newer kernels keep what was just written, as an executable by
// the linker, in large pages, and all of such a page counts as resident in each process
// that needs a little of it. Executables on nodes were read. What another process has
// mapped meanwhile stays as it is.
func reread(path string) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			err = fmt.Errorf("read %s anew: %w", path, err)
		}
	}()
	fd := int(file.Fd())
	err = errors.Join(
		// What is not on the disk yet cannot be forgotten.
		file.Sync(),
		unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED),
		// What is read ahead is in large pages, too.
		unix.Fadvise(fd, 0, 0, unix.FADV_RANDOM),
	)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{file}, make([]byte, 1<<20))
	return err
}
