// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/load/frame"
)

// figure is a value that two runs are compared by.
type figure struct {
	name string
	of   func(*phase) float64
	// counted is set if the value grows with the number of reconciliations.
	counted bool
}

func compared() []figure {
	return []figure{
		{"seconds", func(p *phase) float64 { return p.Seconds }, false},
		{"CPU s", func(p *phase) float64 { return p.CPUSeconds }, true},
		{"peak RSS", func(p *phase) float64 { return p.PeakMiB }, false},
		{"PSS at end", func(p *phase) float64 { return p.EndMiB }, false},
		{"requests", func(p *phase) float64 { return float64(p.Sent) }, true},
		{"downloads", func(p *phase) float64 { return float64(p.Downloads) }, true},
		{"bytes downloaded", func(p *phase) float64 { return float64(p.DownloadedBytes) }, true},
		{"bytes of Secrets", func(p *phase) float64 { return float64(p.SecretBytes) }, true},
	}
}

// in returns the figure of a phase. In the interval phase the number of reconciliations is random,
// so counted values are divided by it.
func (f figure) in(p *phase) float64 {
	if f.counted && p.Name == phaseInterval && p.Reconciliations > 0 {
		return f.of(p) / float64(p.Reconciliations)
	}
	return f.of(p)
}

// compare returns, for every load that was measured in both files, how much more
// each phase cost in the second.
func compare(a, b string) (string, error) {
	first, err := readSessions(a)
	if err != nil {
		return "", err
	}
	second, err := readSessions(b)
	if err != nil {
		return "", err
	}
	return compareSessions(first, second), nil
}

func readSessions(path string) ([]session, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var sessions []session
	if err := json.Unmarshal(content, &sessions); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return sessions, nil
}

func compareSessions(first, second []session) string {
	var b strings.Builder
	for i := range first {
		one := &first[i]
		other := sameLoad(second, one.load)
		if other == nil {
			fmt.Fprintf(&b, "\nonly in A: %s\n", one.load.text())
			continue
		}
		fmt.Fprintf(&b, "\n%s\nA: %s, B: %s; each figure is B/A, of interval per reconciliation\n\n", one.load.text(), one.describe(), other.describe())
		rows := [][]string{{"phase"}}
		for _, f := range compared() {
			rows[0] = append(rows[0], f.name)
		}
		for j := range one.Phases {
			if p, q := &one.Phases[j], other.phase(one.Phases[j].Name); q != nil {
				rows = append(rows, ratios(p, q))
			}
		}
		b.WriteString(frame.Aligned(rows))
		if rows := tamperedRatios(one, other); len(rows) > 1 {
			b.WriteByte('\n')
			b.WriteString(frame.Aligned(rows))
		}
	}
	for i := range second {
		if sameLoad(first, second[i].load) == nil {
			fmt.Fprintf(&b, "\nonly in B: %s\n", second[i].load.text())
		}
	}
	return b.String()
}

// describe returns the measured controller and its load.
func (s *session) describe() string {
	return fmt.Sprintf("%s (%d CPUs, load %.1f)", strings.Join(append([]string{s.Controller}, s.Args...), " "), s.CPUs, s.SystemLoad)
}

func sameLoad(sessions []session, l load) *session {
	for i := range sessions {
		if sessions[i].load == l {
			return &sessions[i]
		}
	}
	return nil
}

// ratios are those of one phase. Without a value in A there is no ratio, but a new value in B is
// reported.
func ratios(p, q *phase) []string {
	row := []string{p.Name}
	for _, f := range compared() {
		row = append(row, ratio(f.in(p), f.in(q)))
	}
	return row
}

func ratio(a, b float64) string {
	switch {
	case a == 0 && b == 0:
		return "0 both"
	case a == 0:
		return fmt.Sprintf("0 to %.3g", b)
	}
	return fmt.Sprintf("%.2f", b/a)
}

// tamperedRatios is the table of times until external changes were corrected or reported. If B did
// not finish, the ratio is a lower bound; if A did not, there is none.
func tamperedRatios(one, other *session) [][]string {
	rows := [][]string{{"s from the write", "median", "95th percentile", "worst", "left undone"}}
	for i := range one.Phases {
		p := &one.Phases[i]
		q := other.phase(p.Name)
		if p.Tampered == nil || q == nil || q.Tampered == nil {
			continue
		}
		theirs := q.Tampered.sides()
		for j, a := range p.Tampered.sides() {
			b := theirs[j]
			cell := func(percent int, of func(harness.Spread) float64) string {
				switch {
				case !a.Known(percent):
					return "?"
				case !b.Known(percent):
					return "> " + ratio(of(a.Spread), of(b.Spread))
				}
				return ratio(of(a.Spread), of(b.Spread))
			}
			rows = append(rows, []string{
				p.Name + ", " + a.name,
				cell(50, func(s harness.Spread) float64 { return s.Median }), cell(95, func(s harness.Spread) float64 { return s.P95 }),
				cell(100, func(s harness.Spread) float64 { return s.Worst }), fmt.Sprintf("%d to %d", a.Left, b.Left),
			})
		}
	}
	return rows
}
