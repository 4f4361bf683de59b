// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package oomwatch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
)

// cgroup writes the files of a cgroup and returns their directory.
func cgroup(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		put(t, filepath.Join(root, name), content)
	}
	return root
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestWatch: the context ends when usage reaches the percentage, whatever a failed read returns.
func TestWatch(t *testing.T) {
	for name, tc := range map[string]struct {
		max, current string
		o            Options
	}{
		"Version2":  {max: "memory.max", current: "memory.current"},
		"Version1":  {max: "memory/memory.limit_in_bytes", current: "memory/memory.usage_in_bytes"},
		"Elsewhere": {max: "limit", current: "used", o: Options{MaxPath: "limit", CurrentPath: "used"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := cgroup(t, map[string]string{tc.max: "1000\n", tc.current: "949\n"})
			o := tc.o
			o.CgroupRoot, o.Percent, o.Interval, o.Log = root, 95, time.Second, logr.Discard()
			if o.MaxPath != "" {
				o.MaxPath, o.CurrentPath = filepath.Join(root, o.MaxPath), filepath.Join(root, o.CurrentPath)
			}
			synctest.Test(t, func(t *testing.T) {
				ctx, err := Watch(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				for _, content := range []string{"949", "", "949"} {
					put(t, filepath.Join(root, tc.current), content)
					time.Sleep(time.Second)
					synctest.Wait()
					if ctx.Err() != nil {
						t.Fatalf("the context ended although %q of 1000 bytes are used", content)
					}
				}
				put(t, filepath.Join(root, tc.current), "950")
				time.Sleep(time.Second)
				synctest.Wait()
				if !errors.Is(context.Cause(ctx), ErrMemoryLow) {
					t.Errorf("the context goes on although 950 of 1000 bytes are used: %v", context.Cause(ctx))
				}
			})
		})
	}
}

// TestParentEnds: the context ends with its parent.
func TestParentEnds(t *testing.T) {
	root := cgroup(t, map[string]string{"memory.max": "10", "memory.current": "1"})
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancel(t.Context())
		ctx, err := Watch(parent, Options{CgroupRoot: root, Percent: 90, Interval: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		synctest.Wait()
		if !errors.Is(context.Cause(ctx), context.Canceled) {
			t.Errorf("the cause is %v", context.Cause(ctx))
		}
	})
}

// TestErrors: a missing or invalid limit or usage is an error.
func TestErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"Nothing":   {nil, "reading the memory limit: no file memory.max or"},
		"NoUsage":   {map[string]string{"memory.max": "1"}, "reading the memory usage: no file memory.current or"},
		"Unlimited": {map[string]string{"memory.max": "max", "memory.current": "1"}, "memory.max sets no limit"},
		"Zero":      {map[string]string{"memory.max": "0", "memory.current": "1"}, "is zero"},
		"Words":     {map[string]string{"memory.max": "1", "memory.current": "much"}, "invalid syntax"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Watch(t.Context(), Options{CgroupRoot: cgroup(t, tc.files), Percent: 95, Interval: time.Second})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %s", err, tc.want)
			}
		})
	}
}
