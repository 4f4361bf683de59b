// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cleanNode removes everything that a real node left outside its folder, and its mounts inside. The
// kubelet and containerd must have ended. It is idempotent, and `cluster down` runs it after a
// supervisor that was killed.
func (r request) cleanNode() error {
	if _, err := os.Stat(r.node()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	errs := []error{killCgroups(r.cgroup()), r.killShims(), unmountBelow(r.node()), removeCgroups(r.cgroup())}
	r.removeLogLinks()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if hasNodeIP() {
		errs = append(errs, ip(ctx, "addr", "del", nodeIP+"/32", "dev", "lo"))
	}
	return errors.Join(append(errs, r.restoreSysctls())...)
}

// cleanNodeIn runs cleanNode for a state directory without a running supervisor.
func cleanNodeIn(state string) error {
	if _, err := os.Stat(filepath.Join(state, nodeFolder)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var r request
	if err := readJSON(filepath.Join(state, requestFile), &r); err != nil {
		return err
	}
	r.State = state
	return r.cleanNode()
}

// removeState removes a state directory unless it contains a mount, whose contents would be
// deleted.
func removeState(state string) error {
	left, err := mountsBelow(state)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("%s is not removed: %s is mounted there", state, strings.Join(left, ", "))
	}
	return os.RemoveAll(state)
}

// killShims ends the parents of containers. They outlive containerd by design;
// those of this node name its socket.
func (r request) killShims() error {
	// The list is read now, because a running containerd removes it when the shims end.
	defer removeShimSockets(r.shimSockets())
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		shims := r.shims()
		if len(shims) == 0 {
			return nil
		}
		for _, id := range shims {
			_ = id.signal(syscall.SIGKILL)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d shims of containers do not end", len(shims))
		}
	}
}

func (r request) shims() []identity {
	entries, _ := os.ReadDir("/proc")
	var found []identity
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		id, err := identify(pid)
		if err != nil {
			continue
		}
		line, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		args := strings.Split(string(bytes.TrimRight(line, "\x00")), "\x00")
		if strings.HasPrefix(filepath.Base(args[0]), "containerd-shim") && slices.Contains(args, r.containerdSocket()) {
			found = append(found, id)
		}
	}
	return found
}

// shimSockets are in a folder that all containerds of a machine share, and a shim
// that is killed leaves its own behind.
func (r request) shimSockets() []string {
	notes, _ := filepath.Glob(r.node("containerd-state", "io.containerd.runtime.v2.task", "*", "*", "address"))
	var found []string
	for _, note := range notes {
		address, err := os.ReadFile(note)
		if path, ok := strings.CutPrefix(string(address), "unix://"); err == nil && ok && filepath.Dir(path) == sharedSockets {
			found = append(found, path)
		}
	}
	return found
}

const sharedSockets = "/run/containerd/s"

func removeShimSockets(paths []string) {
	for _, path := range paths {
		_ = os.Remove(path)
	}
	for _, dir := range []string{sharedSockets, filepath.Dir(sharedSockets)} {
		_ = syscall.Rmdir(dir) // only if it is empty
	}
}

// removeLogLinks removes links that the kubelet creates in a fixed folder.
func (r request) removeLogLinks() {
	links, _ := filepath.Glob("/var/log/containers/*.log")
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, r.node()+"/") {
			_ = os.Remove(link)
		}
	}
	_ = syscall.Rmdir("/var/log/containers") // only if it is empty
}

func eachMount(see func(kind, target string)) error {
	table, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); len(fields) > 2 {
			see(fields[2], unescape.Replace(fields[1]))
		}
	}
	return nil
}

// mountsBelow returns mounts in the order of the table, in which later mounts come later.
func mountsBelow(dir string) ([]string, error) {
	// The table has no symbolic links.
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	var found []string
	err := eachMount(func(_, target string) {
		if target == dir || strings.HasPrefix(target, dir+"/") {
			found = append(found, target)
		}
	})
	return found, err
}

func unmountBelow(dir string) error {
	for range 5 { // propagation may need several rounds
		targets, err := mountsBelow(dir)
		if err != nil || len(targets) == 0 {
			return err
		}
		slices.Reverse(targets)
		for _, target := range targets {
			if syscall.Unmount(target, 0) != nil {
				_ = syscall.Unmount(target, syscall.MNT_DETACH)
			}
		}
	}
	left, err := mountsBelow(dir)
	if len(left) > 0 {
		err = errors.Join(err, fmt.Errorf("cannot unmount %s", strings.Join(left, ", ")))
	}
	return err
}

func (r request) restoreSysctls() error {
	data, err := os.ReadFile(r.node(sysctlFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var before map[string]string
	if err := json.Unmarshal(data, &before); err != nil {
		return err
	}
	var errs []error
	for name, value := range before {
		path := filepath.Join("/proc/sys", name)
		if now, err := os.ReadFile(path); err == nil && string(now) == value {
			continue
		}
		errs = append(errs, os.WriteFile(path, []byte(value), 0))
	}
	return errors.Join(errs...)
}
