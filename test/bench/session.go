// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// session is what was measured of one controller from its start to its end.
type session struct {
	// Controller is the executable's name.
	Controller string   `json:"controller"`
	Args       []string `json:"args"`
	Releases   int      `json:"releases"`
	Concurrent int      `json:"concurrent"`
	Drift      bool     `json:"driftDetection"`
	CPUs       int      `json:"cpus"`
	Phases     []phase  `json:"phases"`
}

// phase is what one step cost the controller.
type phase struct {
	Name       string  `json:"name"`
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpuSeconds"`
	PeakMiB    float64 `json:"peakRSSMiB"`
	// PeakOfAll says that PeakMiB is the peak since the process began.
	PeakOfAll bool `json:"peakRSSSinceStart,omitempty"`
	// Sent is by client-go's count, Received by the API server's audit log.
	Sent     int            `json:"requestsSent"`
	Received int            `json:"requestsReceived"`
	ByKind   map[string]int `json:"requestsByVerbAndResource"`
	Agents   map[string]int `json:"requestsByUserAgent"`
}

// text returns the session as two tables.
func (s session) text() string {
	var b strings.Builder
	drift := "off"
	if s.Drift {
		drift = "on"
	}
	fmt.Fprintf(&b, "\n%s, %d releases, --concurrent=%d, drift detection %s, %d CPUs\n\n",
		strings.Join(append([]string{s.Controller}, s.Args...), " "), s.Releases, s.Concurrent, drift, s.CPUs)
	costs := [][]string{{
		"phase", "seconds", "CPU s", "CPU ms/release", "peak RSS MiB", "requests sent", "per release", "received", "per release",
	}}
	names := []string{""}
	for _, p := range s.Phases {
		peak := fmt.Sprintf("%.0f", p.PeakMiB)
		if p.PeakOfAll {
			peak += " since start"
		}
		costs = append(costs, []string{
			p.Name, fmt.Sprintf("%.2f", p.Seconds), fmt.Sprintf("%.2f", p.CPUSeconds),
			fmt.Sprintf("%.1f", 1000*p.CPUSeconds/float64(s.Releases)), peak,
			strconv.Itoa(p.Sent), s.each(p.Sent), strconv.Itoa(p.Received), s.each(p.Received),
		})
		names = append(names, p.Name)
	}
	align(&b, costs)
	b.WriteString("\nrequests per release, as the API server received them\n\n")
	requests := [][]string{names}
	for _, kind := range s.kinds() {
		row := []string{kind}
		for _, p := range s.Phases {
			row = append(row, s.each(p.ByKind[kind]))
		}
		requests = append(requests, row)
	}
	align(&b, requests)
	return b.String()
}

// align writes rows of the same length, the first column to the left and figures
// to the right.
func align(b *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, row := range rows {
		fmt.Fprintf(b, "%-*s", widths[0], row[0])
		for i, cell := range row[1:] {
			fmt.Fprintf(b, "  %*s", widths[i+1], cell)
		}
		b.WriteByte('\n')
	}
}

// each is a number per release.
func (s session) each(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(n)/float64(s.Releases))
}

// kinds are all that was requested, resources with what is done to them.
func (s session) kinds() []string {
	all := map[string]bool{}
	for _, p := range s.Phases {
		for kind := range p.ByKind {
			all[kind] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		verbA, restA, _ := strings.Cut(a, " ")
		verbB, restB, _ := strings.Cut(b, " ")
		return cmp.Or(cmp.Compare(restA, restB), cmp.Compare(verbA, verbB))
	})
}
