// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"errors"
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// Protect protects this process, the parent, from its worker processes. They cannot read its memory
// or its files in /proc, and inherit no descriptors that this process has inherited. This process can
// still read its own files in /proc, except environ. It is called once, before New.
func Protect() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_DUMPABLE: %w", err)
	}
	// Kernels before 5.11 cannot. Descriptors of this process itself are closed in any case.
	err := unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("close_range: %w", err)
	}
	return nil
}
