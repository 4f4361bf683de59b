// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func runDown(_ context.Context, args []string) error {
	flags := flag.NewFlagSet("cluster down", flag.ContinueOnError)
	stateFlag := flags.String("state", "", "state `directory` (default: the only cluster in <repository>/bin/clusters)")
	if err := parse(flags, args); err != nil {
		return err
	}
	state, err := findState(*stateFlag)
	if err != nil {
		return err
	}
	if state == "" {
		fmt.Println("no cluster is running")
		return nil
	}
	return takeDown(state)
}

// findState returns the state directory of the cluster, or "" if there is none. Without a flag it
// also removes what ended clusters have left, so that the choice is only among running ones.
func findState(value string) (string, error) {
	if value != "" {
		return filepath.Abs(value)
	}
	parent, err := inRepo("", "bin", "clusters")
	if err != nil {
		return "", err
	}
	marks, err := filepath.Glob(filepath.Join(parent, "*", markFile))
	if err != nil {
		return "", err
	}
	var running []string
	for _, mark := range marks {
		state := filepath.Dir(mark)
		if isRunning(state) {
			running = append(running, state)
		} else if err := takeDown(state); err != nil {
			return "", err
		}
	}
	switch len(running) {
	case 0:
		return "", nil
	case 1:
		return running[0], nil
	default:
		return "", fmt.Errorf("several clusters are running; name one with --state:\n  %s", strings.Join(running, "\n  "))
	}
}

func takeDown(state string) error {
	if _, err := os.Stat(state); errors.Is(err, os.ErrNotExist) {
		fmt.Printf("no cluster in %s\n", state)
		return nil
	}
	if err := checkOurs(state); err != nil {
		return err
	}
	rec, err := awaitRecord(state)
	if err != nil {
		return err
	}
	// The supervisor needs a moment per component. If it is killed after the timeout, the
	// components end with it.
	if err := rec.process(supervisorName).end(time.Minute); err != nil {
		return err
	}
	for name := range rec.PIDs {
		if !rec.process(name).gone(5 * time.Second) {
			if err := rec.process(name).end(5 * time.Second); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	// While the lock is held, no other process can start a cluster in the directory.
	lock, err := tryLock(filepath.Join(state, markFile))
	if err != nil {
		return fmt.Errorf("%s: %w", state, err)
	}
	defer lock.Close()
	removeKubeconfig(state, rec.Kubeconfig)
	if err := cleanNodeIn(state); err != nil {
		return err
	}
	if err := removeState(state); err != nil {
		return err
	}
	fmt.Printf("ended the cluster in %s\n", state)
	return nil
}

// awaitRecord bridges the moment between the start of a supervisor and its first
// write. A directory without a running cluster may have no record at all.
func awaitRecord(state string) (record, error) {
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		rec, err := readRecord(state)
		if err == nil {
			return rec, nil
		}
		if !isRunning(state) {
			return record{}, nil
		}
		if time.Now().After(deadline) {
			return record{}, fmt.Errorf("a cluster runs in %s but its record cannot be read: %w", state, err)
		}
	}
}

func runRestart(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("cluster restart", flag.ContinueOnError)
	stateFlag := flags.String("state", "", "state `directory` (default: the only cluster in <repository>/bin/clusters)")
	if err := parse(flags, args); err != nil {
		return err
	}
	state, err := findState(*stateFlag)
	if err != nil {
		return err
	}
	if state == "" {
		return errors.New("no cluster is running")
	}
	before, err := readRecord(state)
	if err != nil {
		return err
	}
	if err := before.process(supervisorName).signal(syscall.SIGHUP); err != nil {
		return fmt.Errorf("the supervisor of %s: %w", state, err)
	}
	for deadline := time.Now().Add(patience + 10*time.Second); time.Now().Before(deadline); {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
		if now, err := readRecord(state); err == nil && now.Restarts > before.Restarts {
			return nil
		}
	}
	return fmt.Errorf("the components are not back; see %s", filepath.Join(before.LogDir, supervisorName+".log"))
}
