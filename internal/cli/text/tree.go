// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/pintle-dev/pintle/internal/view"
)

// Tree prints objects, and below each one those that it owns.
func Tree(w io.Writer, v view.Tree, style Style) error {
	var b strings.Builder
	if v.Owner != "" {
		b.WriteString(Belongs(v.Namespace, v.Name, v.Owner) + "\n\n")
	}
	if len(v.Nodes) == 0 {
		fmt.Fprintf(&b, "%s/%s has no objects.\n", Clean(v.Namespace), Clean(v.Name))
	} else {
		t := newTable(style, "OBJECT", "STATUS", "DRIFT", "MESSAGE")
		var rows [][]cell
		for _, n := range v.Nodes {
			rows = branch(rows, n, "", "", style)
		}
		_ = t.print(&b, rows...) // a Builder returns no error
	}
	unread(&b, v.Unread, style)
	_, err := io.WriteString(w, b.String())
	return err
}

// Belongs returns the sentence about the object that a HelmRelease was made for.
func Belongs(namespace, name, owner string) string {
	return Clean(namespace + "/" + name + " belongs to " + owner + ".")
}

// branch appends the rows of an object and of those that it owns. first precedes its own row, and
// rest those below.
func branch(rows [][]cell, n view.Node, first, rest string, style Style) [][]cell {
	d := cell{text: or(n.Drifted)}
	if n.Drifted == "yes" {
		d.color = yellow
	}
	rows = append(rows, []cell{{text: first + n.Object.String()}, {n.Status, nodeColor(n.Status)}, d, {text: or(shorter(messageOf(n), style))}})
	for i, child := range n.Children {
		if i == len(n.Children)-1 {
			rows = branch(rows, child, rest+"└─ ", rest+"   ", style)
		} else {
			rows = branch(rows, child, rest+"├─ ", rest+"│  ", style)
		}
	}
	return rows
}

// messageOf returns the message of an object, with the fields that differ.
func messageOf(n view.Node) string {
	if len(n.Fields) == 0 {
		return n.Message
	}
	return strings.TrimPrefix(n.Message+"; differs in "+strings.Join(n.Fields, ", "), "; ")
}

func nodeColor(status string) color {
	switch status {
	case "Ready":
		return green
	case "Failed", "Missing":
		return red
	case "Progressing", "Terminating":
		return yellow
	}
	return plain
}
