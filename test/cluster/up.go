// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

func runUp(ctx context.Context, args []string) error {
	began := time.Now()
	r, err := parseUp(args)
	if err != nil {
		return err
	}
	locks, err := r.claim()
	if err != nil {
		return err
	}
	s, err := startSupervisor(r, locks)
	if err != nil {
		return err
	}
	if err := s.waitReady(ctx); err != nil {
		return err
	}
	fmt.Printf("cluster ready after %s\n", time.Since(began).Round(100*time.Millisecond))
	fmt.Printf("  kubeconfig  %s\n  API server  %s\n  state       %s\n", r.Kubeconfig, r.server(), r.State)
	if r.SourceController {
		fmt.Printf("  artifacts   http://%s\n", r.Ports.sourceArtifacts())
	}
	fmt.Printf("  end it with %s down --state %s\n", os.Args[0], r.State)
	return nil
}

func parseUp(args []string) (*request, error) {
	r := &request{}
	flags := flag.NewFlagSet("cluster up", flag.ContinueOnError)
	flags.StringVar(&r.Kubeconfig, "kubeconfig", "", "`file` to write the administrator's kubeconfig to (required)")
	flags.IntVar(&r.Ports.Base, "port-base", 0, "first of ten `ports` on 127.0.0.1 (default: ten free ones)")
	flags.StringVar(&r.State, "state", "", "`directory` for data, logs and keys (default <repository>/bin/clusters/<port base>)")
	flags.StringVar(&r.Bin, "bin", "", "`directory` that cluster build filled (default: the launcher's, or <repository>/bin/cluster)")
	flags.BoolVar(&r.SourceController, "source-controller", false, "run the real source-controller too")
	flags.StringVar(&r.SourceAdvertise, "source-advertise", "", "`host:port` from which source-controller says to fetch artifacts (default: where it serves them)")
	flags.IntVar(&r.Nodes, "nodes", -1, "`number` of simulated nodes (default 1, or none with --node)")
	flags.BoolVar(&r.Node, "node", false, "run a real node, with a kubelet and this machine's containerd; needs root")
	flags.Func("node-image", "OCI `archive` of images that the real node is to have besides its own; may be repeated", func(path string) error {
		absolute, err := filepath.Abs(path)
		r.NodeImages = append(r.NodeImages, absolute)
		return err
	})
	flags.StringVar(&r.AuditLog, "audit-log", "", "`file` for the API server's audit log, one JSON object a line")
	parent := flags.Int("parent", 0, "end the cluster, and remove its state, when the process with this `PID` is gone")
	if err := parse(flags, args); err != nil {
		return nil, err
	}
	if r.Nodes < 0 {
		r.Nodes = 1
		if r.Node {
			r.Nodes = 0
		}
	}
	if r.Kubeconfig == "" {
		return nil, errors.New("--kubeconfig PATH is required: the file to write the administrator's kubeconfig to")
	}
	var err error
	if r.Kubeconfig, err = filepath.Abs(r.Kubeconfig); err != nil {
		return nil, err
	}
	if r.AuditLog != "" {
		if r.AuditLog, err = filepath.Abs(r.AuditLog); err != nil {
			return nil, err
		}
	}
	if err := checkKubeconfig(r.Kubeconfig); err != nil {
		return nil, err
	}
	if r.Bin, err = findBin(r.Bin); err != nil {
		return nil, err
	}
	if err := checkBuilt(r.Bin, r.SourceController, r.Node); err != nil {
		return nil, err
	}
	if *parent != 0 {
		id, err := identify(*parent)
		if err != nil {
			return nil, fmt.Errorf("--parent: %w", err)
		}
		r.Parent = &id
	}
	r.Launcher, err = identify(os.Getpid())
	return r, err
}

// claim selects ports and the state directory. The supervisor inherits the returned locks, so they
// are held without interruption.
func (r *request) claim() (locks []*os.File, err error) {
	var portLock *os.File
	fixed := r.Ports.Base != 0
	if !fixed {
		if r.Ports, portLock, err = choosePorts(); err != nil {
			return nil, err
		}
	}
	if r.State, err = inRepo(r.State, "bin", "clusters", strconv.Itoa(r.Ports.Base)); err != nil {
		return nil, err
	}
	stateLock, err := claimState(r.State)
	if err != nil {
		return nil, err
	}
	// After the state directory, because the error that the cluster runs already is more helpful
	// than that of a used port.
	if fixed {
		if err := r.Ports.checkFree(); err != nil {
			stateLock.Close()
			return nil, errors.Join(err, os.RemoveAll(r.State))
		}
	}
	locks = []*os.File{stateLock}
	if portLock != nil {
		locks = append(locks, portLock)
	}
	return locks, nil
}

type supervision struct {
	id       identity
	messages <-chan message
	logPath  string
}

func startSupervisor(r *request, locks []*os.File) (*supervision, error) {
	if err := os.MkdirAll(r.logDir(), 0o700); err != nil {
		return nil, err
	}
	if err := writeJSON(filepath.Join(r.State, requestFile), r); err != nil {
		return nil, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	logPath := filepath.Join(r.logDir(), supervisorName+".log")
	logFile, err := os.Create(logPath)
	if err != nil {
		return nil, err
	}
	defer logFile.Close()
	receive, send, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(exe, "supervise", "--state", r.State)
	cmd.Stdout, cmd.Stderr = logFile, logFile
	cmd.ExtraFiles = append([]*os.File{send}, locks...) // reportFD and on
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	send.Close()
	for _, lock := range locks {
		lock.Close()
	}
	// An error means that it has ended already, which the closed pipe shows too.
	id, _ := identify(cmd.Process.Pid)
	go func() { _ = cmd.Wait() }()
	return &supervision{id: id, messages: readMessages(receive), logPath: logPath}, nil
}

func readMessages(from *os.File) <-chan message {
	messages := make(chan message)
	go func() {
		defer close(messages)
		defer from.Close()
		lines := bufio.NewScanner(from)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var m message
			if json.Unmarshal(lines.Bytes(), &m) == nil {
				messages <- m
			}
		}
	}()
	return messages
}

func (s *supervision) waitReady(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			progress("interrupted, stopping all components")
			return errors.Join(errors.New("interrupted"), s.id.end(time.Minute))
		case m, open := <-s.messages:
			switch {
			case !open:
				return fmt.Errorf("the supervisor ended without a word; see %s", s.logPath)
			case m.Ready:
				return nil
			case m.Failed != "":
				return fmt.Errorf("start failed, and all components were stopped: %s", m.Failed)
			default:
				progress("%s", m.Progress)
			}
		}
	}
}
