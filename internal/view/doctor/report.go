// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"strings"
)

// Level is the importance of a finding.
type Level string

// The levels, from the least to the most important one.
const (
	// OK means that a check passed.
	OK Level = "OK"
	// Note is information.
	Note Level = "Note"
	// Unknown means that a check could not be made.
	Unknown Level = "Unknown"
	// Warning may lead to a surprise.
	Warning Level = "Warning"
	// Failed must be corrected.
	Failed Level = "Failed"
)

// Finding is the result of one check.
type Finding struct {
	Level Level `json:"level"`
	// Check is the subject, such as "CRDs".
	Check string `json:"check"`
	// What is the state, Meaning its consequence, and Do the remedy. The last two are empty if the
	// check passed.
	What    string   `json:"what"`
	Meaning string   `json:"meaning,omitempty"`
	Do      string   `json:"do,omitempty"`
	Objects []string `json:"objects,omitempty"`
}

// Report is the result of all checks.
type Report struct {
	Findings []Finding `json:"findings"`
	// Failed, Warnings and Unknown are numbers of findings.
	Failed   int `json:"failed"`
	Warnings int `json:"warnings"`
	Unknown  int `json:"unknown"`
}

// count returns "1 release" or "3 releases".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// list joins words with commas and "and".
func list(words []string) string {
	switch n := len(words); n {
	case 0:
		return ""
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}
