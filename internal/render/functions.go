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

// functions returns the functions of Helm's templates, limited by the quota.
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
	bounds := estimates()
	for name, f := range all {
		all[name] = s.quota.limited(name, f, bounds[strings.TrimPrefix(name, "must")])
	}
	included := map[string]int{}
	all["include"] = s.include(s.templates, included)
	all["tpl"] = s.tpl(s.templates, included)
	all["required"] = required
	all["fail"] = func(message string) (string, error) { return "", errors.New(marked(message)) }
	return all
}

// builtins returns the functions of text/template that write values of any size.
func builtins() template.FuncMap {
	return template.FuncMap{
		"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper,
		"print": fmt.Sprint, "printf": fmt.Sprintf, "println": fmt.Sprintln,
	}
}

func (s *Sandbox) lookup(o Options) any {
	get := engine.NewLookupFunction(o.Config)
	return func(apiVersion, kind, namespace, name string) (map[string]any, error) {
		// A lookup takes about a hundred thousand times as long as other functions.
		if err := s.quota.useSteps(lookupSteps); err != nil {
			return nil, err
		}
		found, err := get(apiVersion, kind, namespace, name)
		if err != nil {
			return found, err
		}
		sum, err := s.quota.sizeOf(found)
		if err != nil {
			return nil, err
		}
		return found, s.quota.useBytes(sum)
	}
}

const (
	lookupSteps = 5_000
	// maxSameName is Helm's limit for includes of a template within itself.
	maxSameName = 1000
	// includeDepth is the stack that include and tpl use, in blocks.
	includeDepth = 8
	noValue      = "<no value>"
)

// include returns the function include. After a limit is exceeded it returns an empty string and no
// error, and the next counted operation fails. Otherwise thousands of nested templates would each
// wrap the error of the others.
func (s *Sandbox) include(t *template.Template, included map[string]int) any {
	return func(name string, data any) (string, error) {
		if included[name] > maxSameName {
			return "", fmt.Errorf("rendering template has a nested reference name: %s: unable to execute template", name)
		}
		included[name]++
		defer func() { included[name]-- }()
		if err := s.quota.enter(includeDepth); err != nil {
			return "", err
		}
		defer s.quota.exit(includeDepth)
		out := &includeWriter{quota: s.quota}
		err := t.ExecuteTemplate(out, name, data)
		if s.quota.err != nil {
			return "", nil
		}
		return out.String(), err
	}
}

// tpl returns the function tpl, which renders a text as a template. The text may use all templates
// of the chart. Templates that it defines are not visible to others.
func (s *Sandbox) tpl(parent *template.Template, included map[string]int) any {
	return func(text string, data any) (string, error) {
		if err := s.quota.enter(includeDepth); err != nil {
			return "", err
		}
		defer s.quota.exit(includeDepth)
		// Clone copies an entry for each template, but not its tree.
		if err := s.quota.useBytes(int64(len(text)) + 64*int64(s.templateCount())); err != nil {
			return "", err
		}
		if err := checkText(text); err != nil {
			return "", s.quota.exceeded("%w", err)
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
		if err := s.counter.all(t); err != nil {
			return "", err
		}
		out := &includeWriter{quota: s.quota}
		err = t.Execute(out, data)
		if s.quota.err != nil {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("error during tpl function execution for %q: %w", text, err)
		}
		return strings.ReplaceAll(out.String(), noValue, ""), nil
	}
}

func (s *Sandbox) templateCount() int { return len(s.templates.Templates()) }

// checkText rejects texts whose parsing uses too much stack.
func checkText(text string) error {
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

// These marks enclose an error message of a chart's author, as in Helm, so that the message can be
// separated from the location.
const (
	beginWarning = "HELM_ERR_START"
	endWarning   = "HELM_ERR_END"
)

func marked(warning string) string { return beginWarning + warning + endWarning }

// parseError returns the error of parsing a template with Helm's text.
func parseError(file string, err error) error {
	parts := strings.Split(err.Error(), ": ")
	if len(parts) == 1 {
		return fmt.Errorf("parse error in (%s): %w", file, err)
	}
	return fmt.Errorf("parse error at (%s): %s", parts[1], parts[len(parts)-1])
}

// executionError returns the error of executing a template with Helm's text.
func executionError(file string, err error) error {
	//nolint:errorlint // Helm does not unwrap the error either.
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

// formats returns Helm's functions that read and write formats. None of them fails. Like Helm's,
// they return the error as a value, or an empty string.
func formats() template.FuncMap {
	return template.FuncMap{
		"toYaml": func(v any) string {
			raw, err := yaml.Marshal(v)
			return emptyOn(err, strings.TrimSuffix(string(raw), "\n"))
		},
		"toYamlPretty": func(v any) string {
			var out bytes.Buffer
			e := yamlv3.NewEncoder(&out)
			e.SetIndent(2)
			err := e.Encode(v)
			return emptyOn(err, strings.TrimSuffix(out.String(), "\n"))
		},
		"toJson": func(v any) string {
			raw, err := json.Marshal(v)
			return emptyOn(err, string(raw))
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

// emptyOn returns text, or the empty string if there is an error.
func emptyOn(err error, text string) string {
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
