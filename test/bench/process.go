// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ticks is the unit of times in /proc, which Linux fixes at a hundredth of a second.
const ticks = 100

// cpuSeconds returns the user and system CPU time of a process.
func cpuSeconds(pid int) (float64, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseStat(string(content))
}

func parseStat(stat string) (float64, error) {
	// The second field is a name in parentheses, which may contain any character.
	end := strings.LastIndexByte(stat, ')')
	fields := strings.Fields(stat[end+1:])
	if end < 0 || len(fields) < 13 {
		return 0, fmt.Errorf("unexpected content %q of /proc/PID/stat", stat)
	}
	user, errUser := strconv.ParseInt(fields[11], 10, 64)
	system, errSystem := strconv.ParseInt(fields[12], 10, 64)
	return float64(user+system) / ticks, errors.Join(errUser, errSystem)
}

// resetPeak lets the kernel count a process's peak memory anew.
func resetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// memory is the resident memory of a process in MiB: the peak since the last reset, and the current
// value.
type memory struct{ peak, now float64 }

func memoryOf(pid int) (memory, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return memory{}, err
	}
	return parseMemory(string(content))
}

func parseMemory(status string) (memory, error) {
	peak, errPeak := mebibytes(status, "VmHWM:")
	now, errNow := mebibytes(status, "VmRSS:")
	return memory{peak: peak, now: now}, errors.Join(errPeak, errNow)
}

func mebibytes(status, field string) (float64, error) {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, field); ok {
			kibibytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return float64(kibibytes) / 1024, err
		}
	}
	return 0, fmt.Errorf("/proc/PID/status has no %s", field)
}

// systemLoad returns the load average of the last minute, and zero if the kernel does not report
// it.
func systemLoad() float64 {
	content, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(content), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return load
}
