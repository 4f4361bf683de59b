// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

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

// Options configures the rendering of a chart.
type Options struct {
	// Config is the connection to the cluster for the function lookup; required.
	Config *rest.Config
	// EnableDNS enables the function getHostByName.
	EnableDNS bool
	// Limits limits the rendering; the zero value allows nothing.
	Limits Limits
	// Large is a semaphore for renderings that take much memory; nil means no limit. Its capacity
	// is the number of such renderings at a time.
	Large chan struct{}
}

// Sandbox renders one chart once. It is not safe for concurrent use.
type Sandbox struct {
	quota     *quota
	templates *template.Template
	// counter changes templates so that they count toward the quota.
	counter *counter
	chart   *helmchart.Chart
	scopes  []*scope
	err     error
}

// scope replaces the templates of a chart or subchart.
type scope struct {
	sandbox *Sandbox
	chart   *helmchart.Chart
	// templates and dependencies are the original fields of the chart.
	templates    []*helmchart.File
	dependencies []*helmchart.Dependency
}

// call is the text that replaces a template. Of the data that Helm passes to templates, only this
// field holds values of any type.
const call = `{{ (index (index .Chart.Dependencies %d).ImportValues 0).Render . }}`

// Enter parses the templates of a chart whose dependencies Helm has processed, and replaces them by
// calls of the sandbox. Until Leave restores them, the chart must only be rendered. The deadline of
// ctx limits the rendering. Cancellation does not end it.
func Enter(ctx context.Context, c *helmchart.Chart, o Options) (s *Sandbox, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("rendering template failed: %v", p)
		}
	}()
	s = &Sandbox{quota: newQuota(ctx, o.Limits, o.Large), chart: c}
	if err := s.parse(o); err != nil {
		return nil, err
	}
	s.replace(c)
	return s, nil
}

// parse parses all templates in Helm's order. The last of two templates with the same name wins.
func (s *Sandbox) parse(o Options) error {
	texts := map[string]string{}
	collect(s.chart, texts)
	s.templates = template.New("gotpl").Option("missingkey=zero")
	functions := s.functions(o)
	var err error
	if s.counter, err = newCounter(s.quota, functions); err != nil {
		return err
	}
	s.templates.Funcs(functions)
	for _, name := range inOrder(texts) {
		if _, err := s.templates.New(name).Parse(texts[name]); err != nil {
			return parseError(name, err)
		}
	}
	return s.counter.all(s.templates)
}

// collect adds the templates of a chart and its subcharts to texts, by the names that Helm gives
// them. Of library charts it adds partials only.
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

// isPartial reports whether a template is not rendered, but only included by others.
func isPartial(name string) bool { return strings.HasPrefix(path.Base(name), "_") }

// inOrder returns the names in the order in which Helm parses them, the deepest first.
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

// replace replaces the templates of a chart and its subcharts by calls of the sandbox.
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

// Leave restores the templates of the chart. It may be called more than once.
func (s *Sandbox) Leave() {
	for _, own := range s.scopes {
		own.chart.Templates, own.chart.Metadata.Dependencies = own.templates, own.dependencies
	}
	s.scopes = nil
	s.quota.release()
}

// Err returns the error of the last template that failed: Helm's text, or the limit that was
// exceeded. It returns nil if none failed.
func (s *Sandbox) Err() error { return s.err }

// errReported replaces errors toward Helm, which would add the location of the sandbox's call.
var errReported = errors.New("see Err")

// Render renders a template with the data that Helm passes to it. The data contains its name.
func (o *scope) Render(dot any) (string, error) {
	s := o.sandbox
	name := nameOf(dot)
	undo := hideSandbox(dot)
	defer undo()
	out := &writer{quota: s.quota}
	err := s.quota.enter(1)
	if err == nil {
		err = s.templates.ExecuteTemplate(out, name, dot)
		s.quota.exit(1)
	}
	switch {
	case s.quota.err != nil:
		s.err = fmt.Errorf("template %s: %w", name, s.quota.err)
	case err != nil:
		s.err = executionError(name, err)
	default:
		return out.String(), nil
	}
	return "", errReported
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

// hideSandbox restores the original charts in the data of a template while it runs.
func hideSandbox(dot any) (undo func()) {
	values, ok := asMap(dot)
	if !ok {
		return func() {}
	}
	undo = func() {}
	if shown, ok := restored(values["Chart"]); ok {
		ours := values["Chart"]
		values["Chart"] = shown
		undo = func() { values["Chart"] = ours }
	}
	subcharts, _ := asMap(values["Subcharts"])
	for _, sub := range subcharts {
		before, below := undo, hideSandbox(sub)
		undo = func() { before(); below() }
	}
	return undo
}

// asMap returns a map whose type converts to map[string]any. The result shares its entries with v.
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

// restored returns the chart in the data of a template with its original dependencies. The chart is
// a struct of an unnamed type.
func restored(shown any) (any, bool) {
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
