// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	helmchart "helm.sh/helm/v3/pkg/chart"
)

// CheckSchemas returns an error if the schema of a chart, or of a subchart, refers
// to other files or servers: Helm reads what they refer to, as the controller and
// from wherever it runs. Whatever else is wrong with a schema is for Helm to say.
func CheckSchemas(c *helmchart.Chart) error {
	var refused error
	walk(c, func(*helmchart.File) {}, func(c *helmchart.Chart) {
		if refused != nil || len(c.Schema) == 0 {
			return
		}
		if elsewhere := outsideOf(c.Schema); elsewhere != "" {
			refused = fmt.Errorf("values.schema.json of chart %s refers to %s, which is not read: a schema has to be complete", c.Name(), brief(elsewhere))
		}
	})
	return refused
}

// outsideOf returns what a schema refers to beside itself, empty if nothing.
func outsideOf(raw []byte) string {
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil || !mayLeave(schema) {
		return ""
	}
	asked := &noLoader{}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(asked)
	// The name under which Helm reads it.
	const name = "file:///values.schema.json"
	if compiler.AddResource(name, schema) != nil {
		return asked.url
	}
	_, _ = compiler.Compile(name)
	return asked.url
}

// noLoader loads nothing, and remembers what it was asked for first.
type noLoader struct{ url string }

// Load implements jsonschema.URLLoader.
func (l *noLoader) Load(url string) (any, error) {
	// Helm resolves no names, and says so by letting everything pass.
	if strings.HasPrefix(url, "urn:") {
		return true, nil
	}
	if l.url == "" {
		l.url = url
	}
	return nil, fmt.Errorf("%s is not read", url)
}

// mayLeave reports whether anything in a schema could be a reference to another:
// most schemas are through here.
func mayLeave(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if text, ok := inner.(string); ok && strings.HasPrefix(key, "$") && key != "$comment" && !strings.HasPrefix(text, "#") && !isDraft(text) {
				return true
			}
			if mayLeave(inner) {
				return true
			}
		}
	case []any:
		for _, inner := range v {
			if mayLeave(inner) {
				return true
			}
		}
	}
	return false
}

// isDraft reports whether a URL is that of a draft of JSON Schema, which need not be
// read.
func isDraft(url string) bool {
	url = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(url, "https"), "http"), "#")
	switch url {
	case "://json-schema.org/schema", "://json-schema.org/draft-04/schema", "://json-schema.org/draft-06/schema", "://json-schema.org/draft-07/schema",
		"://json-schema.org/draft/2019-09/schema", "://json-schema.org/draft/2020-12/schema":
		return true
	}
	return false
}
