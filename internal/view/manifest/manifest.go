// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package manifest compares the objects of two manifests, without values of Secrets. It is pure.
package manifest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/internal/bounded"
	"github.com/pintle-dev/pintle/internal/redaction"
)

// Side is one of the two revisions that are compared.
type Side struct {
	Manifest string
	// Values are the values of the revision. They are compared like an object.
	Values map[string]any
	// Secrets are texts to redact.
	Secrets []string
}

// Difference is an object that differs.
type Difference struct {
	// Object is the object as kind and name, or "values".
	Object string `json:"object"`
	// Change is "added", "removed" or "changed".
	Change string `json:"change"`
	// Lines are a unified diff of the YAML, without its header.
	Lines []string `json:"lines"`
}

const (
	// contextLines is the number of equal lines around a change.
	contextLines = 3
	masked       = "***"
)

// Compare returns the objects and values that differ between two revisions, in the order of their
// kinds and names.
func Compare(from, to Side) []Difference {
	redactor := redaction.New(slices.Concat(from.Secrets, to.Secrets))
	before, after := documents(from), documents(to)
	maskSecrets(before, after)
	var keys []string
	for key := range before {
		keys = append(keys, key)
	}
	for key := range after {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var all []Difference
	for _, key := range slices.Compact(keys) {
		a, b := before[key].yaml(), after[key].yaml()
		if a == b {
			continue
		}
		d := Difference{Object: key, Change: "changed", Lines: diff(redactor.Text(a), redactor.Text(b))}
		switch {
		case before[key] == nil:
			d.Change = "added"
		case after[key] == nil:
			d.Change = "removed"
		}
		if len(d.Lines) == 0 {
			d.Lines = []string{"(only redacted texts differ)"}
		}
		all = append(all, d)
	}
	return all
}

// document is an object, or the values.
type document struct {
	content map[string]any
	// text is the document if it cannot be parsed.
	text string
}

func (d *document) yaml() string {
	switch {
	case d == nil:
		return ""
	case d.content == nil:
		return d.text
	}
	raw, err := yaml.Marshal(d.content)
	if err != nil {
		return d.text
	}
	return string(raw)
}

// documents returns the objects of a side by kind and name, and its values.
func documents(s Side) map[string]*document {
	all := map[string]*document{}
	for i, text := range split(s.Manifest) {
		var content map[string]any
		if err := bounded.Manifest().Unmarshal([]byte(text), &content); err != nil || len(content) == 0 {
			if strings.TrimSpace(text) != "" && err != nil {
				// It could be a Secret.
				all[fmt.Sprintf("document %d", i)] = &document{text: "(cannot be parsed)\n"}
			}
			continue
		}
		metadata, _ := content["metadata"].(map[string]any)
		namespace, _ := metadata["namespace"].(string)
		all[Key(fmt.Sprint(content["apiVersion"]), fmt.Sprint(content["kind"]), namespace, fmt.Sprint(metadata["name"]))] = &document{content: content}
	}
	if len(s.Values) > 0 {
		all["values"] = &document{content: s.Values}
	}
	return all
}

// Key returns the object of a Difference.
func Key(apiVersion, kind, namespace, name string) string {
	if namespace != "" {
		name = namespace + "/" + name
	}
	return fmt.Sprintf("%s %s (%s)", kind, name, apiVersion)
}

// Objects returns the objects of a manifest. Documents that cannot be parsed are left out.
func Objects(manifest string) []map[string]any {
	var all []map[string]any
	for _, text := range split(manifest) {
		var content map[string]any
		if bounded.Manifest().Unmarshal([]byte(text), &content) == nil && len(content) > 0 {
			all = append(all, content)
		}
	}
	return all
}

// split returns the documents of a manifest.
func split(manifest string) []string {
	var all []string
	var b strings.Builder
	for line := range strings.Lines(manifest) {
		if strings.HasPrefix(line, "---") {
			all = append(all, b.String())
			b.Reset()
			continue
		}
		b.WriteString(line)
	}
	return append(all, b.String())
}

// maskSecrets replaces the values of Secrets. A value that differs is marked on the new side.
func maskSecrets(before, after map[string]*document) {
	for _, field := range []string{"data", "stringData"} {
		for key, d := range after {
			if d.isSecret() {
				d.mask(field, before[key])
			}
		}
		for _, d := range before {
			if d.isSecret() {
				d.mask(field, nil)
			}
		}
	}
}

// mask replaces the values in a field of a Secret. The replacement marks values that differ from
// the former Secret, if there was one.
func (d *document) mask(field string, former *document) {
	var was any
	if former.isSecret() {
		was = former.content[field]
	}
	switch values := d.content[field].(type) {
	case nil:
	case map[string]any:
		old, _ := was.(map[string]any)
		for name, value := range values {
			values[name] = maskOf(old[name], value)
		}
	default:
		// The API server refuses such a Secret.
		d.content[field] = maskOf(was, values)
	}
}

func maskOf(was, is any) string {
	if was != nil && fmt.Sprint(was) != fmt.Sprint(is) {
		return masked + " (changed)"
	}
	return masked
}

func (d *document) isSecret() bool { return d != nil && d.content["kind"] == "Secret" }

// Text returns a unified diff of two texts without its header, redacted of secrets.
func Text(from, to string, secrets []string) []string {
	redactor := redaction.New(secrets)
	return diff(redactor.Text(from), redactor.Text(to))
}

// diff returns a unified diff without its header.
func diff(a, b string) []string {
	text, _ := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: lines(a), B: lines(b), Context: contextLines})
	var all []string
	for line := range strings.Lines(text) {
		all = append(all, strings.TrimRight(line, "\n"))
	}
	return all
}

func lines(text string) []string { return slices.Collect(strings.Lines(text)) }
