// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// identity is a process for good: a number alone is given to another process
// after the first has ended, and a signal sent to it would hit a stranger.
type identity struct {
	PID int `json:"pid"`
	// Started is in clock ticks since boot, as in /proc/PID/stat.
	Started uint64 `json:"started"`
}

func identify(pid int) (identity, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return identity{}, fmt.Errorf("no process %d: %w", pid, err)
	}
	// The second field is the program's name in parentheses, which may contain any character.
	end := bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[end+1:]))
	const state, startTime = 0, 19 // fields 3 and 22 of proc(5)
	if len(fields) <= startTime {
		return identity{}, fmt.Errorf("process %d: cannot read %q", pid, stat)
	}
	if (fields[state] == "Z" || fields[state] == "X") && !hasOtherThreads(pid) {
		return identity{}, fmt.Errorf("process %d has ended", pid)
	}
	started, err := strconv.ParseUint(fields[startTime], 10, 64)
	return identity{PID: pid, Started: started}, err
}

// hasOtherThreads reports whether a process is still ending: the first thread may be a zombie while
// others hold files open, including locks.
func hasOtherThreads(pid int) bool {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return err == nil && len(threads) > 1
}

func (id identity) alive() bool {
	now, err := identify(id.PID)
	return err == nil && now == id
}

// signal sends a signal to exactly this process: FindProcess opens a handle of the process with the
// number, and the identity is compared afterwards.
func (id identity) signal(sig os.Signal) error {
	process, err := os.FindProcess(id.PID)
	if err != nil {
		return err
	}
	defer process.Release()
	if !id.alive() {
		return os.ErrProcessDone
	}
	return process.Signal(sig)
}

// end sends SIGTERM, waits, and then sends SIGKILL.
func (id identity) end(patience time.Duration) error {
	if err := id.signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if id.gone(patience) {
		return nil
	}
	if err := id.signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if !id.gone(5 * time.Second) {
		return fmt.Errorf("process %d does not end", id.PID)
	}
	return nil
}

func (id identity) gone(within time.Duration) bool {
	for deadline := time.Now().Add(within); ; time.Sleep(20 * time.Millisecond) {
		if !id.alive() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}
