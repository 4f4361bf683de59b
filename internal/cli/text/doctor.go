// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/pintle-dev/pintle/internal/view/doctor"
)

// fewObjects is the number of objects of a finding that are printed without Wide.
const fewObjects = 5

// Doctor prints a report: one line for each finding, and its meaning and remedy below.
func Doctor(w io.Writer, r doctor.Report, style Style) error {
	var b strings.Builder
	indent := strings.Repeat(" ", 22)
	for _, f := range r.Findings {
		level := style.paint(levelColor(f.Level), fmt.Sprintf("%-8s", strings.ToUpper(string(f.Level))))
		fmt.Fprintf(&b, "%s %-12s %s\n", level, f.Check, Clean(f.What))
		if f.Level == doctor.OK && !style.Wide {
			continue
		}
		if objects := objects(f.Objects, style); objects != "" {
			fmt.Fprintf(&b, "%s%s\n", indent, Clean(objects))
		}
		if f.Meaning != "" {
			fmt.Fprintf(&b, "%smeans: %s\n%sdo:    %s\n", indent, Clean(f.Meaning), indent, Clean(f.Do))
		}
	}
	fmt.Fprintf(&b, "\n%d failed, %d warnings, %d could not be checked\n", r.Failed, r.Warnings, r.Unknown)
	_, err := io.WriteString(w, b.String())
	return err
}

func objects(all []string, style Style) string {
	if len(all) <= fewObjects || style.Wide {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more (-o wide shows all)", strings.Join(all[:fewObjects], ", "), len(all)-fewObjects)
}

func levelColor(l doctor.Level) color {
	switch l {
	case doctor.OK:
		return green
	case doctor.Note:
		return blue
	case doctor.Unknown, doctor.Warning:
		return yellow
	case doctor.Failed:
		return red
	}
	return plain
}
