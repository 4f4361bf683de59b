// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/test/harness/faultproxy"
	"github.com/pintle-dev/pintle/test/load/frame"
)

// outcome is the result of a case.
type outcome struct {
	deviation

	// id names the case. groups are the rows of the table that it counts for, besides the sum.
	id     string
	groups []string
	// repeat is the arguments of `make chaos` that repeat it.
	repeat string
	// missed is set if the request that was to fail was never sent.
	missed bool
	// settle is the time from the end of the faults; valid only if settled.
	settled bool
	settle  time.Duration
	// faults are those that were injected, if there can be more than one.
	faults []string
	// interrupted is set for a release of the modes kill and outage. Changes is the number of its
	// commits.
	interrupted bool
	changes     int
	recovery    recovery
}

// bad reports whether the case failed or has deviations.
func (o outcome) bad() bool { return o.failed || len(o.wrong) > 0 }

// row sums outcomes up.
type row struct {
	name                                            string
	cases, missed, failed, extra, repeated, skipped int
	slowest                                         time.Duration
	slowestCase                                     string
	unsettled, changes, left                        int
	recovery                                        recovery
}

func (r *row) add(o outcome) {
	r.cases++
	if o.missed {
		r.missed++
	}
	if o.failed {
		r.failed++
	}
	r.extra += o.extra
	r.repeated += o.repeated
	r.skipped += o.skipped
	r.left += o.left
	r.changes += o.changes
	r.recovery = recovery{
		struck: r.recovery.struck + o.recovery.struck, inFlight: max(r.recovery.inFlight, o.recovery.inFlight),
		waiting: max(r.recovery.waiting, o.recovery.waiting),
	}
	switch {
	case !o.settled:
		r.unsettled++
	case o.settle >= r.slowest:
		r.slowest, r.slowestCase = o.settle, o.id
	}
}

// interruptedColumns are those of the modes kill and outage, besides the name.
func interruptedColumns() []string {
	return []string{
		"releases", "changes", "interrupted", "failed", "never settled", "extra revisions", "hooks repeated", "hooks missing", "objects left",
		"slowest in flight", "slowest waiting",
	}
}

// interruptedCells are those of one line of such a table.
func (r *row) interruptedCells() []string {
	cells := counts(r.cases, r.changes, r.recovery.struck, r.failed, r.unsettled, r.extra, r.repeated, r.skipped, r.left)
	return append(cells, fmt.Sprintf("%.1f s", r.recovery.inFlight.Seconds()), fmt.Sprintf("%.1f s", r.recovery.waiting.Seconds()))
}

func counts(all ...int) (cells []string) {
	for _, n := range all {
		cells = append(cells, strconv.Itoa(n))
	}
	return cells
}

// faultColumns are those of the other modes.
func faultColumns() []string {
	return []string{"cases", "not reached", "failed", "extra revisions", "hooks repeated", "hooks missing", "slowest settle"}
}

// faultCells are those of one line of such a table.
func (r *row) faultCells() []string {
	slowest := "-"
	if r.slowestCase != "" {
		slowest = fmt.Sprintf("%.1f s", r.slowest.Seconds())
	}
	if r.unsettled > 0 {
		slowest += fmt.Sprintf(", %d never", r.unsettled)
	}
	return append(counts(r.cases, r.missed, r.failed, r.extra, r.repeated, r.skipped), slowest)
}

// rank is the sort key of a row: actions precede kinds of faults, and others follow.
func rank(r *row) int {
	var names []string
	for _, a := range actions() {
		names = append(names, a.name)
	}
	for _, f := range faultproxy.Faults() {
		names = append(names, string(f))
	}
	if i := slices.Index(names, r.name); i >= 0 {
		return i
	}
	return len(names)
}

// table returns outcomes as a Markdown table, a row for each group and one for all.
func table(title string, outcomes []outcome) string {
	var rows []*row
	byName := map[string]*row{}
	of := func(name string) *row {
		if byName[name] == nil {
			byName[name] = &row{name: name}
			rows = append(rows, byName[name])
		}
		return byName[name]
	}
	all := &row{name: "**all**"}
	for _, o := range outcomes {
		for _, group := range o.groups {
			of(group).add(o)
		}
		all.add(o)
	}
	slices.SortStableFunc(rows, func(a, b *row) int { return cmp.Compare(rank(a), rank(b)) })
	if len(rows) != 1 {
		rows = append(rows, all)
	}
	interrupted := slices.ContainsFunc(outcomes, func(o outcome) bool { return o.interrupted })
	columns, cells := faultColumns(), (*row).faultCells
	if interrupted {
		columns, cells = interruptedColumns(), (*row).interruptedCells
	}
	lines := [][]string{append([]string{title}, columns...)}
	for _, r := range rows {
		lines = append(lines, append([]string{r.name}, cells(r)...))
	}
	text := frame.Markdown(lines)
	if all.slowestCase != "" && !interrupted {
		text += fmt.Sprintf("\nslowest: %s\n", all.slowestCase)
	}
	return text
}

// failures lists the failed cases, with the commands that repeat them.
func failures(outcomes []outcome) string {
	var b strings.Builder
	for _, o := range outcomes {
		if !o.bad() {
			continue
		}
		fmt.Fprintf(&b, "\n%s\n", o.id)
		for _, wrong := range o.wrong {
			fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(wrong, "\n", "\n    "))
		}
		if len(o.faults) > 0 {
			fmt.Fprintf(&b, "  faults: %s\n", strings.Join(o.faults, ", "))
		}
		fmt.Fprintf(&b, "  repeat: make chaos %s\n", o.repeat)
	}
	return b.String()
}
