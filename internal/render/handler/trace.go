// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package handler

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"text/template/parse"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/pintle-dev/pintle/internal/render/remote"
	"github.com/pintle-dev/pintle/internal/values"
	"github.com/pintle-dev/pintle/internal/worker"
)

// marks report which template Helm renders, for traced calls. Helm's engine has no hook but the
// client of lookup, so each template begins with a lookup that has no output. It is answered here,
// and takes a multiple of the time of a small template.
type marks struct {
	// group is the API group of the lookups. Templates cannot know it.
	group string
	// originals are the templates without marks, by those with marks. The end has none.
	originals map[*helmchart.File]*helmchart.File
	note      func(string)
}

// mark adds marks to a chart with its subcharts.
func mark(ctx context.Context, c *helmchart.Chart) *marks {
	m := &marks{
		group: strings.ToLower(rand.Text()) + ".invalid", originals: map[*helmchart.File]*helmchart.File{},
		note: func(note string) { worker.Note(ctx, note) },
	}
	m.add(c)
	// Helm renders the template with the shortest path last.
	end := &helmchart.File{Name: "!" + m.group, Data: []byte(m.lookup(`"end"`))}
	m.originals[end] = nil
	c.Templates = append(c.Templates, end)
	return m
}

// lookup returns an action without output for a name, which is an expression.
func (m *marks) lookup(name string) string {
	return fmt.Sprintf(`{{if lookup "%s/v1" "Template" "" %s}}{{end}}`, m.group, name)
}

func (m *marks) add(c *helmchart.Chart) {
	// A template that another one includes is rendered for that one, which .Template names.
	begin := []byte("{{with .Template}}" + m.lookup("(b32enc .Name)") + "{{end}}")
	c.Templates = slices.Clone(c.Templates)
	for i, f := range c.Templates {
		name := path.Join(c.ChartFullPath(), f.Name)
		m.note("template " + name)
		if strings.HasPrefix(path.Base(name), "_") || isBlank(f.Data) {
			continue
		}
		marked := &helmchart.File{Name: f.Name, Data: slices.Concat(begin, f.Data)}
		m.originals[marked], c.Templates[i] = f, marked
	}
	for _, sub := range c.Dependencies() {
		m.add(sub)
	}
}

// isBlank reports whether a template has nothing but definitions and blanks, or cannot be parsed. A
// blank one does not replace another template of its name.
func isBlank(text []byte) bool {
	tree := parse.New("")
	tree.Mode = parse.SkipFuncCheck
	_, err := tree.Parse(string(text), "", "", map[string]*parse.Tree{})
	return err != nil || parse.IsEmptyTree(tree.Root)
}

// remove removes the marks from a chart that Helm has rendered. Helm has copied charts that have an
// alias.
func (m *marks) remove(c *helmchart.Chart) {
	if m == nil {
		return
	}
	var all []*helmchart.File
	for _, f := range c.Templates {
		if original, marked := m.originals[f]; marked {
			f = original
		}
		if f != nil {
			all = append(all, f)
		}
	}
	c.Templates = all
	for _, sub := range c.Dependencies() {
		m.remove(sub)
	}
}

// answer answers the request of a mark. It returns false for all others.
func (m *marks) answer(at string) (remote.Answer, bool) {
	if m == nil {
		return remote.Answer{}, false
	}
	name, found := strings.CutPrefix(at, "/apis/"+m.group+"/v1")
	if !found {
		return remote.Answer{}, false
	}
	a := remote.Answer{Status: http.StatusOK, ContentType: "application/json"}
	if name == "" {
		a.Body = fmt.Appendf(nil, `{"kind":"APIResourceList","groupVersion":"%s/v1","resources":[{"name":"templates","kind":"Template"}]}`, m.group)
		return a, true
	}
	template, err := base32.StdEncoding.DecodeString(strings.TrimPrefix(name, "/templates/"))
	if err == nil {
		m.note("template " + string(template))
	} else {
		m.note("reading the rendered manifests")
	}
	a.Status, a.Body = http.StatusNotFound, []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	return a, true
}

// validateSchemas validates values with the schema of each chart before Helm does, and reports the
// charts. It changes the chart and the values.
func validateSchemas(ctx context.Context, c *helmchart.Chart, all map[string]any) {
	if chartutil.ProcessDependenciesWithMerge(c, all) != nil || values.CheckSchemas(c) != nil {
		return
	}
	if merged, err := chartutil.CoalesceValues(c, all); err == nil {
		validateSchema(ctx, c, merged)
	}
}

func validateSchema(ctx context.Context, c *helmchart.Chart, all map[string]any) {
	if len(c.Schema) > 0 {
		worker.Note(ctx, "the schema of chart "+c.ChartFullPath())
		_ = chartutil.ValidateAgainstSingleSchema(all, c.Schema) // Helm returns the error again
	}
	for _, sub := range c.Dependencies() {
		below, _ := all[sub.Name()].(map[string]any)
		validateSchema(ctx, sub, below)
	}
}
