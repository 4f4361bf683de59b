// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pintle-dev/pintle/internal/bounded"
)

// The limits of paths. Content at a path may contain further assignments, to which they apply too.
const (
	// maxListIndex limits the index of one list. An index creates all elements before it. Helm
	// allows 65536, which a text of a megabyte can repeat 75,000 times.
	maxListIndex = 10_000
	// maxElements limits the number of assignments and list elements of all paths of a release.
	maxElements = 100_000
	// maxPathDepth limits the maps and lists in one path. Helm limits maps to 30, and lists not.
	maxPathDepth = 60
)

// checkPath adds an assignment in the notation of Helm's --set to the budget, before Helm runs it.
func (b *Budget) checkPath(path, content string) error {
	if err := b.use(bounded.Size{Bytes: len(path) + len(content)}); err != nil {
		return err
	}
	n := notation{text: path + "=" + content, budget: b}
	for n.text != "" && n.err == nil {
		if !n.key() {
			break
		}
		n.value()
	}
	return n.err
}

// notation reads assignments as Helm does. It stops without an error where Helm reports one.
type notation struct {
	// text is the part that is left.
	text   string
	budget *Budget
	// err is the exceeded limit; nil if there is none.
	err error
}

// key reads one key up to its value. It returns false if there is no value.
func (n *notation) key() bool {
	last := '.'
	for range maxPathDepth + 1 {
		var name string
		switch last {
		case '.':
			_, last = n.until("=[,.")
		case '[':
			if !n.index() {
				return false
			}
			if name, last = n.until("=[."); name != "" {
				return false
			}
		case '=':
			return n.use(1)
		default:
			return false
		}
	}
	n.err = bounded.Exceeded("there are more than %d levels", maxPathDepth)
	return false
}

// index reads an index and the bracket after it. It returns false if Helm rejects it.
func (n *notation) index() bool {
	text, _ := n.until("]")
	i, err := strconv.Atoi(text)
	switch {
	case err != nil || i < 0:
		return false
	case i > maxListIndex:
		n.err = bounded.Exceeded("a list index is greater than %d", maxListIndex)
		return false
	}
	return n.use(i + 1)
}

// value reads one value and the comma after it.
func (n *notation) value() {
	list, ok := strings.CutPrefix(n.text, "{")
	if !ok {
		n.until(",")
		return
	}
	n.text = list
	for n.use(1) {
		if _, last := n.until(",}"); last != ',' {
			break
		}
	}
	n.text = strings.TrimPrefix(n.text, ",")
}

// use adds elements to the budget.
func (n *notation) use(elements int) bool {
	if n.budget.elements += elements; n.budget.elements > maxElements {
		n.err = bounded.Exceeded("all target paths of the release together set more than %d list elements", maxElements)
		return false
	}
	return true
}

// until reads up to one of the characters in stop, and returns the text before it and the
// character. The character is zero at the end of the text. A backslash escapes the next character.
func (n *notation) until(stop string) (string, rune) {
	var before strings.Builder
	for n.text != "" {
		r := n.next()
		if strings.ContainsRune(stop, r) {
			return before.String(), r
		}
		if r == '\\' && n.text != "" {
			r = n.next()
		}
		before.WriteRune(r)
	}
	return before.String(), 0
}

func (n *notation) next() rune {
	r, size := utf8.DecodeRuneInString(n.text)
	n.text = n.text[size:]
	return r
}
