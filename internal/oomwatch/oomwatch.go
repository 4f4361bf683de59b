// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package oomwatch ends a context before the memory limit of the cgroup is reached, so that the
// process can shut down in order. A process above the limit is killed and leaves Helm releases
// pending.
package oomwatch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
)

// CgroupRoot is the directory of the cgroup in a container.
const CgroupRoot = "/sys/fs/cgroup"

// Options configure Watch.
type Options struct {
	// Percent is the percentage of the limit at which the context ends, 1 to 100.
	Percent int
	// Interval is the time between two checks; more than zero.
	Interval time.Duration
	// MaxPath and CurrentPath are files that contain the limit and the usage, in bytes. If one is
	// empty, the file of the cgroup in CgroupRoot is used, of version 2 or 1.
	MaxPath     string
	CurrentPath string
	// CgroupRoot is the directory of the cgroup, usually the constant.
	CgroupRoot string
	Log        logr.Logger
}

// ErrMemoryLow is the cause of the context when memory usage is close to the limit.
var ErrMemoryLow = errors.New("memory usage is close to the limit")

// Watch returns a context that ends with the cause ErrMemoryLow when memory usage reaches
// Options.Percent of the limit. It returns an error if limit or usage cannot be read. A later check
// that fails is logged.
func Watch(ctx context.Context, o Options) (context.Context, error) {
	maxPath, err := firstExisting(o.MaxPath, o.CgroupRoot, "memory.max", "memory/memory.limit_in_bytes")
	if err != nil {
		return nil, fmt.Errorf("reading the memory limit: %w", err)
	}
	current, err := firstExisting(o.CurrentPath, o.CgroupRoot, "memory.current", "memory/memory.usage_in_bytes")
	if err != nil {
		return nil, fmt.Errorf("reading the memory usage: %w", err)
	}
	limit, err := readBytes(maxPath)
	if err != nil {
		return nil, fmt.Errorf("reading the memory limit: %w", err)
	}
	if limit == 0 {
		return nil, fmt.Errorf("the memory limit in %s is zero", maxPath)
	}
	if _, err := readBytes(current); err != nil {
		return nil, fmt.Errorf("reading the memory usage: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go poll(ctx, cancel, o, current, limit)
	return ctx, nil
}

func poll(ctx context.Context, cancel context.CancelCauseFunc, o Options, path string, limit uint64) {
	ticker := time.NewTicker(o.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		used, err := readBytes(path)
		if err != nil {
			o.Log.Error(err, "cannot read the memory usage")
			continue
		}
		if float64(used) >= float64(limit)*float64(o.Percent)/100 {
			o.Log.Info("memory usage is close to the limit: shutting down", "used", used, "limit", limit, "percent", o.Percent)
			cancel(ErrMemoryLow)
			return
		}
	}
}

// firstExisting returns path, or if that is empty the first of names that exists in root.
func firstExisting(path, root string, names ...string) (string, error) {
	if path != "" {
		return path, nil
	}
	for _, name := range names {
		if found := filepath.Join(root, name); exists(found) {
			return found, nil
		}
	}
	return "", fmt.Errorf("no file %s in %s", strings.Join(names, " or "), root)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func readBytes(path string) (uint64, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	text := strings.TrimSpace(string(raw))
	if text == "max" {
		return 0, fmt.Errorf("%s sets no limit", path)
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}
