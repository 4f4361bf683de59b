// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	printer "go.yaml.in/yaml/v2"
	"sigs.k8s.io/yaml"
)

const separator = "---"

// document is one document of a stream of YAML.
type document struct {
	// separator is the line before it, if there is one.
	separator string
	text      string
	// root is nil if the document holds no object.
	root *object
}

// parse reads a manifest as the client that will apply it does: with the same
// separators, and the same idea of what YAML means. That is YAML 1.1, in which
// yes is a boolean and 010 is eight; kustomize's own parser disagrees.
func parse(manifest string) ([]document, error) {
	documents := split(manifest)
	for i := range documents {
		d := &documents[i]
		fields, err := decodeYAML(d.text)
		if err != nil {
			return nil, fmt.Errorf("document %d%s: %w", i+1, d.source(), err)
		}
		if fields, ok := fields.(map[string]any); ok {
			d.root = newObject(fields, "", "")
		}
	}
	return documents, nil
}

// split cuts a stream into documents, which put together are the stream again.
func split(manifest string) []document {
	var documents []document
	var current document
	for line := range strings.SplitAfterSeq(manifest, "\n") {
		if isSeparator(line) {
			if current != (document{}) {
				documents = append(documents, current)
			}
			current = document{separator: line}
			continue
		}
		current.text += line
	}
	if current != (document{}) {
		documents = append(documents, current)
	}
	return documents
}

func isSeparator(line string) bool {
	rest, ok := strings.CutPrefix(line, separator)
	if !ok {
		return false
	}
	rest = strings.TrimSpace(rest)
	return rest == "" || strings.HasPrefix(rest, "#")
}

// preface returns the comments before the content of a document. The first of
// them is Helm's, and says which template it is from.
func (d *document) preface() string {
	end := 0
	for line := range strings.SplitAfterSeq(d.text, "\n") {
		if trimmed := strings.TrimSpace(line); trimmed != "" && trimmed[0] != '#' {
			break
		}
		end += len(line)
	}
	return d.text[:end]
}

func (d *document) source() string {
	for line := range strings.Lines(d.preface()) {
		if path, ok := strings.CutPrefix(line, "# Source: "); ok {
			return " (" + strings.TrimSpace(path) + ")"
		}
	}
	return ""
}

// write writes the document as it was if nothing in it changed.
func (d *document) write(out *strings.Builder) error {
	if d.root == nil || !d.root.touched() {
		out.WriteString(d.separator)
		out.WriteString(d.text)
		return nil
	}
	fields := d.root.assemble()
	if fields == nil {
		return nil
	}
	raw, err := printer.Marshal(plain(fields))
	if err != nil {
		return fmt.Errorf("%s: %w", d.root, err)
	}
	out.WriteString(d.separator)
	out.WriteString(d.preface())
	out.Write(raw)
	return nil
}

// decodeYAML reads one document; it returns maps, slices, strings, booleans,
// json.Numbers and nil.
func decodeYAML(text string) (any, error) {
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	return decodeJSON(raw)
}

// decodeJSON keeps numbers as they are written: a float would forget the low
// digits of a large one.
func decodeJSON(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return v, nil
}

// plain turns numbers into those of Go, in place: the printer would take a
// json.Number for a string. The detour by JSON that would spare us this is not
// open to all strings.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			v[k] = plain(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = plain(inner)
		}
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n
		}
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return n
		}
		n, _ := v.Float64()
		return n
	}
	return v
}
