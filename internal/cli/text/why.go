// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/view"
)

// fewEvents is the number of events that are printed without Wide.
const fewEvents = 5

// fewLines is the number of log lines of a container that are printed without Wide.
const fewLines = 20

// Why prints the state of one release.
func Why(w io.Writer, v view.Why, style Style) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", style.paint(stateColor(v.Release.State), Clean(v.Sentence)))
	if v.Release.Owner != "" {
		fmt.Fprintf(&b, "Owner: %s\n", Clean(v.Release.Owner))
	}
	if v.Running != nil {
		running(&b, v.Running)
	}
	if v.Cause != nil {
		cause(&b, v.Cause, style)
	}
	if v.Message != "" {
		head, details := view.Message(v.Message)
		fmt.Fprintf(&b, "\nMessage: %s\n", Clean(head))
		for _, line := range details {
			fmt.Fprintf(&b, "  %s\n", Clean(line))
		}
	}
	for _, command := range v.Commands {
		fmt.Fprintf(&b, "Command: %s\n", Clean(command))
	}
	if v.Link != "" {
		fmt.Fprintf(&b, "Reasons: %s\n", Clean(v.Link))
	}
	conditions(&b, &v, style)
	events(&b, &v, style)
	unread(&b, v.Unread, style)
	_, err := io.WriteString(w, b.String())
	return err
}

// maxUnready is the number of objects that are listed.
const maxUnready = 20

// running prints how far an action is.
func running(b *strings.Builder, r *view.Running) {
	fmt.Fprintf(b, "\n%s", Clean(r.Action))
	if r.TimeLeft != "" {
		fmt.Fprintf(b, ", %s left", r.TimeLeft)
	}
	fmt.Fprintf(b, ": %d of %d objects are ready\n", r.Objects-len(r.Unready), r.Objects)
	for _, u := range r.Unready[:min(len(r.Unready), maxUnready)] {
		fmt.Fprintf(b, "  %s: %s\n", Clean(u.Object.String()), Clean(u.Status))
	}
	if more := len(r.Unready) - maxUnready; more > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
}

func cause(b *strings.Builder, c *view.Cause, style Style) {
	fmt.Fprintf(b, "\nCause: %s\n", style.paint(red, Clean(c.Summary)))
	for _, line := range c.Details {
		fmt.Fprintf(b, "  %s\n", Clean(line))
	}
	for _, l := range c.Logs {
		logs(b, l, style)
	}
}

func logs(b *strings.Builder, l view.Log, style Style) {
	title := "Log"
	switch {
	case l.Helm:
		title = "Log of Helm during the action"
	case l.Container != "":
		title = fmt.Sprintf("Log of container %s in Pod %s", l.Container, l.Pod)
	}
	fmt.Fprintf(b, "\n%s:\n", Clean(title))
	lines := l.Lines
	if len(lines) > fewLines && !style.Wide {
		lines = lines[len(lines)-fewLines:]
		fmt.Fprintf(b, "  %s\n", style.paint(faint, fmt.Sprintf("… %d lines before (-o wide shows them)", len(l.Lines)-fewLines)))
	}
	for _, line := range lines {
		fmt.Fprintf(b, "  %s\n", Clean(line))
	}
}

// untold returns the part of a message that is not above, or that it is.
func untold(v *view.Why, message string) string {
	rest := v.Untold(message)
	if rest == "" && message != "" {
		return "(above)"
	}
	return rest
}

func conditions(b *strings.Builder, v *view.Why, style Style) {
	all := v.Conditions
	if len(all) == 0 {
		return
	}
	b.WriteString("\nConditions:\n")
	t := newTable(style, "TYPE", "STATUS", "REASON", "AGE", "MESSAGE")
	rows := make([][]cell, 0, len(all))
	for _, c := range all {
		rows = append(rows, []cell{{text: c.Type}, {text: c.Status}, {text: c.Reason}, {text: style.age(&c.Since)}, {text: untold(v, c.Message)}})
	}
	t.printIndented(b, rows)
}

func events(b *strings.Builder, v *view.Why, style Style) {
	all := v.Events
	if len(all) == 0 {
		return
	}
	b.WriteString("\nEvents:\n")
	t := newTable(style, "LAST SEEN", "TYPE", "REASON", "COUNT", "MESSAGE")
	var rows [][]cell
	for i, e := range all {
		if i == fewEvents && !style.Wide {
			break
		}
		c := cell{text: e.Type}
		if e.Type == "Warning" {
			c.color = yellow
		}
		rows = append(rows, []cell{{text: style.age(since(e.Last))}, c, {text: e.Reason}, {text: strconv.Itoa(int(e.Count))}, {text: untold(v, e.Message)}})
	}
	t.printIndented(b, rows)
	if more := len(all) - len(rows); more > 0 {
		fmt.Fprintf(b, "  and %d more (-o wide shows all)\n", more)
	}
}

func since(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// unread prints what could not be read.
func unread(b *strings.Builder, all []string, style Style) {
	if len(all) == 0 {
		return
	}
	b.WriteString("\nNot read:\n")
	for _, line := range all {
		fmt.Fprintf(b, "  %s\n", style.paint(yellow, Clean(line)))
	}
}
