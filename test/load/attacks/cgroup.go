// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	cgroupMount = "/sys/fs/cgroup"
	cgroup2     = 0x63677270 // CGROUP2_SUPER_MAGIC
)

// cgroup is a cgroup with a memory limit and without swap, of version 1 or 2.
type cgroup struct {
	dir string
	// peakFile has the highest usage, and eventsFile the number of processes that the kernel killed.
	peakFile, eventsFile string
}

// newCgroup creates a cgroup below the root of the hierarchy. The error is the reason why this
// process cannot.
func newCgroup(name string, limit int64) (*cgroup, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(cgroupMount, &fs); err != nil {
		return nil, err
	}
	bytes := strconv.FormatInt(limit, 10)
	if fs.Type == cgroup2 {
		if err := os.WriteFile(filepath.Join(cgroupMount, "cgroup.subtree_control"), []byte("+memory"), 0); err != nil {
			return nil, fmt.Errorf("cgroup v2 gives no memory controller to children: %w", err)
		}
		g := &cgroup{filepath.Join(cgroupMount, name), "memory.peak", "memory.events"}
		return g, g.create([2]string{"memory.max", bytes}, [2]string{"memory.swap.max", "0"})
	}
	g := &cgroup{filepath.Join(cgroupMount, "memory", name), "memory.max_usage_in_bytes", "memory.oom_control"}
	return g, g.create([2]string{"memory.limit_in_bytes", bytes}, [2]string{"memory.memsw.limit_in_bytes", bytes})
}

// create creates the directory and writes limits. The file for swap need not exist.
func (g *cgroup) create(limit, swap [2]string) error {
	if err := os.Mkdir(g.dir, 0o755); err != nil { //nolint:gosec // a directory of the kernel
		return err
	}
	err := os.WriteFile(filepath.Join(g.dir, limit[0]), []byte(limit[1]), 0)
	if swapErr := os.WriteFile(filepath.Join(g.dir, swap[0]), []byte(swap[1]), 0); !errors.Is(swapErr, os.ErrNotExist) {
		err = errors.Join(err, swapErr)
	}
	if err != nil {
		return errors.Join(err, os.Remove(g.dir))
	}
	return nil
}

// wrap returns the path of a script that moves itself into the cgroup and becomes the executable.
func (g *cgroup) wrap(executable, dir string) (string, error) {
	path := filepath.Join(dir, "in-cgroup.sh")
	script := fmt.Sprintf("#!/bin/sh\necho $$ >'%s/cgroup.procs' && exec '%s' \"$@\"\n", g.dir, executable)
	return path, os.WriteFile(path, []byte(script), 0o700) //nolint:gosec // it is executed
}

// peakMiB returns the highest usage, which includes cached files.
func (g *cgroup) peakMiB() (float64, error) {
	content, err := os.ReadFile(filepath.Join(g.dir, g.peakFile))
	if err != nil {
		return 0, err
	}
	bytes, err := strconv.ParseFloat(strings.TrimSpace(string(content)), 64)
	return bytes / (1 << 20), err
}

// kills returns the number of processes that the kernel killed at the limit.
func (g *cgroup) kills() (int, error) {
	content, err := os.ReadFile(filepath.Join(g.dir, g.eventsFile))
	if err != nil {
		return 0, err
	}
	return parseKills(string(content))
}

func parseKills(events string) (int, error) {
	for line := range strings.Lines(events) {
		if count, ok := strings.CutPrefix(line, "oom_kill "); ok {
			return strconv.Atoi(strings.TrimSpace(count))
		}
	}
	return 0, errors.New("the kernel does not count processes that it killed")
}

// remove removes the cgroup, once its processes have ended.
func (g *cgroup) remove(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := os.Remove(g.dir)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s has processes: %w", g.dir, err)
		case <-tick.C:
		}
	}
}
