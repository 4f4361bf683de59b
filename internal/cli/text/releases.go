// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"io"
	"strconv"

	"github.com/pintle-dev/pintle/internal/view"
)

// Releases prints releases as rows.
type Releases struct{ table *table }

// NewReleases returns a list without rows.
func NewReleases(style Style) *Releases {
	header := []string{"NAME", "STATE", "READY", "REASON", "CAUSE", "CHART", "REVISION", "CHANGED", "DRIFT", "WAITING FOR"}
	if style.Namespaces {
		header = append([]string{"NAMESPACE"}, header...)
	}
	switch {
	case style.Wide:
		header = append(header, "APP", "SOURCE", "OWNER", "FAILURES", "MESSAGE")
	case style.Owners:
		header = append(header, "OWNER")
	}
	return &Releases{table: newTable(style, header...)}
}

// Print prints rows, and before the first ones the header.
func (l *Releases) Print(w io.Writer, all ...view.Release) error {
	rows := make([][]cell, 0, len(all))
	for _, r := range all {
		rows = append(rows, l.row(r))
	}
	return l.table.print(w, rows...)
}

func (l *Releases) row(r view.Release) []cell {
	style := l.table.style
	revision := "-"
	if r.Revision > 0 {
		revision = strconv.Itoa(r.Revision)
	}
	row := []cell{
		{text: r.Name},
		{string(r.State), stateColor(r.State)},
		{text: r.Ready},
		{text: or(r.Reason)},
		{text: or(r.Cause)},
		{text: or(r.Chart)},
		{text: revision},
		{text: style.age(r.Changed)},
		drift(r.Drifted),
		{text: or(r.WaitingFor)},
	}
	if style.Namespaces {
		row = append([]cell{{text: r.Namespace}}, row...)
	}
	switch {
	case style.Wide:
		row = append(row, cell{text: or(r.AppVersion)}, cell{text: or(r.Source)}, cell{text: or(r.Owner)}, cell{text: strconv.FormatInt(r.Failures, 10)}, cell{text: or(r.Message)})
	case style.Owners:
		row = append(row, cell{text: or(r.Owner)})
	}
	return row
}

func drift(status string) cell {
	switch status {
	case "True":
		return cell{"yes", yellow}
	case "False":
		return cell{text: "no"}
	case "":
		return cell{text: "-"}
	}
	return cell{text: "unknown"}
}

func stateColor(s view.State) color {
	switch s {
	case view.Stalled, view.Failing, view.Rejected:
		return red
	case view.Waiting, view.Held:
		return yellow
	case view.Deleting, view.Progressing:
		return blue
	case view.Suspended:
		return faint
	case view.Ready:
		return green
	}
	return plain
}
