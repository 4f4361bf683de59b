// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/pintle-dev/pintle/test/harness"
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
	w := &strings.Builder{}
	fmt.Fprintln(w, "\ndone\ttimes")
	for _, name := range slices.Sorted(maps.Keys(k.done)) {
		fmt.Fprintf(w, "%s\t%d\n", name, k.done[name])
	}
	fmt.Fprintln(w, "\ncounted by the controller\t")
	sum := total(k.samples)
	for _, c := range counted() {
		fmt.Fprintf(w, "%s\t%.0f\n", c.title, sum.Sum(c.name))
		if strings.HasPrefix(c.name, "pintle_") {
			writeSeries(w, sum, c.name)
		}
	}
	errorsLogged, first := errorLines(k.Env.Controller.LogPath)
	fmt.Fprintf(w, "lines in its log that are errors\t%d\n", errorsLogged)
	fmt.Fprintln(w, "\nits processes\tseconds\tMiB resident\tGo's heap\tgoroutines\t(medians of the first third and the last; most)")
	for _, process := range processes(k.samples) {
		took := process[len(process)-1].at.Sub(process[0].at)
		fmt.Fprintf(w, "%d\t%.0f", process[0].pid, took.Seconds())
		for _, bound := range bounds() {
			first, last := thirds(process, bound.of)
			fmt.Fprintf(w, "\t%.0f → %.0f; %.0f", first, last, most(process, bound.of))
		}
		fmt.Fprintln(w)
	}
	for _, s := range k.rests {
		fmt.Fprintf(w, "at rest\t\t%.0f\t%.0f\t%.0f\n", s.resident, s.heap, s.goroutines)
	}
	aligned := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = aligned.Write([]byte(w.String())) // a Builder takes everything
	_ = aligned.Flush()
	if first != "" {
		fmt.Fprintf(&b, "\nthe first error in its log:\n%s\n", first)
	}
	return b.String()
}

// writeSeries writes the parts of a counter that are more than zero.
func writeSeries(w *strings.Builder, sum harness.Metrics, name string) {
	for _, series := range slices.Sorted(maps.Keys(sum)) {
		if labels, ok := strings.CutPrefix(series, name+"{"); ok && sum[series] > 0 {
			fmt.Fprintf(w, "  %s\t%.0f\n", strings.TrimSuffix(labels, "}"), sum[series])
		}
	}
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
