// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Ticks is the unit of times in /proc, which Linux fixes at a hundredth of a second.
const Ticks = 100

// CPUSeconds returns the user and system CPU time of a process and of the processes that it has
// started, also of those that have ended.
func CPUSeconds(pid int) (float64, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	sum, err := parseStat(string(content))
	for _, child := range children(pid) {
		// One that has just ended is counted by its parent, now or at the next reading.
		seconds, errChild := CPUSeconds(child)
		if errChild == nil {
			sum += seconds
		}
	}
	return sum, err
}

func parseStat(stat string) (float64, error) {
	// The second field is a name in parentheses, which may contain any character.
	end := strings.LastIndexByte(stat, ')')
	fields := strings.Fields(stat[end+1:])
	if end < 0 || len(fields) < 15 {
		return 0, fmt.Errorf("unexpected content %q of /proc/PID/stat", stat)
	}
	sum := int64(0)
	// User and system time of the process, then of its ended children.
	for _, field := range fields[11:15] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return float64(sum) / Ticks, nil
}

// ResetPeak lets the kernel count a process's peak memory anew.
func ResetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// PeakMiB returns the peak of the resident memory of a process since the last reset, in MiB.
func PeakMiB(pid int) (float64, error) { return memory(pid, "status", "VmHWM:") }

// ResidentMiB returns the resident memory of a process, in MiB.
func ResidentMiB(pid int) (float64, error) { return memory(pid, "status", "VmRSS:") }

// memory returns a field of a file of a process, in MiB.
func memory(pid int, file, field string) (float64, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0, err
	}
	return mebibytes(string(content), field)
}

func mebibytes(text, field string) (float64, error) {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, field); ok {
			kibibytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return float64(kibibytes) / 1024, err
		}
	}
	return 0, fmt.Errorf("the kernel reports no %s", field)
}

// children returns the running processes that a process has started.
func children(pid int) []int {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil
	}
	var all []int
	for _, list := range lists {
		content, err := os.ReadFile(list) //nolint:gosec // a file of the kernel
		if err != nil {
			continue // the thread has ended
		}
		for field := range strings.FieldsSeq(string(content)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}

// SystemLoad returns the load average of the last minute, and zero if the kernel does not report
// it.
func SystemLoad() float64 {
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
