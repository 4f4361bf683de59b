// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bounded

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

const (
	// MaxPattern limits the length of one regular expression, in bytes.
	MaxPattern = 4096
	// MaxPatternCost limits the cost of one regular expression. Go alone allows millions of
	// instructions, which take hundreds of megabytes and seconds.
	MaxPatternCost = 10_000
	// maxPatternsCost limits the sum of the costs of all regular expressions in one list.
	maxPatternsCost = 50_000

	// rangeCost is the cost of a range if case is ignored: each character of it is looked up.
	rangeCost = 200
	// classCost is the cost of a Unicode class while the pattern is parsed.
	classCost = 100
	// runesPerCost is the number of bounds of character ranges that cost one.
	runesPerCost = 8
)

// Patterns compiles regular expressions whose costs have a common limit. The zero value is ready
// for use. It is not safe for concurrent use.
type Patterns struct{ cost int }

// Compile compiles a regular expression as regexp.Compile does. An error that is no *Error is about
// the syntax of the pattern.
func (p *Patterns) Compile(pattern string) (*regexp.Regexp, error) {
	if err := p.Check(pattern); err != nil {
		return nil, err
	}
	return regexp.Compile(pattern)
}

// Check adds a regular expression. It returns the error that Compile would return, and compiles
// nothing.
func (p *Patterns) Check(pattern string) error {
	cost, err := PatternCost(pattern)
	if err != nil {
		return err
	}
	if p.cost += cost; p.cost > maxPatternsCost {
		return Exceeded("the regular expressions together cost %d, more than %d", p.cost, maxPatternsCost)
	}
	return nil
}

// PatternCost returns the cost of a regular expression without compiling it: its length, an upper
// bound of its instructions, and the size of its character classes. It returns an *Error if the
// pattern exceeds a limit, and the error of the parser if it is invalid.
func PatternCost(pattern string) (int, error) {
	if len(pattern) > MaxPattern {
		return 0, Exceeded("the regular expression has %d bytes, more than %d", len(pattern), MaxPattern)
	}
	cost := len(pattern) + classCost*(strings.Count(pattern, `\p`)+strings.Count(pattern, `\P`))
	if ignoresCase(pattern) {
		cost += rangeCost * strings.Count(pattern, "-")
	}
	if cost > MaxPatternCost {
		return 0, tooCostly()
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	// The first instruction is for a failure, the last for a match.
	if cost += instructions(parsed) + 2; cost > MaxPatternCost {
		return 0, tooCostly()
	}
	return cost, nil
}

func tooCostly() *Error {
	return Exceeded("the regular expression costs more than %d: it has too many repetitions or character ranges", MaxPatternCost)
}

// ignoresCase reports whether a group of flags of a pattern contains i. It may be mistaken in
// quoted text, which only adds to the cost.
func ignoresCase(pattern string) bool {
	for {
		_, rest, found := strings.Cut(pattern, "(?")
		if !found {
			return false
		}
		flags := rest
		if end := strings.IndexAny(rest, ":)<"); end >= 0 {
			flags = rest[:end]
		}
		if strings.Contains(flags, "i") {
			return true
		}
		pattern = rest
	}
}

// instructions returns an upper bound of the instructions of an expression, once its repetitions
// are expanded, and of the cost of its classes. It stops above MaxPatternCost.
func instructions(re *syntax.Regexp) int {
	sum := 0
	for _, sub := range re.Sub {
		if sum += instructions(sub); sum > MaxPatternCost {
			return sum
		}
	}
	//exhaustive:ignore
	switch re.Op {
	case syntax.OpLiteral:
		return max(1, len(re.Rune))
	case syntax.OpCharClass:
		return 1 + len(re.Rune)/runesPerCost
	case syntax.OpConcat, syntax.OpAlternate:
		return sum + len(re.Sub) + 1
	case syntax.OpRepeat:
		// A copy for each required match, and one in nested optional groups for each other.
		return max(re.Min, re.Max, 1)*(sum+1) + 2
	}
	// A group has two instructions, and a loop over what may be empty has three.
	return sum + 3
}
