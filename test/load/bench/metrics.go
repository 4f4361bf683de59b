// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// queue is the name of the controller and its work queue in controller-runtime's metrics.
const queue = "helmrelease"

// sample is one line of metrics in Prometheus' text format.
type sample struct {
	name   string
	labels map[string]string
	value  float64
}

// figures are the used metrics of a controller.
type figures struct {
	// sent is client-go's count of requests, by method.
	sent map[string]int
	// reconciliations are those of HelmReleases that have ended with any result; waiting and active
	// are the queued and the running ones.
	reconciliations, waiting, active int
}

func (f figures) total() int {
	sum := 0
	for _, n := range f.sent {
		sum += n
	}
	return sum
}

// controllerFigures scrapes a controller's metrics, which costs the controller some CPU time.
func controllerFigures(ctx context.Context, address string) (figures, error) {
	samples, err := scrape(ctx, http.DefaultClient, "http://"+address+"/metrics",
		"rest_client_requests_total", "controller_runtime_reconcile_total", "controller_runtime_active_workers", "workqueue_depth")
	f := figures{sent: map[string]int{}}
	for _, s := range samples {
		n := int(s.value)
		switch {
		case s.name == "rest_client_requests_total":
			f.sent[s.labels["method"]] += n
		case s.labels["controller"] != queue && s.labels["name"] != queue:
		case s.name == "controller_runtime_reconcile_total":
			f.reconciliations += n
		case s.name == "controller_runtime_active_workers":
			f.active += n
		default:
			f.waiting += n
		}
	}
	return f, err
}

// secretBytes returns how many bytes an API server has sent in answer to reads of Secrets by all
// clients, without watches, which it does not count.
func secretBytes(ctx context.Context, server *http.Client, host string) (int64, error) {
	samples, err := scrape(ctx, server, host+"/metrics", "apiserver_response_sizes_sum")
	sum := int64(0)
	for _, s := range samples {
		if s.labels["resource"] == "secrets" && s.labels["group"] == "" {
			sum += int64(s.value)
		}
	}
	return sum, err
}

// scrape returns those metrics of a server that have one of these names.
func scrape(ctx context.Context, c *http.Client, url string, names ...string) ([]sample, error) {
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
	return parseMetrics(resp.Body, names...)
}

func parseMetrics(text io.Reader, names ...string) ([]sample, error) {
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	var samples []sample
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		end := strings.IndexAny(line, "{ ")
		if end < 0 || !wanted[line[:end]] {
			continue
		}
		s, err := parseSample(line[:end], line[end:])
		if err != nil {
			return nil, fmt.Errorf("metric %q: %w", line, err)
		}
		samples = append(samples, s)
	}
	return samples, lines.Err()
}

// parseSample parses the text after a metric's name.
func parseSample(name, rest string) (sample, error) {
	s := sample{name: name, labels: map[string]string{}}
	rest = strings.TrimPrefix(rest, "{")
	for rest != "" && rest[0] != ' ' && rest[0] != '}' {
		key, after, _ := strings.Cut(rest, "=")
		// The three escapes of this format are Go's, too.
		quoted, err := strconv.QuotedPrefix(after)
		if err != nil {
			return s, fmt.Errorf("label %s: %w", key, err)
		}
		if s.labels[key], err = strconv.Unquote(quoted); err != nil {
			return s, fmt.Errorf("label %s: %w", key, err)
		}
		rest = strings.TrimPrefix(after[len(quoted):], ",")
	}
	fields := strings.Fields(strings.TrimPrefix(rest, "}"))
	if len(fields) == 0 {
		return s, io.ErrUnexpectedEOF
	}
	var err error
	s.value, err = strconv.ParseFloat(fields[0], 64)
	return s, err
}
