// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/load/frame"
)

// counted are the counters of the table, and how to call them.
func counted() []struct{ title, name string } {
	return []struct{ title, name string }{
		{"reconciliations", "controller_runtime_reconcile_total"},
		{"errors of reconciliations", "controller_runtime_reconcile_errors_total"},
		{"panics", "controller_runtime_reconcile_panics_total"},
		{"requests to the API server", "rest_client_requests_total"},
		{"reconciliations by rule", "pintle_helm_release_reconciliations_total"},
		{"actions", "pintle_helm_release_actions_total"},
	}
}

// text returns the tables of changes and costs.
func (k *soak) text() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "\n%d releases, %s of changes, seed %d, %s in all\n", k.releases, k.duration, k.Seed, time.Since(k.began).Round(time.Second))
	rows := [][]string{{"done", "times"}}
	for _, name := range slices.Sorted(maps.Keys(k.done)) {
		rows = append(rows, []string{name, strconv.Itoa(k.done[name])})
	}
	b.WriteString("\n" + frame.Aligned(rows))
	rows = [][]string{{"counted by the controller", ""}}
	sum := total(k.samples)
	for _, c := range counted() {
		rows = append(rows, []string{c.title, fmt.Sprintf("%.0f", sum.Sum(c.name))})
		if strings.HasPrefix(c.name, "pintle_") {
			rows = append(rows, seriesOf(sum, c.name)...)
		}
	}
	errorsLogged, first := errorLines(k.Env.Controller.LogPath)
	rows = append(rows, []string{"lines in its log that are errors", strconv.Itoa(errorsLogged)})
	b.WriteString("\n" + frame.Aligned(rows))
	rows = [][]string{{"its processes", "seconds", "MiB resident", "Go's heap", "goroutines"}}
	for _, process := range processes(k.samples) {
		took := process[len(process)-1].at.Sub(process[0].at)
		row := []string{strconv.Itoa(process[0].pid), fmt.Sprintf("%.0f", took.Seconds())}
		for _, bound := range bounds() {
			first, last := thirds(process, bound.of)
			row = append(row, fmt.Sprintf("%.0f → %.0f; %.0f", first, last, most(process, bound.of)))
		}
		rows = append(rows, row)
	}
	for _, s := range k.rests {
		rows = append(rows, []string{"at rest", "", fmt.Sprintf("%.0f", s.resident), fmt.Sprintf("%.0f", s.heap), fmt.Sprintf("%.0f", s.goroutines)})
	}
	b.WriteString("\n" + frame.Aligned(rows) + "medians of the first third and the last; most\n")
	if first != "" {
		fmt.Fprintf(&b, "\nthe first error in its log:\n%s\n", first)
	}
	return b.String()
}

// seriesOf returns a row for each series of a counter that is more than zero.
func seriesOf(sum harness.Metrics, name string) (rows [][]string) {
	for _, series := range slices.Sorted(maps.Keys(sum)) {
		if labels, ok := strings.CutPrefix(series, name+"{"); ok && sum[series] > 0 {
			rows = append(rows, []string{"  " + strings.TrimSuffix(labels, "}"), fmt.Sprintf("%.0f", sum[series])})
		}
	}
	return rows
}

// processes returns the samples of each process.
func processes(samples []sample) [][]sample {
	return slices.Collect(func(yield func([]sample) bool) {
		for len(samples) > 0 {
			end := slices.IndexFunc(samples, func(s sample) bool { return s.pid != samples[0].pid })
			if end < 0 {
				end = len(samples)
			}
			if !yield(samples[:end]) {
				return
			}
			samples = samples[end:]
		}
	})
}

func most(samples []sample, of func(sample) float64) float64 {
	m := 0.0
	for _, s := range samples {
		m = max(m, of(s))
	}
	return m
}

// errorLines counts the errors in a log, and returns the first.
func errorLines(path string) (n int, first string) {
	file, err := os.Open(path)
	if err != nil {
		return -1, ""
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "\tERROR\t") {
			if n++; n == 1 {
				first = lines.Text()
			}
		}
	}
	return n, first
}
