// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"
	"time"
)

// TestHealth plays sequences of answers: b is bad, g is good, p is an answered probe, and . is a
// pause of five minutes.
func TestHealth(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		answers string
		want    bool
	}{
		{"", false},
		{"b", false},
		{"bb", false},
		{"bbb", true},
		{"bbbbbbbbg", false},
		{"ggggggggbbb", true},
		{"bgbgbgbgb", true},
		{"bggbggbggbggbggbggbgg", false},
		{"bb.b", false},
		{"bbb.", true},
		{"bbb.b", false},
		{"bbbp", false},
		{"bbbpb", true},
		{"bbbpgb", false},
		{"p", false},
		{"bpbb", true},
	} {
		var h health
		now := time.Unix(1000, 0)
		for i, c := range tc.answers {
			switch c {
			case 'p':
				h.RecordProbe()
			case '.':
				now = now.Add(healthMemory)
			default:
				h.Observe(readAnswer{Path: "/" + tc.answers[:i], At: now, Bad: c == 'b'})
			}
		}
		path, is := h.Suspect()
		if is != tc.want || is && path == "" {
			t.Errorf("%s: %q, %t", tc.answers, path, is)
		}
	}
}

// TestPath: the path is that of the last bad answer.
func TestPath(t *testing.T) {
	t.Parallel()
	var h health
	for _, path := range []string{"/a", "/b", "/c"} {
		h.Observe(readAnswer{Path: path, Bad: true, At: time.Unix(1, 0)})
	}
	if path, is := h.Suspect(); path != "/c" || !is {
		t.Errorf("%q, %t", path, is)
	}
}
