// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// The real node: containerd and runc of this machine, and a kubelet built with the control plane.
// All that it leaves outside its folder is named here, and removed in node_clean.go. Much of it is
// shared by the machine, so only one such node can run at a time.
const (
	containerd = "containerd"
	kubelet    = "kubelet"

	realNode = "real-node"
	// A kubelet rejects a loopback address as that of its node. This address is added to the
	// loopback interface, so it is not reachable from outside either.
	nodeIP     = "10.200.0.1"
	podSubnet  = "10.200.1.0/24"
	nodeFolder = "node"
	// cniPlugins is where Debian's package containernetworking-plugins has them.
	cniPlugins = "/usr/lib/cni"
	// lockPatience is how long a cluster waits for another one's real node to end.
	lockPatience = 15 * time.Minute
)

func (r request) node(elem ...string) string {
	return filepath.Join(append([]string{r.State, nodeFolder}, elem...)...)
}

func (r request) containerdSocket() string { return r.node("containerd.sock") }

// cgroup is the root of the node's cgroups, relative to that of a hierarchy.
func (r request) cgroup() string { return fmt.Sprintf("pintle-node-%d", r.Ports.Base) }

// systemPath is for the programs of Debian's packages, some of which are not in an ordinary PATH.
func systemPath() string {
	return os.Getenv("PATH") + ":/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"
}

func findProgram(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, dir := range filepath.SplitList(systemPath()) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no program %q", name)
}

func (r request) containerd() (component, error) {
	path, err := findProgram(containerd)
	return component{
		name: containerd, path: path, args: []string{"--config", r.node("containerd.toml")},
		env: []string{"PATH=" + systemPath()},
	}, err
}

func (r request) kubelet() component {
	return component{name: kubelet, args: []string{
		"--config", r.node("kubelet.json"), "--kubeconfig", r.pki(kubelet + ".kubeconfig"),
		"--root-dir", r.node("kubelet"), "--cert-dir", r.node("kubelet-pki"),
		"--hostname-override", realNode, "--node-ip", nodeIP,
	}, env: []string{"PATH=" + systemPath()}}
}

// containerdConfig keeps everything in the node's folder, the mounts of network
// namespaces included.
func (r request) containerdConfig(runc, snapshotter string) string {
	return fmt.Sprintf(`version = 2
root = %[1]q
state = %[2]q
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
]
[grpc]
  address = %[3]q
[plugins."io.containerd.internal.v1.opt"]
  path = %[4]q
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %[5]q
  stream_server_address = "127.0.0.1"
  netns_mounts_under_state_dir = true
  disable_apparmor = true
  restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = %[6]q
  conf_dir = %[7]q
[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = %[8]q
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  BinaryName = %[9]q
  Root = %[10]q
  SystemdCgroup = false
`, r.node("containerd"), r.node("containerd-state"), r.containerdSocket(), r.node("opt"),
		pauseImage, cniPlugins, r.node("cni"), snapshotter, runc, r.node("runc"))
}

func (r request) kubeletConfig() map[string]any {
	return map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"address": nodeIP, "port": r.Ports.Base + 9, "readOnlyPort": 0, "healthzPort": 0,
		"authentication": map[string]any{
			"anonymous": map[string]any{"enabled": false},
			"webhook":   map[string]any{"enabled": true},
			"x509":      map[string]any{"clientCAFile": r.pki("ca.crt")},
		},
		"authorization":            map[string]any{"mode": "Webhook"},
		"containerRuntimeEndpoint": "unix://" + r.containerdSocket(),
		// No systemd is needed, and either version of cgroups will do.
		"cgroupDriver": "cgroupfs", "cgroupRoot": "/" + r.cgroup(), "failCgroupV1": false,
		// As with cgroups of version 1, which always behave so.
		"singleProcessOOMKill": true,
		"failSwapOn":           false, "makeIPTablesUtilChains": false,
		"podLogsDir": r.node("podlogs"), "volumePluginDir": r.node("plugins"),
		// There is no DNS; Pods get the host's configuration.
		"resolvConf": "/etc/resolv.conf",
		// A machine that is short of disk for other reasons is no reason to evict.
		"imageGCHighThresholdPercent": 100,
		"evictionHard": map[string]string{
			"memory.available": "0%", "nodefs.available": "0%", "nodefs.inodesFree": "0%",
			"imagefs.available": "0%", "imagefs.inodesFree": "0%", "pid.available": "0%",
		},
	}
}

// cniConfig gives each Pod an address that only the machine can reach. There are no Services, and
// Pods have no other network.
func (r request) cniConfig() map[string]any {
	return map[string]any{
		"cniVersion": "0.4.0", "name": "pintle", "plugins": []any{map[string]any{
			"type": "ptp", "ipMasq": false,
			"ipam": map[string]any{
				"type": "host-local", "dataDir": r.node("ipam"),
				"ranges": [][]map[string]string{{{"subnet": podSubnet}}},
				"routes": []map[string]string{{"dst": "0.0.0.0/0"}},
			},
		}},
	}
}

func (s *supervisor) launchNode(ctx context.Context) error {
	if err := s.lockMachine(ctx); err != nil {
		return err
	}
	if why := nodeObstacles(ctx, s.State); len(why) > 0 {
		return fmt.Errorf("a real node cannot run here: %w", errors.Join(why...))
	}
	if err := s.prepareNode(ctx); err != nil {
		return fmt.Errorf("prepare the real node: %w", err)
	}
	c, err := s.containerd()
	if err != nil {
		return err
	}
	if err := s.launch(c); err != nil {
		return err
	}
	if err := s.await(ctx, containerd, s.importImages); err != nil {
		return err
	}
	s.tell("containerd is ready")
	return s.launch(s.kubelet())
}

func machineLockPath() string { return filepath.Join(os.TempDir(), "pintle-real-node.lock") }

// lockMachine waits until no other cluster has a real node. The lock is held until this process
// ends.
func (s *supervisor) lockMachine(ctx context.Context) error {
	deadline := time.Now().Add(lockPatience)
	for told := false; ; {
		lock, err := tryLock(machineLockPath())
		if err == nil {
			s.machineLock = lock
			return nil
		}
		if !errors.Is(err, errLocked) || time.Now().After(deadline) {
			return fmt.Errorf("another cluster has a real node: %w", err)
		}
		if !told {
			s.tell("waiting: another cluster on this machine has a real node")
			told = true
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (s *supervisor) prepareNode(ctx context.Context) error {
	// First, so that everything that follows is cleaned up.
	if err := os.MkdirAll(s.node("cni"), 0o700); err != nil {
		return err
	}
	if err := s.saveSysctls(); err != nil {
		return err
	}
	if err := ip(ctx, "addr", "replace", nodeIP+"/32", "dev", "lo"); err != nil {
		return err
	}
	if err := makeCgroups(s.cgroup()); err != nil {
		return err
	}
	runc, err := findProgram("runc")
	if err != nil {
		return err
	}
	snapshotter := "overlayfs"
	if tryOverlay(s.node()) != nil {
		snapshotter = "native"
	}
	if err := os.WriteFile(s.node("containerd.toml"), []byte(s.containerdConfig(runc, snapshotter)), 0o600); err != nil {
		return err
	}
	if err := writeJSON(s.node("kubelet.json"), s.kubeletConfig()); err != nil {
		return err
	}
	if err := writeJSON(s.node("cni", "pintle.conflist"), s.cniConfig()); err != nil {
		return err
	}
	return writeImages(s.node("images.tar"))
}

// importImages also waits until containerd answers.
func (s *supervisor) importImages(ctx context.Context) error {
	ctr, err := findProgram("ctr")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for _, archive := range append([]string{s.node("images.tar")}, s.NodeImages...) {
		err := output(exec.CommandContext(ctx, ctr, "--address", s.containerdSocket(), "--namespace", "k8s.io", "images", "import", archive))
		if err != nil {
			return err
		}
	}
	return nil
}

func ip(ctx context.Context, args ...string) error {
	path, err := findProgram("ip")
	if err != nil {
		return err
	}
	return output(exec.CommandContext(ctx, path, args...))
}

// output runs a command and returns its output in the error.
func output(cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, out)
	}
	return nil
}

// sysctls are the kernel parameters that the kubelet and the network plugin change.
func sysctls() []string {
	return []string{
		"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
		"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes", "net/ipv4/ip_forward",
	}
}

func (r request) saveSysctls() error {
	before := map[string]string{}
	for _, name := range sysctls() {
		value, err := os.ReadFile(filepath.Join("/proc/sys", name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		before[name] = string(value)
	}
	data, err := json.Marshal(before)
	if err != nil {
		return err
	}
	return os.WriteFile(r.node(sysctlFile), data, 0o600)
}

const sysctlFile = "sysctls-before.json"
