// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"path"
	"slices"
	template "text/template/parse"

	helmchart "helm.sh/helm/v3/pkg/chart"
)

// anotherTime differs from now in second, minute, hour, day of the week, day, month and year.
const anotherTime = `(now | date_modify "9677h23m41s")`

// ShiftTime makes the function now return another time in the templates of a chart. Output that
// depends on the time changes then, even if it usually changes only once a year. The chart must not
// be shared. ShiftTime changes neither the function ago nor templates in values.
func ShiftTime(c *helmchart.Chart) {
	walk(c, func(*helmchart.File) {}, func(c *helmchart.Chart) {
		for i, f := range c.Templates {
			if changed, ok := shiftTime(f); ok {
				// Other files of the chart may share the bytes.
				c.Templates[i] = &helmchart.File{Name: f.Name, Data: changed}
			}
		}
	})
}

// shiftTime returns the text of a template with calls of now replaced; false if there are none, or
// if it cannot be parsed.
func shiftTime(f *helmchart.File) ([]byte, bool) {
	const now = "now"
	if !bytes.Contains(f.Data, []byte(now)) {
		return nil, false
	}
	trees, err := parseTemplates(path.Base(f.Name), string(f.Data))
	if err != nil {
		return nil, false
	}
	var at []int
	for _, tree := range trees {
		if tree.Root == nil {
			continue
		}
		walkNode(tree.Root, func(n template.Node) {
			if f, ok := n.(*template.IdentifierNode); ok && f.Ident == now {
				at = append(at, int(f.Pos))
			}
		})
	}
	slices.Sort(at)
	var changed []byte
	end := 0
	for _, pos := range slices.Compact(at) {
		if pos < end || !bytes.HasPrefix(f.Data[pos:], []byte(now)) {
			return nil, false
		}
		changed = append(append(changed, f.Data[end:pos]...), anotherTime...)
		end = pos + len(now)
	}
	return append(changed, f.Data[end:]...), len(at) > 0
}
