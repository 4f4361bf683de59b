// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/test/load/frame"
)

// text returns the session as tables.
func (s *session) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s, %s\n", strings.Join(append([]string{s.Controller}, s.Args...), " "), s.load.text())
	fmt.Fprintf(&b, "%d CPUs, load %.1f before; an artifact has %d bytes, a stored revision %d\n\n",
		s.CPUs, s.SystemLoad, s.ArtifactBytes, s.RevisionBytes)
	b.WriteString(frame.Aligned(s.costs()))
	b.WriteByte('\n')
	b.WriteString(frame.Aligned(s.transfers()))
	if rows := s.tampering(); len(rows) > 1 {
		b.WriteByte('\n')
		b.WriteString(frame.Aligned(rows))
	}
	if rows := s.viewing(); len(rows) > 1 {
		b.WriteByte('\n')
		b.WriteString(frame.Aligned(rows))
	}
	s.remarks(&b)
	b.WriteString("\nrequests per release: as client-go sent them, by method")
	if s.Audit {
		b.WriteString(", and as the API server received them")
	}
	b.WriteString("\n\n")
	b.WriteString(frame.Aligned(s.requests()))
	return b.String()
}

func (s *session) costs() [][]string {
	rows := [][]string{{
		"phase", "seconds", "CPU s", "CPU ms/release", "API server's CPU s", "peak RSS MiB", "PSS at end",
		"requests sent", "per release", "received", "per release",
	}}
	if s.Padding > 0 {
		rows[0] = append(rows[0], "peak PSS of all")
	}
	for _, p := range s.Phases {
		peak := fmt.Sprintf("%.0f", p.PeakMiB)
		if p.PeakOfAll {
			peak += " since start"
		}
		received, each := strconv.Itoa(p.Received), s.each(p.Received)
		if !s.Audit {
			received, each = "?", "?"
		}
		rows = append(rows, []string{
			p.Name, fmt.Sprintf("%.2f", p.Seconds), fmt.Sprintf("%.2f", p.CPUSeconds),
			fmt.Sprintf("%.1f", 1000*p.CPUSeconds/float64(s.Releases)), fmt.Sprintf("%.2f", p.ServerCPUSeconds), peak, fmt.Sprintf("%.0f", p.EndMiB),
			strconv.Itoa(p.Sent), s.each(p.Sent), received, each,
		})
		if s.Padding > 0 {
			last := len(rows) - 1
			rows[last] = append(rows[last], fmt.Sprintf("%.0f", p.PeakOfTreeMiB))
		}
	}
	return rows
}

func (s *session) transfers() [][]string {
	rows := [][]string{{
		"phase", "reconciliations", "new revisions", "downloads", "KiB downloaded", "KiB of Secrets read", "per release",
	}}
	for _, p := range s.Phases {
		revisions := strconv.Itoa(p.Revisions)
		if !s.Audit {
			revisions = "?"
		}
		rows = append(rows, []string{
			p.Name, strconv.Itoa(p.Reconciliations), revisions, strconv.Itoa(p.Downloads), kibibytes(p.DownloadedBytes, 1),
			kibibytes(p.SecretBytes, 1), kibibytes(p.SecretBytes, s.Releases),
		})
	}
	return rows
}

func kibibytes(bytes int64, among int) string {
	return fmt.Sprintf("%.1f", float64(bytes)/1024/float64(among))
}

// tampering is the table of how soon changes behind the controller's back were
// dealt with.
func (s *session) tampering() [][]string {
	rows := [][]string{{"s from the write", "objects", "median", "95th percentile", "worst", "left undone"}}
	for _, p := range s.Phases {
		if p.Tampered == nil {
			continue
		}
		for _, side := range p.Tampered.sides() {
			cell := func(percent int, seconds float64) string {
				switch {
				case side.Count == 0:
					return "-"
				case !side.Known(percent):
					return fmt.Sprintf("> %.2f", seconds)
				}
				return fmt.Sprintf("%.2f", seconds)
			}
			rows = append(rows, []string{
				p.Name + ", " + side.name, strconv.Itoa(side.Count),
				cell(50, side.Median), cell(95, side.P95), cell(100, side.Worst), strconv.Itoa(side.Left),
			})
		}
	}
	return rows
}

// remarks adds results that do not fit into a table.
func (s *session) remarks(b *strings.Builder) {
	if healthy := s.healthy(); healthy < s.Releases {
		fmt.Fprintf(b, "\nall phases except the last end when the %d healthy ones of %d releases have reached the expected state", healthy, s.Releases)
		if p := s.phase(phaseInstall); p != nil {
			fmt.Fprintf(b, "; all were ready %.2f s after the first was created", p.Seconds)
		}
		b.WriteByte('\n')
	}
	if p := s.phase(phaseInterval); p != nil && p.Reconciliations > 0 {
		reconciliations := float64(p.Reconciliations)
		fmt.Fprintf(b, "\nper reconciliation at an interval of %s: %.2f requests, %.2f downloads, %.2f ms of CPU\n",
			s.Interval.Duration, float64(p.Sent)/reconciliations, float64(p.Downloads)/reconciliations, 1000*p.CPUSeconds/reconciliations)
	}
	for _, note := range s.Notes {
		fmt.Fprintf(b, "\n%s\n", note)
	}
	for _, p := range s.Phases {
		if p.OthersReads > 0 {
			fmt.Fprintf(b, "\nduring %s, %d reads of Secrets were not the controller's\n", p.Name, p.OthersReads)
		}
	}
}

// requests is the table of requests with a row for each kind.
func (s *session) requests() [][]string {
	names := []string{""}
	for _, p := range s.Phases {
		names = append(names, p.Name)
	}
	rows := [][]string{names}
	section := func(prefix string, of func(phase) map[string]int) {
		all := map[string]bool{}
		for _, p := range s.Phases {
			for kind := range of(p) {
				all[kind] = true
			}
		}
		for _, kind := range slices.SortedFunc(maps.Keys(all), byResource) {
			row := []string{prefix + kind}
			for _, p := range s.Phases {
				row = append(row, s.each(of(p)[kind]))
			}
			rows = append(rows, row)
		}
	}
	section("sent: ", func(p phase) map[string]int { return p.SentByMethod })
	section("", func(p phase) map[string]int { return p.ByKind })
	return rows
}

// byResource sorts the requests of one resource together.
func byResource(a, b string) int {
	verbA, restA, _ := strings.Cut(a, " ")
	verbB, restB, _ := strings.Cut(b, " ")
	return cmp.Or(cmp.Compare(restA, restB), cmp.Compare(verbA, verbB))
}

// each is a number per release.
func (s *session) each(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(n)/float64(s.Releases))
}
