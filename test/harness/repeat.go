// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"os"
	"strconv"
)

// Repetitions returns how often a test repeats the same steps: normal times PINTLE_REPEAT, which is
// 1 unless `make test-soak` sets it.
func Repetitions(normal int) int {
	if n, err := strconv.Atoi(os.Getenv("PINTLE_REPEAT")); err == nil && n > 0 {
		return normal * n
	}
	return normal
}
