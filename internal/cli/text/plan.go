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

// fewFields is the number of fields of a change that are printed without Wide.
const fewFields = 10

// Plan prints a plan.
func Plan(w io.Writer, v view.Plan, style Style) error {
	var b strings.Builder
	p := v.Content
	fmt.Fprintf(&b, "%s\n", style.paint(planColor(v.State), Clean(v.Sentence)))
	if p.Digest == "" {
		_, err := io.WriteString(w, b.String())
		return err
	}
	dangers(&b, p.Dangers, style)
	fmt.Fprintf(&b, "\n%s of %s/%s: %s\nDigest: %s\n", p.Action, v.Namespace, v.Name, Clean(v.Versions()), Clean(p.Digest))
	s := p.Summary
	fmt.Fprintf(&b, "%d to create, %d to update, %d to replace, %d to delete, %d refused, %d unchanged\n", s.Create, s.Update, s.Replace, s.Delete, s.Refused, s.Unchanged)
	if s.Destructive > 0 {
		fmt.Fprintf(&b, "%s\n", style.paint(red, fmt.Sprintf("Destructive changes: %d. Data may be lost.", s.Destructive)))
	}
	changes(&b, "Changes", p.Changes, style)
	replaceable(&b, v, style)
	changes(&b, "CRDs", p.CRDs, style)
	section(&b, "Images", len(p.Images), func(i int) string {
		image := p.Images[i]
		return fmt.Sprintf("%s, container %s: %s to %s", image.Object, image.Container, or(image.From), or(image.To))
	})
	section(&b, "Values", len(p.Values), func(i int) string { return p.Values[i].Key + " (" + plan.SourceOf(p.Values[i]) + ")" })
	section(&b, "Hooks", len(p.Hooks), func(i int) string { return hookOf(p.Hooks[i]) + " (" + strings.Join(p.Hooks[i].Events, ", ") + ")" })
	section(&b, "Warnings", len(p.Warnings), func(i int) string { return p.Warnings[i] })
	if p.Omitted > 0 {
		fmt.Fprintf(&b, "\nEntries left out, because the plan is too large: %d\n", p.Omitted)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// hookOf names a hook. Plans of older controllers have no kinds.
func hookOf(h v1alpha1.PlanHook) string {
	if h.Kind == "" {
		return h.Name
	}
	return h.Kind + " " + h.Name
}

func changes(b *strings.Builder, title string, all []v1alpha1.PlanChange, style Style) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, c := range all {
		object := view.Object{Kind: c.Kind, Namespace: c.Namespace, Name: c.Name}.String()
		line := fmt.Sprintf("%-7s  %s", c.Change, Clean(object))
		if c.Destructive {
			line += " (destructive)"
		}
		if c.Reason != "" {
			line += ": " + Clean(c.Reason)
		}
		fmt.Fprintf(b, "  %s\n", style.paint(changeColor(c.Change), line))
		changedFields(b, len(c.Fields), style, func(i int) string {
			f, taken := c.Fields[i], ""
			if f.TakenFrom != "" {
				taken = ", taken from " + f.TakenFrom
			}
			return fmt.Sprintf("%s: %s to %s%s", f.Path, or(f.From), or(f.To), taken)
		})
	}
}

// replaceable prints how the objects that the API server refuses to change are replaced, or why not.
func replaceable(b *strings.Builder, v view.Plan, style Style) {
	first := true
	for _, c := range v.Content.Changes {
		if c.Replacement == nil {
			continue
		}
		if first {
			b.WriteString("\nReplacements:\n")
			first = false
		}
		object, name := view.Object{Kind: c.Kind, Namespace: c.Namespace, Name: c.Name}.String(), c.Kind+"/"+c.Name
		if c.Namespace != "" && c.Namespace != v.Namespace {
			name = c.Namespace + "/" + name
		}
		if why := c.Replacement.Refused; why != "" {
			fmt.Fprintf(b, "  %s\n", Clean(object+" cannot be replaced: "+why))
			continue
		}
		line := fmt.Sprintf("%s can be deleted and created anew: kubectl pintle approve %s -n %s --replace %s", object, v.Name, v.Namespace, name)
		if c.Replacement.DeletesClaims {
			line += ". Its claims are deleted with it"
		}
		fmt.Fprintf(b, "  %s\n", style.paint(yellow, Clean(line)))
	}
}

// changedFields prints one line for each field of a change; without Wide, only for the first ones.
func changedFields(b *strings.Builder, n int, style Style, line func(i int) string) {
	const indent = "             "
	for i := range n {
		if i == fewFields && !style.Wide {
			fmt.Fprintf(b, "%sand %d more fields (-o wide shows all)\n", indent, n-fewFields)
			return
		}
		fmt.Fprintf(b, "%s%s\n", indent, Clean(line(i)))
	}
}

// section prints a title and one line for each entry; nothing without entries.
func section(b *strings.Builder, title string, n int, line func(i int) string) {
	if n == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for i := range n {
		fmt.Fprintf(b, "  %s\n", Clean(line(i)))
	}
}

func planColor(state string) color {
	switch state {
	case v1alpha1.ReasonApplied, v1alpha1.ReasonApproved, v1alpha1.ReasonNotRequired:
		return green
	case v1alpha1.ReasonAwaitingApproval, v1alpha1.ReasonComputed, "Computing":
		return yellow
	}
	return red
}

func changeColor(c v1alpha1.ChangeKind) color {
	switch c {
	case v1alpha1.ChangeCreate:
		return green
	case v1alpha1.ChangeUpdate, v1alpha1.ChangeReplace:
		return yellow
	case v1alpha1.ChangeDelete, v1alpha1.ChangeRefused:
		return red
	}
	return plain
}
