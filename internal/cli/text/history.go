// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/manifest"
)

// maxResult is the length of a result without Wide.
const maxResult = 80

// History prints revisions as rows.
func History(w io.Writer, all []view.Revision, style Style) error {
	header := []string{"REVISION", "STATUS", "CHART", "APP", "BY", "AGE", "DURATION", "SOURCE", "RESULT"}
	if style.Wide {
		header = append(header, "APPROVED BY", "OVERRIDDEN BY")
	}
	t := newTable(style, header...)
	rows := make([][]cell, 0, len(all))
	for _, r := range all {
		result := r.Result
		if r.Unread != "" {
			result = "not read: " + r.Unread
		}
		row := []cell{
			{text: strconv.Itoa(r.Revision)},
			{r.Status, statusColor(r.Status)},
			{text: or(r.Chart)},
			{text: or(r.AppVersion)},
			{text: or(r.By)},
			{text: style.age(r.Deployed)},
			{text: or(r.Duration)},
			{text: or(shorter(r.Source, style))},
			{text: or(shorter(result, style))},
		}
		if style.Wide {
			overridden := r.OverriddenBy
			if r.OverrideReason != "" {
				overridden += ": " + r.OverrideReason
			}
			row = append(row, cell{text: or(r.ApprovedBy)}, cell{text: or(overridden)})
		}
		rows = append(rows, row)
	}
	return t.print(w, rows...)
}

// shorter cuts a text, unless the output is wide.
func shorter(text string, style Style) string {
	if runes := []rune(text); len(runes) > maxResult && !style.Wide {
		return string(runes[:maxResult-1]) + "…"
	}
	return text
}

func statusColor(status string) color {
	switch status {
	case "deployed":
		return green
	case "failed":
		return red
	case "superseded", "uninstalled":
		return faint
	}
	return yellow
}

// Differences prints the differences of two revisions as diffs.
func Differences(w io.Writer, all []manifest.Difference, style Style) error {
	var b strings.Builder
	for _, d := range all {
		fmt.Fprintf(&b, "%s\n", style.paint(bold, Clean(d.Object)+": "+d.Change))
		for _, line := range d.Lines {
			fmt.Fprintf(&b, "  %s\n", style.paint(lineColor(line), Clean(line)))
		}
	}
	if len(all) == 0 {
		b.WriteString("The revisions have the same objects and values.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func lineColor(line string) color {
	switch {
	case strings.HasPrefix(line, "+"):
		return green
	case strings.HasPrefix(line, "-"):
		return red
	case strings.HasPrefix(line, "@@"):
		return blue
	}
	return plain
}
