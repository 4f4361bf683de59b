// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/pintle-dev/pintle/internal/view/manifest"
)

const (
	// maxLines is the number of lines of one comparison that are shown.
	maxLines = 2000
	// maxOpen is the number of lines up to which all objects are shown open.
	maxOpen = 200
)

// comparison is what the parameters of the page compare: two revisions, or nothing.
type comparison struct{ From, To int }

func (c comparison) asked() bool { return c.From > 0 }

// parseComparison returns the comparison that the parameters of a page select. problem is the
// sentence about wrong ones.
func parseComparison(query url.Values) (c comparison, problem string) {
	from, to := query.Get("from"), query.Get("to")
	if from == "" && to == "" {
		return comparison{}, ""
	}
	a, errA := strconv.Atoi(from)
	b, errB := strconv.Atoi(to)
	if errA != nil || errB != nil || a < 1 || b < 1 || a == b {
		return comparison{}, "The parameters from and to must be the numbers of two revisions."
	}
	return comparison{From: a, To: b}, ""
}

// changes is the section that compares revisions.
type changes struct {
	comparison
	Problem string
	// Revisions are the numbers that can be compared, newest first.
	Revisions   []int
	Differences section[differences]
}

// offer sets the revisions that can be compared, and selects the two newest ones if none are.
func (c *changes) offer(t timeline) {
	for _, r := range t.revisions {
		if r.Unread == "" {
			c.Revisions = append(c.Revisions, r.Revision)
		}
	}
	if !c.asked() && len(c.Revisions) > 1 {
		c.From, c.To = c.Revisions[1], c.Revisions[0]
	}
}

// differences are the objects that differ.
type differences struct {
	Objects []difference
	// Open is true if all objects are shown open.
	Open bool
	// More is the number of lines that are left out.
	More int
}

// difference is an object that differs. Added and Removed are the numbers of lines.
type difference struct {
	manifest.Difference
	Added, Removed int
}

// differencesOf compares two revisions.
func differencesOf(from, to manifest.Side) differences {
	var all differences
	shown := 0
	for _, d := range manifest.Compare(from, to) {
		one := difference{Difference: d}
		for _, line := range d.Lines {
			switch lineClass(line) {
			case "add":
				one.Added++
			case "del":
				one.Removed++
			}
		}
		n := min(len(d.Lines), maxLines-shown)
		all.More += len(d.Lines) - n
		shown += n
		one.Lines = d.Lines[:n]
		all.Objects = append(all.Objects, one)
	}
	all.Open = shown <= maxOpen
	return all
}

// Summary returns the change and the numbers of lines in one phrase.
func (d difference) Summary() string {
	return fmt.Sprintf("%s, lines added: %d, removed: %d", d.Change, d.Added, d.Removed)
}

// lineClass returns the class of a line of a unified diff; empty for context.
func lineClass(line string) string {
	switch {
	case strings.HasPrefix(line, "@@"):
		return "hunk"
	case strings.HasPrefix(line, "+"):
		return "add"
	case strings.HasPrefix(line, "-"):
		return "del"
	}
	return ""
}
