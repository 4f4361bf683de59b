// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Names of the components of a control plane, in Record and for KillComponents.
const (
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Etcd              = "etcd"
	Kwok              = "kwok"
	Scheduler         = "kube-scheduler"
)

// endedEvery is the interval of checks whether a killed process has ended.
const endedEvery = 10 * time.Millisecond

var errExternal = errors.New("the cluster was there already")

// cluster is a control plane that test/cluster started for this process.
type cluster struct{ launcher, state string }

// startCluster returns when the cluster is ready. The cluster ends with this process, even if that
// is killed.
func startCluster(ctx context.Context, o Options, kubeconfig string) (*cluster, error) {
	args := []string{"--source-controller"}
	if o.Node {
		args = append(args, "--node")
	}
	for _, archive := range o.NodeImages {
		args = append(args, "--node-image", archive)
	}
	if o.AuditLog != "" {
		args = append(args, "--audit-log", o.AuditLog)
	}
	if o.ArtifactProxy != "" {
		args = append(args, "--source-advertise", o.ArtifactProxy)
	}
	return upCluster(ctx, o.ClusterBin, filepath.Join(o.Dir, "cluster"), kubeconfig, args...)
}

func upCluster(ctx context.Context, bin, state, kubeconfig string, args ...string) (*cluster, error) {
	c := &cluster{launcher: filepath.Join(bin, "cluster"), state: state}
	args = append([]string{"--kubeconfig", kubeconfig, "--parent", strconv.Itoa(os.Getpid())}, args...)
	if err := c.run(ctx, "up", args...); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *cluster) stop(ctx context.Context) error { return c.run(ctx, "down") }

// Record describes a started control plane.
type Record struct {
	// SourceAddress is the host and port at which source-controller serves artifacts.
	SourceAddress string `json:"sourceAddress"`
	// LogDir has a log for each component, COMPONENT.log.
	LogDir string `json:"logDir"`
	// PIDs are process IDs by component.
	PIDs map[string]int `json:"pids"`
}

// Record returns the record of the started control plane.
func (e *Environment) Record() (Record, error) {
	if e.cluster == nil {
		return Record{}, errExternal
	}
	return e.cluster.record()
}

// KillComponents kills components of the started control plane and returns when they have ended.
// Stored data is kept, and the other components continue.
func (e *Environment) KillComponents(ctx context.Context, names ...string) error {
	if e.cluster == nil {
		return errExternal
	}
	return e.cluster.kill(ctx, names...)
}

// RestartComponents starts ended components again at the same addresses, and returns when the API
// server is ready.
func (e *Environment) RestartComponents(ctx context.Context) error {
	if e.cluster == nil {
		return errExternal
	}
	return e.cluster.restart(ctx)
}

// SignalComponents sends a signal to components of the started control plane. A component that
// SIGSTOP has stopped accepts connections and does not answer.
func (e *Environment) SignalComponents(signal syscall.Signal, names ...string) error {
	if e.cluster == nil {
		return errExternal
	}
	return e.cluster.signal(signal, names...)
}

func (c *cluster) record() (Record, error) {
	var r Record
	content, err := os.ReadFile(filepath.Join(c.state, "cluster.json"))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(content, &r)
}

// signal sends a signal to components, and returns an error if one does not run.
func (c *cluster) signal(signal syscall.Signal, names ...string) error {
	record, err := c.record()
	if err != nil {
		return err
	}
	for _, name := range names {
		pid := record.PIDs[name]
		if pid == 0 {
			return fmt.Errorf("%s does not run", name)
		}
		if err := syscall.Kill(pid, signal); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// kill waits until the launcher has noticed that the processes have ended: restart starts no
// others.
func (c *cluster) kill(ctx context.Context, names ...string) error {
	record, err := c.record()
	if err != nil {
		return err
	}
	if err := c.signal(syscall.SIGKILL, names...); err != nil {
		return err
	}
	for _, name := range names {
		for !errors.Is(syscall.Kill(record.PIDs[name], 0), syscall.ESRCH) {
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s does not end: %w", name, ctx.Err())
			case <-time.After(endedEvery):
			}
		}
	}
	return nil
}

func (c *cluster) restart(ctx context.Context) error { return c.run(ctx, "restart") }

func (c *cluster) run(ctx context.Context, command string, args ...string) error {
	cmd := exec.CommandContext(ctx, c.launcher, append([]string{command, "--state", c.state}, args...)...)
	// The launcher cleans up on SIGTERM, but not on SIGKILL.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	// Ctrl-C must reach only this process, which ends the others in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s %s: %w", c.launcher, command, ctx.Err())
	}
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s does not exist: `make cluster-build` makes it", c.launcher)
	}
	return fmt.Errorf("%s %s: %w\n%s", c.launcher, command, err, out)
}
