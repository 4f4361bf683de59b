// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// runCheckNode reports whether a real node can run on this machine. It undoes its changes, except
// that controllers stay enabled for children of the root cgroup. That is usual with cgroups of
// version 2, and harmless.
func runCheckNode(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("cluster check-node", flag.ContinueOnError)
	if err := parse(flags, args); err != nil {
		return err
	}
	return errors.Join(nodeObstacles(ctx, os.TempDir())...)
}

// nodeObstacles returns all obstacles for a real node with a state directory, not only the first
// one.
func nodeObstacles(ctx context.Context, state string) []error {
	if os.Geteuid() != 0 {
		return []error{errors.New("containers and a kubelet need root")}
	}
	var why []error
	for _, name := range []string{containerd, "ctr", "runc", "ip"} {
		if _, err := findProgram(name); err != nil {
			why = append(why, err)
		}
	}
	for _, name := range []string{"ptp", "host-local", "loopback"} {
		if _, err := os.Stat(filepath.Join(cniPlugins, name)); err != nil {
			why = append(why, fmt.Errorf("there is no network plugin %q: %w", name, err))
		}
	}
	if _, err := staticBusybox(); err != nil {
		why = append(why, err)
	}
	why = append(why, cgroupObstacles()...)
	if err := tryNamespaces(ctx); err != nil {
		why = append(why, err)
	}
	if err := tryMount(state); err != nil {
		why = append(why, err)
	}
	// Names of sockets are bounded, and these are the longest.
	for _, name := range []string{"containerd.sock.ttrpc", "kubelet/device-plugins/kubelet.sock", "kubelet/pod-resources/kubelet.sock"} {
		if path := (request{State: state}).node(name); len(path) >= len(syscall.RawSockaddrUnix{}.Path) {
			why = append(why, fmt.Errorf("the path of a socket is too long, choose another state directory: %s", path))
		}
	}
	return why
}

// tryNamespaces starts a process as a container's is.
func tryNamespaces(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "-h")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) {
		return nil // it ran; how it ended does not matter
	}
	return fmt.Errorf("the kernel refuses namespaces: %w", err)
}

func tryMount(dir string) error {
	target, err := os.MkdirTemp(dir, "pintle-mount-")
	if err != nil {
		return err
	}
	defer os.Remove(target)
	if err := syscall.Mount("tmpfs", target, "tmpfs", 0, ""); err != nil {
		return fmt.Errorf("the kernel refuses mounts: %w", err)
	}
	return syscall.Unmount(target, 0)
}

// tryOverlay reports whether containers can share layers in a folder. They cannot if the folder
// itself is on an overlay, as in a container.
func tryOverlay(dir string) error {
	work, err := os.MkdirTemp(dir, "overlay-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	parts := map[string]string{}
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		parts[name] = filepath.Join(work, name)
		if err := os.Mkdir(parts[name], 0o700); err != nil {
			return err
		}
	}
	options := "lowerdir=" + parts["lower"] + ",upperdir=" + parts["upper"] + ",workdir=" + parts["work"]
	if err := syscall.Mount("overlay", parts["merged"], "overlay", 0, options); err != nil {
		return err
	}
	return syscall.Unmount(parts["merged"], 0)
}

// staticBusybox finds a busybox that runs without libraries.
func staticBusybox() (string, error) {
	path, err := findProgram("busybox")
	if err != nil {
		return "", err
	}
	program, err := elf.Open(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	defer program.Close()
	for _, part := range program.Progs {
		if part.Type == elf.PT_INTERP {
			return "", fmt.Errorf("%s needs libraries; Debian's package busybox-static has one that does not", path)
		}
	}
	return path, nil
}

func hasNodeIP() bool {
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		return false
	}
	addresses, _ := lo.Addrs()
	for _, address := range addresses {
		if strings.HasPrefix(address.String(), nodeIP+"/") {
			return true
		}
	}
	return false
}
