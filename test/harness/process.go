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
	"slices"
	"strconv"
	"strings"
)

// FreeAddress returns an address of the loopback interface with a port that is free at the moment.
// Another process may take it before it is used. Controller.Address has no such gap.
func FreeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// Metrics are the samples of a process by series, such as `name{label="value"}`.
type Metrics map[string]float64

// Scrape returns the metrics of a server with a URL such as http://127.0.0.1:8080/metrics.
func Scrape(ctx context.Context, c *http.Client, url string) (Metrics, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.Do(req)
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

// Sum returns the sum over those series of a metric that have all the labels, which are written as
// `name="value"`.
func (m Metrics) Sum(name string, labels ...string) float64 {
	sum := 0.0
	for series, value := range m {
		metric, rest, _ := strings.Cut(series, "{")
		if metric == name && !slices.ContainsFunc(labels, func(label string) bool { return !strings.Contains(","+rest, ","+label) }) {
			sum += value
		}
	}
	return sum
}

// By returns the sums over the series of a metric by the values of a label.
func (m Metrics) By(name, label string) map[string]float64 {
	sums := map[string]float64{}
	for series, value := range m {
		metric, rest, _ := strings.Cut(series, "{")
		_, rest, found := strings.Cut(","+rest, ","+label+`="`)
		if metric == name && found {
			at, _, _ := strings.Cut(rest, `"`)
			sums[at] += value
		}
	}
	return sums
}
