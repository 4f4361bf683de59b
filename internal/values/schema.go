// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	helmchart "helm.sh/helm/v3/pkg/chart"

	"github.com/pintle-dev/pintle/internal/brief"
)

// CheckSchemas returns an error if the schema of a chart or of a subchart refers to other files
// or servers. Helm would read them from the controller's file system and network. All other
// defects of a schema are left to Helm.
func CheckSchemas(c *helmchart.Chart) error {
	if len(c.Schema) > 0 {
		if url := externalReference(c.Schema); url != "" {
			return fmt.Errorf("values.schema.json of chart %s refers to %s, which is not read: a schema has to be complete", c.Name(), quoteURL(url))
		}
	}
	for _, sub := range c.Dependencies() {
		if err := CheckSchemas(sub); err != nil {
			return err
		}
	}
	return nil
}

// externalReference returns the first URL outside of a schema that it refers to, empty if there
// is none.
func externalReference(raw []byte) string {
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil || !mayReferOutside(schema) {
		return ""
	}
	loader := &noLoader{}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(loader)
	// Helm reads the schema under this name.
	const name = "file:///values.schema.json"
	if compiler.AddResource(name, schema) != nil {
		return loader.url
	}
	_, _ = compiler.Compile(name)
	return loader.url
}

// noLoader loads nothing, and stores the first URL that is requested.
type noLoader struct{ url string }

// Load implements jsonschema.URLLoader.
func (l *noLoader) Load(url string) (any, error) {
	// Helm resolves URNs to a schema that accepts everything.
	if strings.HasPrefix(url, "urn:") {
		return true, nil
	}
	if l.url == "" {
		l.url = url
	}
	return nil, fmt.Errorf("%s is not read", url)
}

// mayReferOutside reports whether a schema contains a string that could be a reference to
// another one. Few schemas do, and only those are compiled.
func mayReferOutside(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if text, ok := inner.(string); ok && strings.HasPrefix(key, "$") && key != "$comment" && !strings.HasPrefix(text, "#") && !isDraft(text) {
				return true
			}
			if mayReferOutside(inner) {
				return true
			}
		}
	case []any:
		for _, inner := range v {
			if mayReferOutside(inner) {
				return true
			}
		}
	}
	return false
}

// isDraft reports whether a URL identifies a draft of JSON Schema. The compiler contains these.
func isDraft(url string) bool {
	url = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(url, "https"), "http"), "#")
	switch url {
	case "://json-schema.org/schema", "://json-schema.org/draft-04/schema", "://json-schema.org/draft-06/schema", "://json-schema.org/draft-07/schema",
		"://json-schema.org/draft/2019-09/schema", "://json-schema.org/draft/2020-12/schema":
		return true
	}
	return false
}

// quoteURL quotes a URL and cuts it after 200 bytes: a chart's author may have made it as long
// as a megabyte.
func quoteURL(url string) string {
	return fmt.Sprintf("%q", brief.Cut(url, 200))
}

// maxMisfit is the maximum length in bytes of the text about one value: a schema may list a
// thousand permitted ones.
const maxMisfit = 300

// Misfit returns an error if values do not fit the schema of a chart or of a subchart. It names the
// first value in the order of their paths, and counts the others. Dependencies must be processed, and
// values must contain the defaults. Misfit ignores defects of schemas, which Helm reports, and reads
// no other files.
func Misfit(c *helmchart.Chart, all map[string]any) error {
	found := misfits(c, all)
	if len(found) == 0 {
		return nil
	}
	more := ""
	if n := len(found) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more)", n)
	}
	return fmt.Errorf("values do not fit the schema of chart %s: %s%s", found[0].chart, found[0].text, more)
}

// misfit is a value that does not fit the schema of a chart.
type misfit struct{ chart, text string }

// misfits returns the values that do not fit, by chart and path.
func misfits(c *helmchart.Chart, all map[string]any) []misfit {
	var found []misfit
	if len(c.Schema) > 0 {
		for _, text := range validate(c.Schema, all) {
			found = append(found, misfit{c.ChartFullPath(), text})
		}
	}
	for _, sub := range c.Dependencies() {
		raw, exists := all[sub.Name()]
		if !exists || raw == nil {
			continue
		}
		below, ok := raw.(map[string]any)
		if !ok {
			found = append(found, misfit{sub.ChartFullPath(), fmt.Sprintf("got %T, want object", raw)})
			continue
		}
		found = append(found, misfits(sub, below)...)
	}
	return found
}

// validate returns a text for each value that does not fit a schema, in the order of their paths.
func validate(raw []byte, all map[string]any) (texts []string) {
	// A schema may make the validator panic. Helm reports that, too.
	defer func() {
		if recover() != nil {
			texts = nil
		}
	}()
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(&noLoader{})
	const name = "file:///values.schema.json"
	if compiler.AddResource(name, schema) != nil {
		return nil
	}
	validator, err := compiler.Compile(name)
	if err != nil {
		return nil
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](validator.Validate(all))
	if !ok {
		return nil
	}
	texts = leaves(invalid)
	slices.Sort(texts)
	return slices.Compact(texts)
}

// leaves returns the text of each error that has no cause of its own. Their order is random.
func leaves(e *jsonschema.ValidationError) []string {
	if len(e.Causes) > 0 {
		var all []string
		for _, cause := range e.Causes {
			all = append(all, leaves(cause)...)
		}
		return all
	}
	// The validator has texts in no other language.
	text := e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	if len(e.InstanceLocation) > 0 {
		text = "/" + strings.Join(e.InstanceLocation, "/") + ": " + text
	}
	if len(text) > maxMisfit {
		text = strings.ToValidUTF8(text[:maxMisfit], "") + "..."
	}
	return []string{text}
}
