// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"testing"

	"helm.sh/helm/v3/pkg/chart"
)

// TestContentOf: the digest depends on the names and the data of the files, and not on their order.
func TestContentOf(t *testing.T) {
	t.Parallel()
	of := func(files ...string) string {
		c := &chart.Chart{}
		for i := 0; i < len(files); i += 2 {
			c.Raw = append(c.Raw, &chart.File{Name: files[i], Data: []byte(files[i+1])})
		}
		return ContentOf(c)
	}
	want := of("a", "1", "b", "2")
	if got := of("b", "2", "a", "1"); got != want {
		t.Error("the order counts")
	}
	for name, other := range map[string]string{
		"data": of("a", "1", "b", "3"), "name": of("a", "1", "c", "2"), "less": of("a", "1"), "joined": of("a", "1b2"), "swapped": of("a", "2", "b", "1"),
	} {
		if other == want {
			t.Errorf("%s: another chart has the same content", name)
		}
	}
}
