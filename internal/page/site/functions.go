// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"html/template"
	"time"
)

// functions are those that templates call.
func functions() template.FuncMap {
	return template.FuncMap{"time": rfc3339}
}

// rfc3339 returns a time as text; empty without one.
func rfc3339(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
