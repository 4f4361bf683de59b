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
		return Record{}, errors.New("the cluster was there already")
	}
	return e.cluster.record()
}

func (c *cluster) record() (Record, error) {
	var r Record
	content, err := os.ReadFile(filepath.Join(c.state, "cluster.json"))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(content, &r)
}

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
