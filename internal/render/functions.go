// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"github.com/BurntSushi/toml"
	"github.com/Masterminds/sprig/v3"
	"helm.sh/helm/v3/pkg/engine"
	yamlv3 "sigs.k8s.io/yaml/goyaml.v3"

	"sigs.k8s.io/yaml"
)

// functions returns what templates can call: what Helm has, metered.
func (s *Sandbox) functions(o Options) template.FuncMap {
	all := sprig.TxtFuncMap()
	delete(all, "env")
	delete(all, "expandenv")
	for name, f := range formats() {
		all[name] = f
	}
	for name, f := range builtins() {
		all[name] = f
	}
	all["lookup"] = s.lookup(o)
	if !o.EnableDNS {
		all["getHostByName"] = func(string) string { return "" }
	}
	guesses := estimates()
	for name, f := range all {
		all[name] = s.meter.metered(name, f, guesses[strings.TrimPrefix(name, "must")])
	}
	included := map[string]int{}
	all["include"] = s.include(s.templates, included)
	all["tpl"] = s.tpl(s.templates, included)
	all["required"] = required
	all["fail"] = func(message string) (string, error) { return "", errors.New(marked(message)) }
	return all
}

// builtins are those functions of templates that write values of any size.
func builtins() template.FuncMap {
	return template.FuncMap{
		"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper,
		"print": fmt.Sprint, "printf": fmt.Sprintf, "println": fmt.Sprintln,
	}
}

func (s *Sandbox) lookup(o Options) any {
	ask := engine.NewLookupFunction(o.Config)
	return func(apiVersion, kind, namespace, name string) (map[string]any, error) {
		// It takes a hundred thousand times as long as any other function.
		if err := s.meter.step(costOfLookup); err != nil {
			return nil, err
		}
		found, err := ask(apiVersion, kind, namespace, name)
		if err != nil {
			return found, err
		}
		sum, err := s.meter.weigh(found)
		if err != nil {
			return nil, err
		}
		return found, s.meter.bytes(sum)
	}
}

const (
	costOfLookup = 5_000
	// sameName is how often a template may be included inside of itself: Helm's limit.
	sameName = 1000
	// ofInclude is how much stack a function takes that renders, in blocks.
	ofInclude = 8
	noValue   = "<no value>"
)

// include renders a template into another. Once a limit is exceeded it returns
// nothing instead of an error, and whatever is done next fails: thousands of
// templates in each other would each add their words to the error, and keep those of
// the others.
func (s *Sandbox) include(t *template.Template, included map[string]int) any {
	return func(name string, data any) (string, error) {
		if included[name] > sameName {
			return "", fmt.Errorf("rendering template has a nested reference name: %s: unable to execute template", name)
		}
		included[name]++
		defer func() { included[name]-- }()
		if err := s.meter.enter(ofInclude); err != nil {
			return "", err
		}
		defer s.meter.exit(ofInclude)
		out := &inner{meter: s.meter}
		err := t.ExecuteTemplate(out, name, data)
		if s.meter.err != nil {
			return "", nil
		}
		return out.String(), err
	}
}

// tpl renders a text as a template that knows the others, and whose own nobody else
// gets to know.
func (s *Sandbox) tpl(parent *template.Template, included map[string]int) any {
	return func(text string, data any) (string, error) {
		if err := s.meter.enter(ofInclude); err != nil {
			return "", err
		}
		defer s.meter.exit(ofInclude)
		// Every known template is copied, if not its tree.
		if err := s.meter.bytes(int64(len(text)) + 64*int64(s.known())); err != nil {
			return "", err
		}
		if err := shallow(text); err != nil {
			return "", s.meter.exceeded("%w", err)
		}
		t, err := parent.Clone()
		if err != nil {
			return "", fmt.Errorf("cannot clone template: %w", err)
		}
		t.Option("missingkey=zero")
		t.Funcs(template.FuncMap{"include": s.include(t, included), "tpl": s.tpl(t, included)})
		if t, err = t.New(parent.Name()).Parse(text); err != nil {
			return "", fmt.Errorf("cannot parse template %q: %w", text, err)
		}
		if err := s.instrumented.all(t); err != nil {
			return "", err
		}
		out := &inner{meter: s.meter}
		err = t.Execute(out, data)
		if s.meter.err != nil {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("error during tpl function execution for %q: %w", text, err)
		}
		return strings.ReplaceAll(out.String(), noValue, ""), nil
	}
}

func (s *Sandbox) known() int { return len(s.templates.Templates()) }

// shallow refuses what takes too much stack to be parsed.
func shallow(text string) error {
	const mostBlocks = 10_000
	if strings.Count(text, "{{") > mostBlocks {
		return fmt.Errorf("tpl is called with a text of more than %d actions", mostBlocks)
	}
	return nil
}

func required(warning string, value any) (any, error) {
	if text, ok := value.(string); value == nil || ok && text == "" {
		return value, errors.New(marked(warning))
	}
	return value, nil
}

// What a chart's author says goes wrong is between these, so that it can be told
// from where it was said.
const (
	beginWarning = "HELM_ERR_START"
	endWarning   = "HELM_ERR_END"
)

func marked(warning string) string { return beginWarning + warning + endWarning }

// parseError words an error as Helm does.
func parseError(file string, err error) error {
	parts := strings.Split(err.Error(), ": ")
	if len(parts) == 1 {
		return fmt.Errorf("parse error in (%s): %w", file, err)
	}
	return fmt.Errorf("parse error at (%s): %s", parts[1], parts[len(parts)-1])
}

func executionError(file string, err error) error {
	//nolint:errorlint // Helm does not look into what is wrapped either.
	if _, ok := err.(template.ExecError); !ok {
		return err
	}
	parts := strings.SplitN(err.Error(), ": ", 3)
	if len(parts) != 3 {
		return fmt.Errorf("execution error in (%s): %w", file, err)
	}
	begin, end := strings.Index(parts[2], beginWarning), strings.LastIndex(parts[2], endWarning)
	if begin >= 0 && end >= begin+len(beginWarning) {
		return fmt.Errorf("execution error at (%s): %s", parts[1], parts[2][begin+len(beginWarning):end])
	}
	return err
}

// formats read and write texts. None of them fails: where there is no room for an
// error, nothing is written.
func formats() template.FuncMap {
	return template.FuncMap{
		"toYaml": func(v any) string {
			raw, err := yaml.Marshal(v)
			return unless(err, strings.TrimSuffix(string(raw), "\n"))
		},
		"toYamlPretty": func(v any) string {
			var out bytes.Buffer
			e := yamlv3.NewEncoder(&out)
			e.SetIndent(2)
			err := e.Encode(v)
			return unless(err, strings.TrimSuffix(out.String(), "\n"))
		},
		"toJson": func(v any) string {
			raw, err := json.Marshal(v)
			return unless(err, string(raw))
		},
		"toToml": func(v any) string {
			var out bytes.Buffer
			if err := toml.NewEncoder(&out).Encode(v); err != nil {
				return err.Error()
			}
			return out.String()
		},
		"fromYaml":      func(text string) map[string]any { return readMap(text, readYAML) },
		"fromJson":      func(text string) map[string]any { return readMap(text, json.Unmarshal) },
		"fromToml":      func(text string) map[string]any { return readMap(text, toml.Unmarshal) },
		"fromYamlArray": func(text string) []any { return readList(text, readYAML) },
		"fromJsonArray": func(text string) []any { return readList(text, json.Unmarshal) },
	}
}

func unless(err error, text string) string {
	if err != nil {
		return ""
	}
	return text
}

func readYAML(raw []byte, into any) error { return yaml.Unmarshal(raw, into) }

func readMap(text string, read func([]byte, any) error) map[string]any {
	m := map[string]any{}
	if err := read([]byte(text), &m); err != nil {
		m["Error"] = err.Error()
	}
	return m
}

func readList(text string, read func([]byte, any) error) []any {
	list := []any{}
	if err := read([]byte(text), &list); err != nil {
		list = []any{err.Error()}
	}
	return list
}
