// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Children returns the running processes that a process has started.
func Children(pid int) []int {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil
	}
	var all []int
	for _, list := range lists {
		content, err := os.ReadFile(list) //nolint:gosec // a file of the kernel
		if err != nil {
			continue // the thread has ended
		}
		for field := range strings.FieldsSeq(string(content)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}
