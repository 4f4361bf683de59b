// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package render renders the templates of charts as Helm does, to the letter, but
// within limits: templates are programs that anybody may have written, and Go
// cannot end a goroutine from outside.
//
// Helm goes on to prepare the values, to decide which templates there are and in
// which order, and to sort what comes of them. In the place of each template it
// finds one that calls this package, with all that Helm hands to templates.
package render

import (
	"context"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"text/template"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"k8s.io/client-go/rest"
)

// Options say how a chart is rendered.
type Options struct {
	// Config leads to the cluster that templates may look objects up in; required.
	Config *rest.Config
	// EnableDNS lets templates look up names.
	EnableDNS bool
	// Limits of what rendering may take.
	Limits Limits
	// Large, if set, is held while rendering takes more than a little memory, so that
	// as many charts as it has room for do so at a time.
	Large chan struct{}
}

// Sandbox renders one chart, once. It must be used by one goroutine at a time.
type Sandbox struct {
	meter     *meter
	templates *template.Template
	// instrumented are the trees that count their steps.
	instrumented *instruments
	chart        *helmchart.Chart
	scopes       []*scope
	err          error
}

// scope stands in for the templates of a chart or a subchart.
type scope struct {
	sandbox *Sandbox
	chart   *helmchart.Chart
	// templates and dependencies are the chart's own.
	templates    []*helmchart.File
	dependencies []*helmchart.Dependency
}

// call is what stands in the place of a template. Only this field of all that Helm
// hands to templates holds values of any type.
const call = `{{ (index (index .Chart.Dependencies %d).ImportValues 0).Render . }}`

// Enter reads the templates of a chart, whose dependencies Helm has processed, and
// puts calls of the sandbox in their place. Leave gives them back; until then the
// chart is good for nothing but to be rendered. The deadline of ctx is that of
// the rendering; that it is cancelled is of no interest.
func Enter(ctx context.Context, c *helmchart.Chart, o Options) (s *Sandbox, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("rendering template failed: %v", p)
		}
	}()
	s = &Sandbox{meter: newMeter(ctx, o.Limits, o.Large), chart: c}
	if err := s.parse(o); err != nil {
		return nil, err
	}
	s.replace(c)
	return s, nil
}

// parse reads all templates in Helm's order: of two of the same name, the last
// counts.
func (s *Sandbox) parse(o Options) error {
	texts := map[string]string{}
	collect(s.chart, texts)
	s.templates = template.New("gotpl").Option("missingkey=zero")
	functions := s.functions(o)
	var err error
	if s.instrumented, err = newInstruments(s.meter, functions); err != nil {
		return err
	}
	s.templates.Funcs(functions)
	for _, name := range inOrder(texts) {
		if _, err := s.templates.New(name).Parse(texts[name]); err != nil {
			return parseError(name, err)
		}
	}
	return s.instrumented.all(s.templates)
}

// collect gathers templates by the name that Helm gives them. Of libraries, only
// what others include counts.
func collect(c *helmchart.Chart, texts map[string]string) {
	for _, sub := range c.Dependencies() {
		collect(sub, texts)
	}
	library := strings.EqualFold(c.Metadata.Type, "library")
	for _, t := range c.Templates {
		if t != nil && (!library || isPartial(t.Name)) {
			texts[path.Join(c.ChartFullPath(), t.Name)] = string(t.Data)
		}
	}
}

// isPartial reports whether a template is there to be included only.
func isPartial(name string) bool { return strings.HasPrefix(path.Base(name), "_") }

// inOrder returns the names in the order in which Helm reads them: the deepest
// first.
func inOrder(texts map[string]string) []string {
	names := make([]string, 0, len(texts))
	for name := range texts {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if deeper := strings.Count(b, "/") - strings.Count(a, "/"); deeper != 0 {
			return deeper
		}
		return strings.Compare(b, a)
	})
	return names
}

func (s *Sandbox) replace(c *helmchart.Chart) {
	own := &scope{sandbox: s, chart: c, templates: c.Templates, dependencies: c.Metadata.Dependencies}
	s.scopes = append(s.scopes, own)
	text := fmt.Appendf(nil, call, len(own.dependencies))
	c.Templates = nil
	for _, t := range own.templates {
		if t != nil && !isPartial(t.Name) {
			c.Templates = append(c.Templates, &helmchart.File{Name: t.Name, Data: text})
		}
	}
	c.Metadata.Dependencies = append(slices.Clip(slices.Clone(own.dependencies)), &helmchart.Dependency{ImportValues: []any{own}})
	for _, sub := range c.Dependencies() {
		s.replace(sub)
	}
}

// Leave gives the chart its templates back. It may be called more than once.
func (s *Sandbox) Leave() {
	for _, own := range s.scopes {
		own.chart.Templates, own.chart.Metadata.Dependencies = own.templates, own.dependencies
	}
	s.scopes = nil
	s.meter.leave()
}

// Err returns what is wrong with a template, as Helm would have said it, or which
// limit it exceeded; nil if nothing was.
func (s *Sandbox) Err() error { return s.err }

// errElsewhere is what Helm gets to know of an error: it would add where the call
// of the sandbox stands.
var errElsewhere = errors.New("see Err")

// Render renders a template with what Helm hands to it, which also says which one it
// is.
func (o *scope) Render(dot any) (string, error) {
	s := o.sandbox
	name := nameOf(dot)
	undo := disguise(dot)
	defer undo()
	out := &writer{meter: s.meter}
	err := s.meter.enter(1)
	if err == nil {
		err = s.templates.ExecuteTemplate(out, name, dot)
		s.meter.exit(1)
	}
	switch {
	case s.meter.err != nil:
		s.err = fmt.Errorf("template %s: %w", name, s.meter.err)
	case err != nil:
		s.err = executionError(name, err)
	default:
		return out.String(), nil
	}
	return "", errElsewhere
}

func nameOf(dot any) string {
	values := reflect.ValueOf(dot)
	if values.Kind() != reflect.Map {
		return ""
	}
	described := values.MapIndex(reflect.ValueOf("Template"))
	for described.IsValid() && described.Kind() == reflect.Interface {
		described = described.Elem()
	}
	if !described.IsValid() || described.Kind() != reflect.Map {
		return ""
	}
	name, _ := described.MapIndex(reflect.ValueOf("Name")).Interface().(string)
	return name
}

// disguise shows templates their charts as they would be without the sandbox, for
// as long as one of them runs.
func disguise(dot any) (undo func()) {
	values, ok := asMap(dot)
	if !ok {
		return func() {}
	}
	undo = func() {}
	if shown, ok := undisguised(values["Chart"]); ok {
		ours := values["Chart"]
		values["Chart"] = shown
		undo = func() { values["Chart"] = ours }
	}
	subcharts, _ := asMap(values["Subcharts"])
	for _, sub := range subcharts {
		before, below := undo, disguise(sub)
		undo = func() { before(); below() }
	}
	return undo
}

// asMap returns a map of any type that is written like this one, itself.
func asMap(v any) (map[string]any, bool) {
	if m, ok := v.(map[string]any); ok {
		return m, true
	}
	r, t := reflect.ValueOf(v), reflect.TypeFor[map[string]any]()
	if !r.IsValid() || r.Kind() != reflect.Map || !r.CanConvert(t) {
		return nil, false
	}
	m, ok := r.Convert(t).Interface().(map[string]any)
	return m, ok
}

// undisguised returns a chart as templates see it, which is a struct of a type
// without a name, with its own dependencies.
func undisguised(shown any) (any, bool) {
	v := reflect.ValueOf(shown)
	if v.Kind() != reflect.Struct {
		return nil, false
	}
	field := v.FieldByName("Metadata")
	if !field.IsValid() {
		return nil, false
	}
	described, ok := field.Interface().(helmchart.Metadata)
	if !ok || len(described.Dependencies) == 0 {
		return nil, false
	}
	last := described.Dependencies[len(described.Dependencies)-1]
	if last == nil || len(last.ImportValues) != 1 {
		return nil, false
	}
	own, ok := last.ImportValues[0].(*scope)
	if !ok {
		return nil, false
	}
	described.Dependencies = own.dependencies
	copied := reflect.New(v.Type()).Elem()
	copied.Set(v)
	copied.FieldByName("Metadata").Set(reflect.ValueOf(described))
	return copied.Interface(), true
}
