// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
)

// ticks is the unit of times in /proc, which Linux fixes at a hundredth of a
// second whatever the kernel's own clock.
const ticks = 100

// cpuSeconds returns what a process has used, its own part and the kernel's.
func cpuSeconds(pid int) (float64, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseStat(string(content))
}

func parseStat(stat string) (float64, error) {
	// The second field is a name, which may contain anything, between parentheses.
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

// peakMiB returns the most memory that a process has had resident since the
// last reset.
func peakMiB(pid int) (float64, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return parsePeak(string(content))
}

func parsePeak(status string) (float64, error) {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kibibytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return float64(kibibytes) / 1024, err
		}
	}
	return 0, errors.New("/proc/PID/status has no VmHWM")
}

// sentRequests asks a controller's metrics how many requests its clients have
// sent.
func sentRequests(ctx context.Context, metricsAddress string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+metricsAddress+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("metrics: %s", resp.Status)
	}
	return sumRequests(resp.Body)
}

// sumRequests adds client-go's counter up over all methods and codes.
func sumRequests(metrics io.Reader) (int, error) {
	sum := 0.0
	lines := bufio.NewScanner(metrics)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "rest_client_requests_total{") {
			continue
		}
		fields := strings.Fields(lines.Text())
		value, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			return 0, err
		}
		sum += value
	}
	return int(sum), lines.Err()
}
