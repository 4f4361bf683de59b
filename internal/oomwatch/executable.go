// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package oomwatch

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-logr/logr"
)

// Trim is a runnable of a manager, of every replica, that calls DropExecutable
// once: when the start is over, and with it what only the start needed.
type Trim struct {
	// After is the time from when caches have synced; zero is at once.
	After time.Duration
	Log   logr.Logger
}

// Start implements manager.Runnable. That nothing could be given back is logged,
// and no error.
func (t Trim) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-time.After(t.After):
		if err := DropExecutable(); err != nil {
			t.Log.Info("the executable stays in memory", "reason", err.Error())
		}
	}
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (Trim) NeedLeaderElection() bool { return false }

// mapping is a range of addresses of this process, the end not included.
type mapping struct {
	start, end uintptr
}

// unwritten returns the mappings of a file, as /proc/self/smaps lists them, that
// hold what the file holds and can never hold anything else: which may not be
// written, and where no page has been. A dynamic linker writes to some that may
// not be written later.
func unwritten(smaps io.Reader, file string) ([]mapping, error) {
	var all []mapping
	var current mapping
	wanted := false
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		switch name := fields[0]; {
		case !strings.HasSuffix(name, ":"):
			if _, err := fmt.Sscanf(name, "%x-%x", &current.start, &current.end); err != nil {
				return nil, fmt.Errorf("%q is no range of addresses: %w", name, err)
			}
			wanted = len(fields) == 6 && fields[5] == file && strings.HasPrefix(fields[1], "r-") && strings.HasSuffix(fields[1], "p")
		case name == "Anonymous:" && wanted:
			wanted = fields[1] == "0"
		// The last of what matters.
		case name == "Swap:" && wanted && fields[1] == "0":
			all = append(all, current)
		}
	}
	return all, lines.Err()
}
