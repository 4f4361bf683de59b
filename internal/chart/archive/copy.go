// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"maps"
	"slices"

	helmchart "helm.sh/helm/v3/pkg/chart"

	"github.com/pintle-dev/pintle/internal/values"
)

// Copy returns a deep copy of a chart that has no parent. Helm changes the chart that it renders, so
// a shared chart would carry the values of one release into another.
func Copy(c *helmchart.Chart) *helmchart.Chart {
	return copier{}.chart(c)
}

// Twin returns a copy of a chart that has no parent and shares the files of the chart.
func Twin(c *helmchart.Chart) *helmchart.Chart {
	out := &helmchart.Chart{
		Raw: c.Raw, Metadata: metadata(c.Metadata), Lock: c.Lock, Templates: c.Templates, Schema: c.Schema, Files: c.Files,
		Values: values.CloneMap(c.Values),
	}
	for _, sub := range c.Dependencies() {
		out.AddDependency(Twin(sub))
	}
	return out
}

// copier maps the first byte of each file to its copy. In charts most files occur several times
// with the same memory: as a template and raw, in the parent and in the subchart.
type copier map[*byte][]byte

func (m copier) chart(c *helmchart.Chart) *helmchart.Chart {
	out := &helmchart.Chart{
		Raw:       m.files(c.Raw),
		Metadata:  metadata(c.Metadata),
		Lock:      lock(c.Lock),
		Templates: m.files(c.Templates),
		Schema:    m.bytes(c.Schema),
		Files:     m.files(c.Files),
	}
	if c.Values != nil {
		out.Values, _ = values.Clone(c.Values).(map[string]any)
	}
	for _, sub := range c.Dependencies() {
		out.AddDependency(m.chart(sub))
	}
	return out
}

func (m copier) files(files []*helmchart.File) []*helmchart.File {
	out := slices.Clone(files)
	for i, f := range files {
		out[i] = &helmchart.File{Name: f.Name, Data: m.bytes(f.Data)}
	}
	return out
}

func (m copier) bytes(data []byte) []byte {
	if len(data) == 0 {
		return slices.Clone(data)
	}
	first := &data[0]
	if done, ok := m[first]; ok && len(done) == len(data) {
		return done
	}
	m[first] = slices.Clone(data)
	return m[first]
}

func metadata(md *helmchart.Metadata) *helmchart.Metadata {
	if md == nil {
		return nil
	}
	out := *md
	out.Sources = slices.Clone(md.Sources)
	out.Keywords = slices.Clone(md.Keywords)
	out.Annotations = maps.Clone(md.Annotations)
	out.Maintainers = slices.Clone(md.Maintainers)
	for i, m := range md.Maintainers {
		if m != nil {
			own := *m
			out.Maintainers[i] = &own
		}
	}
	out.Dependencies = dependencies(md.Dependencies)
	return &out
}

func lock(l *helmchart.Lock) *helmchart.Lock {
	if l == nil {
		return nil
	}
	out := *l
	out.Dependencies = dependencies(l.Dependencies)
	return &out
}

func dependencies(list []*helmchart.Dependency) []*helmchart.Dependency {
	out := slices.Clone(list)
	for i, d := range list {
		if d == nil {
			continue
		}
		own := *d
		own.Tags = slices.Clone(d.Tags)
		own.ImportValues = slices.Clone(d.ImportValues)
		for j, v := range d.ImportValues {
			own.ImportValues[j] = values.Clone(v)
		}
		out[i] = &own
	}
	return out
}

// walk calls file for each file of a chart and its subcharts, and each for each of these charts.
func walk(c *helmchart.Chart, file func(*helmchart.File), each func(*helmchart.Chart)) {
	each(c)
	for _, files := range [][]*helmchart.File{c.Raw, c.Templates, c.Files} {
		for _, f := range files {
			file(f)
		}
	}
	for _, sub := range c.Dependencies() {
		walk(sub, file, each)
	}
}
