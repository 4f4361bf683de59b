// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// scrapeTimeout is the timeout of a scrape.
const scrapeTimeout = 5 * time.Second

// FreeAddress returns an address of the loopback interface with a port that is free at the moment.
// Another process may take it before it is used. Controller.Address has no such gap.
func FreeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// ResidentMiB returns the resident memory of a process.
func ResidentMiB(pid int) (float64, error) { return memoryOf(pid, "VmRSS") }

func memoryOf(pid int, field string) (float64, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return parseMemory(string(content), field)
}

func parseMemory(status, field string) (float64, error) {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			kibibytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return float64(kibibytes) / 1024, err
		}
	}
	return 0, fmt.Errorf("/proc/PID/status has no %s", field)
}

// Metrics are the samples of a process by series, such as `name{label="value"}`.
type Metrics map[string]float64

// Scrape returns the metrics of a process.
func Scrape(ctx context.Context, address string) (Metrics, error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("metrics: %s", resp.Status)
	}
	return parseMetrics(resp.Body)
}

func parseMetrics(text io.Reader) (Metrics, error) {
	all := Metrics{}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		// Values of labels may contain spaces, numbers may not.
		end := strings.LastIndexByte(lines.Text(), ' ')
		if end < 0 || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		value, err := strconv.ParseFloat(lines.Text()[end+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("metrics: %w", err)
		}
		all[lines.Text()[:end]] = value
	}
	return all, lines.Err()
}

// Sum returns the sum over all series of a metric.
func (m Metrics) Sum(name string) float64 {
	sum := 0.0
	for series, value := range m {
		if series == name || strings.HasPrefix(series, name+"{") {
			sum += value
		}
	}
	return sum
}
