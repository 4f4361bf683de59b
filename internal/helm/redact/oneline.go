// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"strings"
)

// oneLineError is an error about a missing permission, in one line.
type oneLineError struct {
	text  string
	cause error
}

// Error implements error.
func (e oneLineError) Error() string { return e.text }

// Unwrap returns the original error.
func (e oneLineError) Unwrap() error { return e.cause }

// OneLine returns an error about a missing permission in one line, and other errors unchanged. The
// error becomes the message of a condition, which kubectl prints in a table. Helm and the API
// server write several errors below each other.
func OneLine(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if !strings.Contains(text, "\n") || !strings.Contains(text, " is forbidden: ") {
		return err
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimSpace(listHead().ReplaceAllString(line, "")), "* ")
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
	return oneLineError{text: b.String(), cause: err}
}

// listHead matches the line above a list of errors.
func listHead() *regexp.Regexp { return regexp.MustCompile(`\d+ errors? occurred:\s*$`) }
