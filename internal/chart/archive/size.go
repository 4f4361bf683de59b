// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import helmchart "helm.sh/helm/v3/pkg/chart"

// The approximate sizes of a file and of a value without their content: pointers, a header, and an
// entry of a map.
const (
	fileOverhead  = 64
	valueOverhead = 48
)

// SizeOf estimates the memory of a chart. Files that share memory count once.
func SizeOf(c *helmchart.Chart) int64 {
	var size int64
	seen := map[*byte]bool{}
	walk(c, func(f *helmchart.File) {
		size += fileOverhead
		if len(f.Data) > 0 && !seen[&f.Data[0]] {
			seen[&f.Data[0]] = true
			size += int64(len(f.Data))
		}
	}, func(c *helmchart.Chart) { size += sizeOfValue(c.Values) })
	return size
}

func sizeOfValue(value any) int64 {
	size := int64(valueOverhead)
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			size += int64(len(key)) + sizeOfValue(inner)
		}
	case []any:
		for _, inner := range v {
			size += sizeOfValue(inner)
		}
	case string:
		size += int64(len(v))
	}
	return size
}
