// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package brief shortens text for messages. Charts, servers and users may write a megabyte, in any
// bytes.
package brief

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Cut returns a text of at most n bytes, which ends with "..." if it was longer. A character at the
// cut is removed entirely.
func Cut(text string, n int) string {
	const more = "..."
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n-len(more)], "") + more
}

// Middle returns a text of at most n bytes, with "..." in place of its middle if it was longer: an error
// begins with what failed, and ends with why.
func Middle(text string, n int) string {
	const more = "..."
	if len(text) <= n {
		return text
	}
	first := (n - len(more)) / 2
	last := n - len(more) - first
	return strings.TrimSpace(strings.ToValidUTF8(text[:first], "")) + more + strings.TrimSpace(strings.ToValidUTF8(text[len(text)-last:], ""))
}

// Line returns a text in one line: white space and control characters become single spaces, and bytes
// that are no UTF-8 become U+FFFD.
func Line(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// Clauses returns the lines of a text as clauses of one line. A line that introduces others ends with
// a colon. edit, if set, changes each line before. A text of one line stays as it is, and so does each
// line but for the space around it: the redactor looks for secrets line by line.
func Clauses(text string, edit func(line string) string) string {
	if !strings.ContainsAny(text, "\r\n") {
		return text
	}
	var b strings.Builder
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if edit != nil {
			line = edit(line)
		}
		line = strings.TrimSpace(line)
		switch written := b.String(); {
		case line == "":
			continue
		case written == "":
		case strings.HasSuffix(written, ":"):
			b.WriteString(" ")
		default:
			b.WriteString("; ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// List joins the first n texts, and counts the others: "a, b and 3 more".
func List(texts []string, n int) string {
	list := strings.Join(texts[:min(len(texts), n)], ", ")
	if more := len(texts) - n; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// Denial removes the resource, the group, the namespace and the name of the object from the message of an API
// server about something forbidden, for texts that name the object already. Other messages do not change.
func Denial(message string) string {
	_, why, found := strings.Cut(message, "\" is forbidden: ")
	if !found {
		return message
	}
	if m := unauthorized.FindStringSubmatch(why); m != nil {
		return who(m[1]) + " cannot " + m[2] + " " + strings.TrimSuffix(m[3]+"."+m[4], ".")
	}
	return binding.ReplaceAllString(why, "$1")
}

var (
	unauthorized = regexp.MustCompile(`^User "([^"]+)" cannot (\S+) resource "([^"]+)" in API group "([^"]*)"`)
	// binding is of no help to a user: the policy states the rule.
	binding = regexp.MustCompile(`^(ValidatingAdmissionPolicy '[^']+') with binding '[^']+'`)
)

// who returns a user for readers; ServiceAccounts as "ServiceAccount <namespace>/<name>".
func who(user string) string {
	account, ok := strings.CutPrefix(user, "system:serviceaccount:")
	if namespace, name, found := strings.Cut(account, ":"); ok && found {
		return "ServiceAccount " + namespace + "/" + name
	}
	return "User " + user
}
