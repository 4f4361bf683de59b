// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"strings"

	"github.com/pintle-dev/pintle/internal/brief"
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
	text = brief.Clauses(text, func(line string) string {
		return strings.TrimPrefix(strings.TrimSpace(listHead().ReplaceAllString(line, "")), "* ")
	})
	return oneLineError{text: text, cause: err}
}

// listHead matches the line above a list of errors.
func listHead() *regexp.Regexp { return regexp.MustCompile(`\d+ errors? occurred:\s*$`) }
