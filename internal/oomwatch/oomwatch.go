// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package oomwatch tells when a process comes close to the memory its cgroup may
// use. Whoever is told can end in order; who exceeds the limit is killed, and
// leaves Helm releases pending. It also gives back what only the start of the
// process needed. It knows nothing of what the process does.
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

// CgroupRoot is where containers see their cgroup.
const CgroupRoot = "/sys/fs/cgroup"

// Options say what is looked at, and how often.
type Options struct {
	// Percent of the limit at which memory counts as short, 1 to 100.
	Percent int
	// Interval is the time between looks; more than zero.
	Interval time.Duration
	// MaxPath and CurrentPath hold the limit and what is used, in bytes. Where one is
	// empty, the file of the cgroup at CgroupRoot is used, of version 2 or 1.
	MaxPath     string
	CurrentPath string
	// CgroupRoot is the directory of the cgroup; see the constant.
	CgroupRoot string
	Log        logr.Logger
}

// ErrMemoryLow is the cause by which a context ends whose memory is short.
var ErrMemoryLow = errors.New("memory is about to run out")

// Watch returns a context that ends, with the cause ErrMemoryLow, when memory is
// short. It returns an error if there is no limit, or nothing tells what is used.
// A look that fails is logged, and is no reason to end.
func Watch(ctx context.Context, o Options) (context.Context, error) {
	maxPath, err := firstThere(o.MaxPath, o.CgroupRoot, "memory.max", "memory/memory.limit_in_bytes")
	if err != nil {
		return nil, fmt.Errorf("the memory limit is not known: %w", err)
	}
	current, err := firstThere(o.CurrentPath, o.CgroupRoot, "memory.current", "memory/memory.usage_in_bytes")
	if err != nil {
		return nil, fmt.Errorf("the memory used is not known: %w", err)
	}
	limit, err := readBytes(maxPath)
	if err != nil {
		return nil, fmt.Errorf("the memory limit is not known: %w", err)
	}
	if limit == 0 {
		return nil, fmt.Errorf("the memory limit in %s is zero", maxPath)
	}
	if _, err := readBytes(current); err != nil {
		return nil, fmt.Errorf("the memory used is not known: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go watch(ctx, cancel, o, current, limit)
	return ctx, nil
}

func watch(ctx context.Context, cancel context.CancelCauseFunc, o Options, path string, limit uint64) {
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
			o.Log.Error(err, "cannot tell how much memory is used")
			continue
		}
		if float64(used) >= float64(limit)*float64(o.Percent)/100 {
			o.Log.Info("memory is about to run out: shutting down", "used", used, "limit", limit, "percent", o.Percent)
			cancel(ErrMemoryLow)
			return
		}
	}
}

// firstThere returns path, or where it is empty the first of the files beneath
// root that exists.
func firstThere(path, root string, names ...string) (string, error) {
	if path != "" {
		return path, nil
	}
	for _, name := range names {
		if found := filepath.Join(root, name); exists(found) {
			return found, nil
		}
	}
	return "", fmt.Errorf("there is neither of %s in %s", strings.Join(names, ", "), root)
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
		return 0, fmt.Errorf("%s says that there is none", path)
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}
