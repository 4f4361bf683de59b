// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/view"
)

// namespaced is a row of a list, with the namespace of its object.
type namespaced struct {
	namespace string
	cells     []cell
}

// list prints rows, with their namespaces if the style includes them.
func list(w io.Writer, style Style, header []string, rows []namespaced) error {
	if style.Namespaces {
		header = append([]string{"NAMESPACE"}, header...)
	}
	all := make([][]cell, 0, len(rows))
	for _, row := range rows {
		if style.Namespaces {
			row.cells = append([]cell{{text: or(row.namespace)}}, row.cells...)
		}
		all = append(all, row.cells)
	}
	return newTable(style, header...).print(w, all...)
}

// Operations prints Operations as rows.
func Operations(w io.Writer, all []view.OperationRow, style Style) error {
	rows := make([]namespaced, 0, len(all))
	for _, o := range all {
		rows = append(rows, namespaced{o.Namespace, []cell{
			{text: o.Name},
			{string(o.State), phaseColor(o.State)},
			{text: or(o.Hook)},
			{text: o.Target},
			{text: style.age(&o.Created)},
			{text: or(shorter(o.Line, style))},
		}})
	}
	return list(w, style, []string{"NAME", "STATE", "HOOK", "TARGET", "AGE", "MESSAGE"}, rows)
}

func phaseColor(p opsv1alpha1.OperationPhase) color {
	switch p {
	case opsv1alpha1.PhaseFailed:
		return red
	case opsv1alpha1.PhaseRunning:
		return blue
	case opsv1alpha1.PhasePending:
		return yellow
	case opsv1alpha1.PhaseCancelled:
		return faint
	case opsv1alpha1.PhaseSucceeded:
		return green
	}
	return plain
}

// Hooks prints hooks as rows.
func Hooks(w io.Writer, all view.Hooks, style Style) error {
	rows := make([][]cell, 0, len(all.Items))
	for _, h := range all.Items {
		weight, ran := "", ""
		if h.Weight != nil {
			weight = strconv.Itoa(*h.Weight)
		}
		if r := h.LastRun; r != nil {
			ran = fmt.Sprintf("%s ago by %s: %s", style.age(&r.At), r.By, r.Result)
		}
		rows = append(rows, []cell{
			{text: h.Version}, {text: h.Name}, {text: or(h.Kind)}, {text: or(h.Events)}, {text: or(weight)}, {text: or(h.DeletePolicy)}, {text: or(ran)}, {text: or(h.Command)},
		})
	}
	return newTable(style, "VERSION", "NAME", "KIND", "EVENTS", "WEIGHT", "DELETE POLICY", "LAST RUN", "COMMAND").print(w, rows...)
}

// Plans prints plans as rows.
func Plans(w io.Writer, all []view.Plan, style Style) error {
	header := []string{"NAME", "STATE", "ACTION", "FROM", "TO", "CHANGES", "AGE"}
	if style.Wide {
		header = append(header, "APPROVED BY", "DIGEST")
	}
	rows := make([]namespaced, 0, len(all))
	for _, p := range all {
		row := []cell{
			{text: p.Name},
			{p.State, planColor(p.State)},
			{text: or(string(p.Content.Action))},
			{text: or(chartOf(p.Content.From))},
			{text: or(chartOf(p.Content.To))},
			summary(p.Content.Summary),
			{text: style.age(p.Created)},
		}
		if style.Wide {
			row = append(row, cell{text: or(p.ApprovedBy)}, cell{text: or(p.Content.Digest)})
		}
		rows = append(rows, namespaced{p.Namespace, row})
	}
	return list(w, style, header, rows)
}

func chartOf(r *v1alpha1.PlanRevision) string {
	if r == nil {
		return ""
	}
	return r.Chart
}

// summary returns the numbers of changes, in red if data may be lost.
func summary(s v1alpha1.PlanSummary) cell {
	var parts []string
	for _, part := range []struct {
		n    int64
		word string
	}{{s.Create, "create"}, {s.Update, "update"}, {s.Replace, "replace"}, {s.Delete, "delete"}, {s.Refused, "refused"}, {s.Destructive, "destructive"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.word))
		}
	}
	c := cell{text: or(strings.Join(parts, ", "))}
	if s.Destructive > 0 {
		c.color = red
	}
	return c
}

// approvals returns what needs approval: an approval, classes of dangers, or both.
func approvals(p view.Policy) string {
	var all []string
	if p.Approval != v1alpha1.ApprovalNever || len(p.ApprovalClasses) == 0 {
		all = append(all, string(p.Approval))
	}
	for _, c := range p.ApprovalClasses {
		all = append(all, string(c))
	}
	return strings.Join(all, ", ")
}

// Policies prints policies as rows.
func Policies(w io.Writer, all []view.Policy, style Style) error {
	header := []string{"NAME", "KIND", "APPROVAL", "FREEZE", "PROTECTS", "CHARTS", "RELEASES", "AGE"}
	if style.Wide {
		header = append(header, "NAMESPACES", "ROLLBACKS", "DRY-RUN DENIALS", "WINDOWS", "ROLLOUT", "OPERATIONS", "VALUES")
	}
	rows := make([]namespaced, 0, len(all))
	for _, p := range all {
		freeze := cell{text: or(shorter(p.Freeze, style))}
		if p.Freeze != "" {
			freeze.color = yellow
		}
		row := []cell{
			{text: p.Name},
			{text: p.Kind},
			{text: approvals(p)},
			freeze,
			{text: or(shorter(strings.Join(p.Protects, ", "), style))},
			{text: or(shorter(strings.Join(p.Charts, ", "), style))},
			{text: or(p.Releases)},
			{text: style.age(p.Created)},
		}
		if style.Wide {
			row = append(row, cell{text: or(p.Namespaces)}, cell{text: string(p.Rollbacks)}, cell{text: string(p.DryRunDenials)},
				cell{text: or(shorter(strings.Join(p.Windows, ", "), style))}, cell{text: or(shorter(strings.Join(p.Rollout, ", "), style))},
				cell{text: or(shorter(strings.Join(p.Operations, ", "), style))},
				cell{text: or(shorter(strings.Join(p.Values, ", "), style))})
		}
		rows = append(rows, namespaced{p.Namespace, row})
	}
	return list(w, style, header, rows)
}
