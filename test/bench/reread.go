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

// reread drops a file from the page cache and reads it again from the disk in small pages. Newer
// kernels keep written data, such as an executable from the linker, in large pages, and each
// process that maps a part of one has all of it resident. Executables on nodes were read from disk.
// Pages that other processes have mapped meanwhile stay.
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
		// Pages that are not on the disk yet cannot be dropped.
		file.Sync(),
		unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED),
		// Read-ahead uses large pages too.
		unix.Fadvise(fd, 0, 0, unix.FADV_RANDOM),
	)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{file}, make([]byte, 1<<20))
	return err
}
