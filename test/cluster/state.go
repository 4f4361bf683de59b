// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// request is the input of the supervisor, which up writes to a file in the state directory. All
// paths in it are absolute.
type request struct {
	State      string
	Bin        string
	Kubeconfig string
	Ports      ports
	// Nodes is the number of simulated nodes.
	Nodes int
	// Node adds a real node.
	Node bool
	// NodeImages are archives of images that the real node has besides its own.
	NodeImages       []string
	SourceController bool
	// SourceAdvertise, if set, is the host and port in the artifacts' URLs, of a proxy that
	// forwards to source-controller.
	SourceAdvertise string
	// AuditLog, if set, is the file in which the API server notes every request.
	AuditLog string
	// Launcher is the up command: while it waits, its end ends the cluster.
	Launcher identity
	Parent   *identity
}

func (r request) pki(name string) string { return filepath.Join(r.State, "pki", name) }
func (r request) logDir() string         { return filepath.Join(r.State, "log") }
func (r request) server() string         { return "https://" + r.Ports.apiServer() }

// record is STATE/cluster.json, which other programs read to find a component's
// process, port or log. Fields are added, never renamed.
type record struct {
	Ready         bool              `json:"ready"`
	State         string            `json:"state"`
	LogDir        string            `json:"logDir"`
	Kubeconfig    string            `json:"kubeconfig"`
	Server        string            `json:"server"`
	PortBase      int               `json:"portBase"`
	Ports         map[string]int    `json:"ports"`
	SourceAddress string            `json:"sourceAddress,omitempty"`
	PIDs          map[string]int    `json:"pids"`
	Started       map[string]uint64 `json:"started"`
	// Restarts counts the restart commands that the supervisor has finished.
	Restarts int `json:"restarts"`
}

const (
	recordFile  = "cluster.json"
	requestFile = "request.json"
	// markFile marks a directory that may be emptied and removed; the lock on it is held while a
	// cluster runs there. Unlike a pid file, a lock ends with its holder.
	markFile       = ".pintle-cluster"
	supervisorName = "supervisor"
)

func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func writeJSON(path string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(path, append(data, '\n'), 0o600)
}

func readRecord(state string) (record, error) {
	var rec record
	err := readJSON(filepath.Join(state, recordFile), &rec)
	return rec, err
}

func (rec record) process(name string) identity {
	return identity{PID: rec.PIDs[name], Started: rec.Started[name]}
}

// claimState gives the lock on an emptied state directory.
func claimState(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := checkOurs(dir); err != nil {
		return nil, err
	}
	lock, err := tryLock(filepath.Join(dir, markFile))
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("a cluster is running in %s already; end it with `cluster down --state %[1]s`", dir)
	}
	if err != nil {
		return nil, err
	}
	if err := cleanNodeIn(dir); err != nil {
		lock.Close()
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if entry.Name() != markFile {
			err = errors.Join(err, removeState(filepath.Join(dir, entry.Name())))
		}
	}
	return lock, err
}

// checkOurs must precede every removal below a directory from a flag.
func checkOurs(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, markFile)); err == nil {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s holds files that are not a cluster's; name another state directory", dir)
	}
	return nil
}

func isRunning(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, markFile)); err != nil {
		return false
	}
	lock, err := tryLock(filepath.Join(dir, markFile))
	if err != nil {
		return errors.Is(err, errLocked)
	}
	lock.Close()
	return false
}

// checkKubeconfig refuses to overwrite a user's kubeconfig.
func checkKubeconfig(path string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(data) > 0 && !bytes.HasPrefix(data, []byte(kubeconfigMark)) {
		return fmt.Errorf("%s exists and was not written by this command; name another file", path)
	}
	return nil
}

// removeKubeconfig leaves the file alone if it belongs to a later cluster by now.
func removeKubeconfig(state, path string) {
	ours, err := os.ReadFile(filepath.Join(state, "pki", "admin.kubeconfig"))
	if err != nil {
		return
	}
	if theirs, err := os.ReadFile(path); err == nil && bytes.Equal(ours, theirs) {
		_ = os.Remove(path)
	}
}
