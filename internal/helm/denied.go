// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"regexp"
	"strings"
)

// denied is what somebody may not do, said in a line.
type denied struct {
	text  string
	cause error
}

// Error implements error.
func (d denied) Error() string { return d.text }

// Unwrap returns the error that was said otherwise.
func (d denied) Unwrap() error { return d.cause }

// inLine says in one line that an API server forbids something: it goes into
// conditions, and whoever reads them in a table should see who may not do what.
// Helm and others put several errors one below the other, and the API server does so
// with the rights that somebody lacks. All other errors are as they are.
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
