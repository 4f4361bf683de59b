// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"strings"
	"testing"
)

// TestLogTail: no part of a line that was cut stays, because it may be half a secret.
func TestLogTail(t *testing.T) {
	var kept tail
	for range 3 {
		if _, err := kept.Write([]byte(strings.Repeat("x", logBytes/2) + "\nshort\n")); err != nil {
			t.Fatal(err)
		}
	}
	if len(kept.bytes) > logBytes || !strings.HasPrefix(string(kept.bytes), "short\n") {
		t.Errorf("%d bytes that begin with %.10q", len(kept.bytes), kept.bytes)
	}
	if _, err := kept.Write([]byte(strings.Repeat("y", 2*logBytes))); err != nil || len(kept.bytes) != 0 {
		t.Errorf("%d bytes of a line whose beginning was cut: %v", len(kept.bytes), err)
	}
}
