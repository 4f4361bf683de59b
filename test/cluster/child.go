// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// child is a running component, or one that has ended when done is closed.
type child struct {
	component
	id      identity
	logPath string
	done    chan struct{}
	err     error // valid after done
}

// startChild returns when the process exists. The kernel kills the process when the thread that
// started it ends, so nothing survives a SIGKILL of the supervisor. Since this depends on the
// thread, the goroutine keeps its thread until the child has ended: the runtime may end an idle
// thread, and the component with it, at any time.
func startChild(r request, c component) (*child, error) {
	logPath := filepath.Join(r.logDir(), c.name+".log")
	logFile, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	path := c.path
	if path == "" {
		path = filepath.Join(r.Bin, c.name)
	}
	cmd := exec.Command(path, c.args...)
	cmd.Dir = r.State
	cmd.Env = append(withoutKubeconfig(os.Environ()), c.env...)
	cmd.Stdout, cmd.Stderr = logFile, logFile
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}

	started := &child{component: c, logPath: logPath, done: make(chan struct{})}
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer logFile.Close()
		if err := cmd.Start(); err != nil {
			result <- err
			return
		}
		// Before Wait the number cannot be given away, even if the process has ended.
		if id, err := identify(cmd.Process.Pid); err == nil {
			started.id = id
		}
		result <- nil
		started.err = cmd.Wait()
		close(started.done)
	}()
	if err := <-result; err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	return started, nil
}

// withoutKubeconfig removes KUBECONFIG: components get the address of the API server by flags or
// env.
func withoutKubeconfig(env []string) []string {
	var kept []string
	for _, entry := range env {
		if !strings.HasPrefix(entry, "KUBECONFIG=") {
			kept = append(kept, entry)
		}
	}
	return kept
}

func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func (c *child) outcome() string {
	if c.err == nil {
		return "exit status 0"
	}
	return c.err.Error()
}

// stop waits on done rather than on /proc, because until it is waited for, an
// ended child still has its number.
func (c *child) stop(patience time.Duration) {
	_ = c.id.signal(syscall.SIGTERM)
	select {
	case <-c.done:
		return
	case <-time.After(patience):
	}
	_ = c.id.signal(syscall.SIGKILL)
	<-c.done
}

func (c *child) lastLines(n int) string {
	data, err := os.ReadFile(c.logPath)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
