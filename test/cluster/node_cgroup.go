// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	cgroupMount = "/sys/fs/cgroup"
	cgroup2     = 0x63677270 // CGROUP2_SUPER_MAGIC
)

// controllers are those without which a kubelet does not start. Those that exist
// in version 1 only have no counterpart in version 2.
var (
	controllersV1 = []string{"cpu", "cpuacct", "cpuset", "memory", "pids"}
	controllersV2 = []string{"cpu", "cpuset", "memory", "pids"}
)

func unifiedCgroups() bool {
	var fs syscall.Statfs_t
	return syscall.Statfs(cgroupMount, &fs) == nil && fs.Type == cgroup2
}

// cgroupObstacles returns the missing requirements.
func cgroupObstacles() []error {
	if !unifiedCgroups() {
		var why []error
		for _, name := range controllersV1 {
			if _, err := os.Stat(filepath.Join(cgroupMount, name, "cgroup.procs")); err != nil {
				why = append(why, fmt.Errorf("cgroup v1 has no controller %q: %w", name, err))
			}
		}
		return why
	}
	available, err := os.ReadFile(filepath.Join(cgroupMount, "cgroup.controllers"))
	if err != nil {
		return []error{err}
	}
	var why []error
	for _, name := range controllersV2 {
		if !slices.Contains(strings.Fields(string(available)), name) {
			why = append(why, fmt.Errorf("cgroup v2 has no controller %q, only: %s", name, strings.TrimSpace(string(available))))
		}
	}
	if len(why) > 0 {
		return why
	}
	if err := enableControllers(cgroupMount); err != nil {
		why = append(why, err)
	}
	return why
}

// enableControllers enables controllers for the children of a cgroup of version 2. The kernel
// rejects that for a cgroup with processes, except the root.
func enableControllers(dir string) error {
	path := filepath.Join(dir, "cgroup.subtree_control")
	given, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for _, name := range controllersV2 {
		if slices.Contains(strings.Fields(string(given)), name) {
			continue
		}
		err := os.WriteFile(path, []byte("+"+name), 0)
		if errors.Is(err, syscall.EBUSY) {
			return fmt.Errorf("the controller %q cannot be given to children: %w; "+
				"this is a container's root cgroup with processes in it: move them into a child first", name, err)
		}
		if err != nil {
			return fmt.Errorf("the controller %q cannot be given to children: %w", name, err)
		}
	}
	return nil
}

// makeCgroups makes the root of a node's cgroups, which a kubelet wants to find.
func makeCgroups(name string) error {
	if unifiedCgroups() {
		dir := filepath.Join(cgroupMount, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		return enableControllers(dir)
	}
	hierarchies, err := hierarchiesV1()
	if err != nil {
		return err
	}
	for _, hierarchy := range hierarchies {
		dir := filepath.Join(hierarchy, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		// A new cpuset is empty, so no process can run in it.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			value, err := os.ReadFile(filepath.Join(hierarchy, file))
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err := errors.Join(err, os.WriteFile(filepath.Join(dir, file), value, 0)); err != nil {
				return err
			}
		}
	}
	return nil
}

func hierarchiesV1() ([]string, error) {
	var found []string
	err := eachMount(func(kind, target string) {
		if kind == "cgroup" {
			found = append(found, target)
		}
	})
	return found, err
}

// cgroupDirs are all cgroups at and below the root of a node's, children first.
func cgroupDirs(name string) []string {
	roots := []string{filepath.Join(cgroupMount, name)}
	nested, _ := filepath.Glob(filepath.Join(cgroupMount, "*", name))
	var dirs []string
	for _, root := range append(roots, nested...) {
		_ = filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
	}
	slices.Reverse(dirs)
	return dirs
}

// killCgroups kills every process in a node's cgroups, which are those of its containers.
func killCgroups(name string) error {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left := processesIn(name)
		if len(left) == 0 {
			return nil
		}
		for _, id := range left {
			_ = id.signal(syscall.SIGKILL)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes in the cgroup %s do not end", len(left), name)
		}
	}
}

func processesIn(name string) []identity {
	seen := map[int]bool{}
	var found []identity
	for _, dir := range cgroupDirs(name) {
		listed, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for _, field := range strings.Fields(string(listed)) {
			var pid int
			if _, err := fmt.Sscan(field, &pid); err != nil || seen[pid] || pid == 0 {
				continue
			}
			id, err := identify(pid)
			if err != nil {
				continue
			}
			// The number may have been given away between the list and identify.
			where, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
			if strings.Contains(string(where), "/"+name) {
				seen[pid] = true
				found = append(found, id)
			}
		}
	}
	return found
}

func removeCgroups(name string) error {
	var err error
	for _, dir := range cgroupDirs(name) {
		// A cgroup is empty some moments after its last process has ended.
		for range 40 {
			if err = syscall.Rmdir(dir); !errors.Is(err, syscall.EBUSY) {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove the cgroup %s: %w", dir, err)
		}
	}
	return nil
}
