// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"testing"

	helmchart "helm.sh/helm/v3/pkg/chart"
)

// TestSizeOf: shared memory counts once, and values count.
func TestSizeOf(t *testing.T) {
	t.Parallel()
	data := make([]byte, 1000)
	sub := &helmchart.Chart{Raw: []*helmchart.File{{Data: data}}}
	c := &helmchart.Chart{
		Raw: []*helmchart.File{{Data: data}}, Templates: []*helmchart.File{{Data: data}}, Files: []*helmchart.File{{Data: make([]byte, 10)}},
		Values: map[string]any{"key": []any{"value", 1.0}},
	}
	c.AddDependency(sub)
	want := int64(1000 + 10 + 4*fileOverhead + len("key") + len("value") + 5*valueOverhead)
	if got := SizeOf(c); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}
