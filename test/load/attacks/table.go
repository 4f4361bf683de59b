// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/test/load/frame"
)

// shownMessage is the length after which the table cuts a message.
const shownMessage = 150

// line describes an outcome.
func (o outcome) line() string {
	text := fmt.Sprintf("%-34s %5.1f s %4.0f MiB  %s", o.attack.Name, o.took.Seconds(), o.peakMiB, o.condition())
	for _, b := range o.broken {
		text += "\n    BROKEN: " + b
	}
	return text
}

// condition returns the condition in one line, cut.
func (o outcome) condition() string {
	if o.got.Reason == "" {
		return "no condition"
	}
	message := strings.Join(strings.Fields(o.got.Message), " ")
	if len(message) > shownMessage {
		message = strings.ToValidUTF8(message[:shownMessage/2], "") + " ... " + strings.ToValidUTF8(message[len(message)-shownMessage/2:], "")
	}
	return fmt.Sprintf("%s/%s: %s", o.got.Status, o.got.Reason, message)
}

// tables returns a table for each phase with attacks.
func tables(phases []phase) string {
	var b strings.Builder
	for _, p := range phases {
		if len(p.outcomes) == 0 {
			continue
		}
		rows := [][]string{{p.name, "s", "MiB", "condition"}}
		for _, o := range p.outcomes {
			rows = append(rows, []string{o.attack.Name, fmt.Sprintf("%.1f", o.took.Seconds()), fmt.Sprintf("%.0f", o.peakMiB), o.condition()})
		}
		b.WriteString("\n" + frame.Markdown(rows, 3))
	}
	return b.String()
}

// failures returns the broken promises about single attacks and about healthy releases.
func failures(phases []phase) []string {
	var all []string
	for _, p := range phases {
		for _, o := range p.outcomes {
			for _, b := range o.broken {
				all = append(all, fmt.Sprintf("%s: %s: %s; got %s", p.name, o.attack.Name, b, o.condition()))
			}
		}
		for _, message := range slices.Compact(slices.Sorted(slices.Values(p.upgrades.failed))) {
			all = append(all, fmt.Sprintf("%s: a healthy release does not fail: %s", p.name, message))
		}
	}
	return all
}

// summary returns the end of the report.
func (a *arena) summary(phases []phase, broken []string, took time.Duration) string {
	var b strings.Builder
	rows := [][]string{{"upgrades of healthy releases", "number", "median s", "longest s"}}
	attacks := 0
	for _, p := range phases {
		attacks += len(p.outcomes)
		if times := p.upgrades.took; len(times) > 0 {
			rows = append(rows, []string{
				p.name, strconv.Itoa(len(times)), fmt.Sprintf("%.1f", frame.Median(times).Seconds()), fmt.Sprintf("%.1f", slices.Max(times).Seconds()),
			})
		}
	}
	b.WriteString("\n" + frame.Markdown(rows))
	highest, count, _ := a.memory.Peak() // its error is a broken promise
	fmt.Fprintf(&b, "\n%d attacks in %s, seed %d; at most %.0f MiB of %d MiB in %d measurements", attacks, took.Round(time.Second), a.Seed, highest, memoryLimit>>20, count)
	if a.group == nil {
		b.WriteString("; the kernel did not limit memory")
	} else if peak, err := a.group.peakMiB(); err == nil {
		fmt.Fprintf(&b, "; at most %.0f MiB with cached files, limited by the kernel", peak)
	}
	b.WriteString("\n")
	for _, text := range broken {
		fmt.Fprintf(&b, "BROKEN: %s\n", text)
	}
	return b.String()
}
