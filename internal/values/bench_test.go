// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"encoding/json"
	"fmt"
	"testing"
)

// manyValues returns the values of a large chart: 40 parts of 12 values each.
func manyValues() map[string]any {
	all := map[string]any{}
	for i := range 40 {
		all[fmt.Sprintf("part-%d", i)] = map[string]any{
			"enabled": true, "replicas": 2.0, "image": map[string]any{"repository": "example.com/web", "tag": "1.2.3"},
			"env":       []any{map[string]any{"name": "A", "value": "b"}, map[string]any{"name": "C", "value": "d: e"}},
			"resources": map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "64Mi"}},
			"command":   "set -e\nexec web --port=8080\n",
		}
	}
	return all
}

func BenchmarkParse(b *testing.B) {
	raw, err := json.Marshal(manyValues())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMerge(b *testing.B) {
	over := manyValues()
	values := manyValues()
	b.ReportAllocs()
	for b.Loop() {
		Merge(values, over)
	}
}

func BenchmarkDigest(b *testing.B) {
	for name, values := range map[string]map[string]any{
		"few":  {"message": "hello", "replicas": 2},
		"many": manyValues(),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Digest(values); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
