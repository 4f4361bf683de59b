// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/test/harness"
)

// ticks is the unit of times in /proc, which Linux fixes at a hundredth of a second.
const ticks = 100

// cpuSeconds returns the user and system CPU time of a process and of the processes that it has
// started, also of those that have ended.
func cpuSeconds(pid int) (float64, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	sum, err := parseStat(string(content))
	for _, child := range harness.Children(pid) {
		// One that has just ended is counted by its parent, now or at the next reading.
		seconds, errChild := cpuSeconds(child)
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
	return float64(sum) / ticks, nil
}

// proportionalMiB returns the memory of a process and of the running processes that it has started,
// in MiB. Of memory that processes share, each counts its part.
func proportionalMiB(pid int) (float64, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	sum, err := mebibytes(string(content), "Pss:")
	for _, child := range harness.Children(pid) {
		part, errChild := proportionalMiB(child)
		if errChild == nil {
			sum += part
		}
	}
	return sum, err
}

// sampleEvery is the time between two readings of memory that have a peak.
const sampleEvery = 20 * time.Millisecond

// sampleMemory reads proportionalMiB until the returned function is called, which returns the peak.
func sampleMemory(pid int) (stop func() float64) {
	done, peak := make(chan struct{}), make(chan float64)
	go func() {
		most := 0.0
		for ticker := time.NewTicker(sampleEvery); ; {
			// An error means that a process has ended.
			if now, err := proportionalMiB(pid); err == nil {
				most = max(most, now)
			}
			select {
			case <-ticker.C:
			case <-done:
				ticker.Stop()
				peak <- most
				return
			}
		}
	}()
	return func() float64 {
		close(done)
		return <-peak
	}
}

// resetPeak lets the kernel count a process's peak memory anew.
func resetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// peakMiB returns the peak of the resident memory of a process since the last reset, in MiB.
func peakMiB(pid int) (float64, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return mebibytes(string(content), "VmHWM:")
}

func mebibytes(status, field string) (float64, error) {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, field); ok {
			kibibytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return float64(kibibytes) / 1024, err
		}
	}
	return 0, fmt.Errorf("the kernel reports no %s", field)
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
