// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/load/frame"
)

// ceiling is the limit of one figure.
type ceiling struct {
	// phase is the phase that the limit applies to; empty means all.
	phase string
	// figure is the name of the measured value, and of returns it. It returns false if the session
	// has no such value.
	figure string
	of     func(*session, *phase) (float64, bool)
	most   float64
	// holds returns the loads that the limit applies to.
	holds func(load) bool
}

// ceilings are all limits. Numbers of requests hardly depend on the number of releases. Limits of
// seconds, memory and CPU time apply only to the loads that they were set for.
func ceilings() []ceiling {
	requests := func(phase string, most float64) ceiling {
		return ceiling{phase, "requests per release", requestsPerRelease, most, load.plain}
	}
	cpu := func(phase string, most float64) ceiling {
		return ceiling{phase, "CPU s per release", cpuPerRelease, most, func(l load) bool { return l.plain() && l.Releases >= 100 }}
	}
	perReconciliation := func(figure string, of func(*phase) int) ceiling {
		return ceiling{phaseInterval, figure, func(_ *session, p *phase) (float64, bool) {
			return float64(of(p)) / float64(max(p.Reconciliations, 1)), p.Reconciliations > 0
		}, 0, load.plain}
	}
	whole := func(phase, figure string, releases int, of func(*session, *phase) (float64, bool), most float64) ceiling {
		return ceiling{phase, figure, of, most, func(l load) bool { return l.plain() && l.Releases == releases }}
	}
	all := []ceiling{
		requests(phaseInstall, 19), cpu(phaseInstall, 0.035),
		requests(phaseUpgrade, 16), cpu(phaseUpgrade, 0.045),
		requests(phaseNoOp, 2), cpu(phaseNoOp, 0.003),
		perReconciliation("requests per reconciliation", func(p *phase) int { return p.Sent }),
		perReconciliation("downloads per reconciliation", func(p *phase) int { return p.Downloads }),
		{phaseStartUp, "new revisions", newRevisions, 0, load.plain},
		requests(phaseDelete, 18),
		whole(phaseInstall, "seconds", 100, seconds, 5), whole(phaseUpgrade, "seconds", 100, seconds, 5),
		whole(phaseInstall, "seconds", 1000, seconds, 70), whole(phaseUpgrade, "seconds", 1000, seconds, 70),
		whole("", "peak RSS MiB", 100, peakRSS, 130), whole("", "peak RSS MiB", 1000, peakRSS, 150),
		whole(phaseIdle, "PSS MiB of all processes", 100, endPSS, 130),
		{phaseInstall, "seconds until the healthy releases are ready", seconds, 10, func(l load) bool { return l == patience(l) }},
		{phaseIdle, "requests per release", requestsPerRelease, 0, load.drifting},
	}
	return slices.Concat(all, soon(phaseDrift), soon(phaseWarn), pageCeilings())
}

// soon are the limits of the time until drift is corrected or reported. They apply to any number of
// releases, since changes have a fixed rate.
func soon(name string) []ceiling {
	of := func(figure string, get func(harness.Spread) (float64, bool), most float64) []ceiling {
		side := func(which string, of func(*tampered) harness.Spread) ceiling {
			return ceiling{name, figure + which, func(_ *session, p *phase) (float64, bool) {
				if p.Tampered == nil {
					return 0, false
				}
				return get(of(p.Tampered))
			}, most, load.drifting}
		}
		return []ceiling{
			side(", changed", func(t *tampered) harness.Spread { return t.Changed }),
			side(", deleted", func(t *tampered) harness.Spread { return t.Deleted }),
		}
	}
	return slices.Concat(
		of("left undone", func(s harness.Spread) (float64, bool) { return float64(s.Left), s.Count > 0 }, 0),
		of("median s", func(s harness.Spread) (float64, bool) { return s.Median, s.Count > 0 }, 2),
		of("worst s", func(s harness.Spread) (float64, bool) { return s.Worst, s.Count > 0 }, 5),
	)
}

// patience returns the load with unready releases that must not delay others. Other parameters are
// those of base.
func patience(base load) load {
	base.Releases, base.Concurrent, base.Unready = 200, 4, 5
	base.UnreadyTimeout = metav1.Duration{Duration: 2 * time.Minute}
	base.CRDs, base.Charts, base.Padding = 0, 1, 0
	return base
}

func seconds(_ *session, p *phase) (float64, bool) { return p.Seconds, true }

func requestsPerRelease(s *session, p *phase) (float64, bool) {
	return float64(p.Sent) / float64(s.Releases), true
}

func cpuPerRelease(s *session, p *phase) (float64, bool) {
	return p.CPUSeconds / float64(s.Releases), true
}

func endPSS(_ *session, p *phase) (float64, bool) { return p.EndMiB, p.EndMiB > 0 }

func peakRSS(_ *session, p *phase) (float64, bool) { return p.PeakMiB, !p.PeakOfAll }

func newRevisions(s *session, p *phase) (float64, bool) { return float64(p.Revisions), s.Audit }

// ceilingResult is the comparison of a figure with its ceiling.
type ceilingResult struct {
	ceiling

	phase    string
	measured float64
	over     bool
}

// checkCeilings compares a session with all applicable limits.
func checkCeilings(s *session) []ceilingResult {
	var results []ceilingResult
	for _, c := range ceilings() {
		if !c.holds(s.load) {
			continue
		}
		for i := range s.Phases {
			p := &s.Phases[i]
			if c.phase != "" && c.phase != p.Name {
				continue
			}
			if measured, ok := c.of(s, p); ok {
				results = append(results, ceilingResult{c, p.Name, measured, measured > c.most})
			}
		}
	}
	return results
}

// over is the number of figures that are over their ceilings.
func over(results []ceilingResult) int {
	n := 0
	for _, v := range results {
		if v.over {
			n++
		}
	}
	return n
}

// ceilingTable returns results as a table.
func ceilingTable(results []ceilingResult) string {
	if len(results) == 0 {
		return "\nno ceiling holds for this load\n"
	}
	rows := [][]string{{"phase", "figure", "measured", "ceiling", ""}}
	for _, v := range results {
		word := "ok"
		if v.over {
			word = "OVER"
		}
		rows = append(rows, []string{v.phase, v.figure, fmt.Sprintf("%.4g", v.measured), fmt.Sprintf("%.4g", v.most), word})
	}
	return "\n" + frame.Aligned(rows)
}
