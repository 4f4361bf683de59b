// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"regexp"
	"strings"
)

// denied is an error about a missing permission, in one line.
type denied struct {
	text  string
	cause error
}

// Error implements error.
func (d denied) Error() string { return d.text }

// Unwrap returns the error that was said otherwise.
func (d denied) Unwrap() error { return d.cause }

// inLine returns an error about a missing permission in one line: it goes into conditions,
// which kubectl prints in a table. Helm and the API server write several errors below each
// other. Other errors are returned unchanged.
func inLine(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if !strings.Contains(text, "\n") || !strings.Contains(text, " is forbidden: ") {
		return err
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimSpace(counted().ReplaceAllString(line, "")), "* ")
		switch said := b.String(); {
		case line == "":
			continue
		case said == "":
		case strings.HasSuffix(said, ":"):
			b.WriteString(" ")
		default:
			b.WriteString("; ")
		}
		b.WriteString(line)
	}
	return denied{text: b.String(), cause: err}
}

// counted is how a list of errors is announced.
func counted() *regexp.Regexp { return regexp.MustCompile(`\d+ errors? occurred:\s*$`) }
