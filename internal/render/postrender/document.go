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

	"github.com/pintle-dev/pintle/internal/bounded"
)

const separator = "---"

// document is one document of a stream of YAML.
type document struct {
	// separator is the line before the document, empty if there is none.
	separator string
	text      string
	// root is nil if the document contains no object.
	root *object
}

// parse splits and decodes a manifest like the client that applies it. That client reads YAML 1.1,
// in which yes is a boolean and 010 is eight. kustomize's own parser differs.
func parse(manifest string) ([]document, error) {
	documents := split(manifest)
	for i := range documents {
		d := &documents[i]
		fields, err := decodeYAML(d.text, bounded.Manifest())
		if err != nil {
			return nil, fmt.Errorf("document %d%s: %w", i+1, d.source(), err)
		}
		if fields, ok := fields.(map[string]any); ok {
			d.root = newObject(fields, "", "")
		}
	}
	return documents, nil
}

// split splits a stream into documents, whose concatenation is the stream.
func split(manifest string) []document {
	var documents []document
	var current document
	// The text of current is manifest[start:end].
	start, end := 0, 0
	add := func() {
		if current.text = manifest[start:end]; current != (document{}) {
			documents = append(documents, current)
		}
	}
	for line := range strings.SplitAfterSeq(manifest, "\n") {
		end += len(line)
		if isSeparator(line) {
			end -= len(line)
			add()
			end += len(line)
			start, current = end, document{separator: line}
		}
	}
	add()
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

// preface returns the comments before the content of a document. The first one is Helm's, with the
// name of the template.
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

// source returns the name of the template in parentheses, empty if it is unknown.
func (d *document) source() string {
	for line := range strings.Lines(d.preface()) {
		if path, ok := strings.CutPrefix(line, "# Source: "); ok {
			return " (" + strings.TrimSpace(path) + ")"
		}
	}
	return ""
}

// write writes the document. A document without changes keeps its bytes.
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

// decodeYAML decodes one document to maps, slices, strings, bools, json.Numbers and nil.
func decodeYAML(text string, limits bounded.Limits) (any, error) {
	raw, err := limits.ToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	v, err := decodeJSON(raw)
	if err != nil {
		return nil, err
	}
	_, err = limits.CheckValue(v)
	return v, err
}

// decodeJSON decodes JSON with numbers as json.Number: a float64 loses the low digits of a large
// integer.
func decodeJSON(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return v, nil
}

// plain replaces json.Numbers in place by numbers of Go, since the printer would write a
// json.Number as a string. A conversion through JSON does not preserve all strings.
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
