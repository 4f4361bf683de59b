// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package text

import "testing"

// TestDriftCell: a release whose live objects were not compared is not said to have none that differ.
func TestDriftCell(t *testing.T) {
	for status, want := range map[string]string{"True": "yes", "False": "no", "": "-", "Unknown": "unknown"} {
		if got := drift(status).text; got != want {
			t.Errorf("%q: %s, want %s", status, got, want)
		}
	}
}
