// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/view"
)

// Diff prints a diff.
func Diff(w io.Writer, d view.Diff, style Style) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", style.paint(bold, Clean(diffTitle(d))))
	if d.From != nil || d.To != nil {
		fmt.Fprintf(&b, "%s\n", Clean(view.Plan{Content: v1alpha1.ReleasePlanStatus{From: d.From, To: d.To}}.Versions()))
	}
	dangers(&b, d.Dangers, style)
	objectDiffs(&b, "Objects", d.Objects, style)
	objectDiffs(&b, "Drift", d.Drifted, style)
	if d.Action != "" && len(d.Objects) == 0 && len(d.Drifted) == 0 {
		b.WriteString("\nNo object changes.\n")
	}
	for i, h := range d.Hooks {
		if i == 0 {
			b.WriteString("\nHooks:\n")
		}
		fmt.Fprintf(&b, "  %s\n", Clean(h.Object+": "+h.Change))
		diffLines(&b, "    ", h.Lines, style)
	}
	if len(d.Notes) > 0 {
		b.WriteString("\nNotes:\n")
		diffLines(&b, "  ", d.Notes, style)
	}
	section(&b, "Values", len(d.Values), func(i int) string { return d.Values[i].Key + " (" + plan.SourceOf(d.Values[i]) + ")" })
	section(&b, "Warnings", len(d.Warnings), func(i int) string { return d.Warnings[i] })
	section(&b, "Problems", len(d.Problems), func(i int) string { return d.Problems[i] })
	_, err := io.WriteString(w, b.String())
	return err
}

// dangers prints what an action may harm, one sentence for each object.
func dangers(b *strings.Builder, all []v1alpha1.PlanDanger, style Style) {
	for i, d := range all {
		if i == 0 {
			b.WriteString("\nDangers:\n")
		}
		fmt.Fprintf(b, "  %s\n", style.paint(red, Clean(fmt.Sprintf("%-8s  %s: %s", d.Class, dangerous(d), d.Reason))))
	}
}

// dangerous returns the object of a danger.
func dangerous(d v1alpha1.PlanDanger) view.Object {
	return view.Object{Kind: d.Kind, Namespace: d.Namespace, Name: d.Name}
}

func diffTitle(d view.Diff) string {
	name := d.Namespace + "/" + d.Name
	switch {
	case d.Action == "" && len(d.Drifted) > 0:
		return name + ": live objects differ from the newest revision"
	case d.Action == "" && len(d.Problems) > 0:
		return name + ": not all objects could be compared"
	case d.Action == "":
		return name + ": no differences"
	case d.Why == "":
		return name + ": " + d.Action
	}
	return name + ": " + d.Action + " (" + d.Why + ")"
}

func objectDiffs(b *strings.Builder, title string, all []view.ObjectDiff, style Style) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, o := range all {
		fmt.Fprintf(b, "  %s\n", style.paint(diffColor(o.Change), Clean(fmt.Sprintf("%-8s  %s", o.Change, o.Object))))
		changedFields(b, len(o.Fields), style, func(i int) string {
			f, by := o.Fields[i], ""
			if f.By != "" {
				by = ", set by " + f.By
			}
			return fmt.Sprintf("%s: %s to %s%s", f.Path, or(f.From), or(f.To), by)
		})
		diffLines(b, "    ", o.Lines, style)
	}
}

func diffLines(b *strings.Builder, indent string, lines []string, style Style) {
	for _, line := range lines {
		fmt.Fprintf(b, "%s%s\n", indent, style.paint(lineColor(line), Clean(line)))
	}
}

func diffColor(change string) color {
	switch change {
	case view.DiffCreated:
		return green
	case view.DiffChanged, view.DiffReplaced:
		return yellow
	case view.DiffDeleted, view.DiffRefused:
		return red
	}
	return plain
}
