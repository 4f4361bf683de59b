// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// split returns the words of a line, separated by spaces outside quotes. Quotes stay.
func split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	quoted := false
	for _, c := range line {
		switch {
		case c == '"':
			quoted = !quoted
			word.WriteRune(c)
		case c == ' ' && !quoted:
			if word.Len() > 0 {
				words = append(words, word.String())
				word.Reset()
			}
		default:
			word.WriteRune(c)
		}
	}
	if quoted {
		return nil, fmt.Errorf("a quote is not closed in %s", line)
	}
	if word.Len() > 0 {
		words = append(words, word.String())
	}
	return words, nil
}

// arguments are the words after a verb: plain words and key=value.
type arguments []string

// at returns the i-th word without quotes; empty if there is none.
func (a arguments) at(i int) string {
	if i >= len(a) {
		return ""
	}
	return strings.Trim(a[i], `"`)
}

func (a arguments) has(word string) bool { return slices.Contains(a, word) }

func (a arguments) lookup(key string) (string, bool) {
	for _, word := range a {
		if v, ok := strings.CutPrefix(word, key+"="); ok {
			return strings.Trim(v, `"`), true
		}
	}
	return "", false
}

func (a arguments) value(key, otherwise string) string {
	if v, ok := a.lookup(key); ok {
		return v
	}
	return otherwise
}

func (a arguments) number(key string, otherwise int) (int, error) {
	v, ok := a.lookup(key)
	if !ok {
		return otherwise, nil
	}
	return strconv.Atoi(v)
}

// helm reads helm=ok, helm=running, helm=fail:"text", helm=timeout:"text" for a failure while
// waiting, helm=refuse:"text" for one before a revision is stored, and helm=outage:"text" and its
// variants. helm=crash:"text" is a failure while waiting for a container that logs the text and
// exits. With helm=deny:"text" dry runs deny objects, and an action that insists succeeds.
// server="name" names the server that does not answer, if it is not the API server. With
// helm=void nothing is done, since the plan no longer applies. With
// helm=large:90 the record has 90 % of the size limit.
func (a arguments) helm() (helmResult, error) {
	kind, text, _ := strings.Cut(a.value("helm", "ok"), ":")
	switch kind {
	case "ok", "running", "void":
		return helmResult{kind: kind}, nil
	case "large":
		percent, err := strconv.Atoi(text)
		return helmResult{kind: kind, percent: percent}, err
	case "outage", "outage-refused", "outage-lost":
		if text = strings.Trim(text, `"`); text == "" {
			text = "dial 10.0.0.1:443: connection refused"
		}
		return helmResult{kind: kind, text: text, server: a.value("server", "")}, nil
	case "fail", "timeout", "crash", "refuse", "deny":
		if text = strings.Trim(text, `"`); text == "" {
			text = "for some reason"
		}
		return helmResult{kind: kind, text: text}, nil
	}
	return helmResult{}, fmt.Errorf("unknown result %q of Helm", kind)
}
