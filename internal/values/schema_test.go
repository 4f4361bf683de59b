// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"strings"
	"testing"

	helmchart "helm.sh/helm/v3/pkg/chart"
)

// TestCheckSchemas: references to other files or servers are errors, those within the schema are
// not.
func TestCheckSchemas(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ reason, schema, want string }{
		"None":        {"a chart without a schema passes", "", ""},
		"Plain":       {"a schema without references passes", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"id":{"type":"string"}}}`, ""},
		"Draft":       {"references to drafts of JSON Schema pass", `{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"http://json-schema.org/draft-07/schema#"}`, ""},
		"Inside":      {"references within the schema pass", `{"$defs":{"a":{"type":"string"}},"properties":{"b":{"$ref":"#/$defs/a"}}}`, ""},
		"Recursive":   {"a reference to the schema itself passes", `{"properties":{"b":{"$ref":"#"}}}`, ""},
		"OwnName":     {"a reference by the schema's own ID passes", `{"$id":"https://example.com/a.json","$defs":{"x":{"$id":"b.json"}},"properties":{"b":{"$ref":"b.json"}}}`, ""},
		"Value":       {"a constant is not a reference", `{"const":{"$ref":"http://example.com/x"},"properties":{"$ref":{"type":"string"}}}`, ""},
		"Noise":       {"an invalid schema is left to Helm", `{`, ""},
		"URN":         {"Helm accepts URNs", `{"$ref":"urn:thing"}`, ""},
		"HTTP":        {"a reference to a server is an error", `{"properties":{"b":{"$ref":"http://169.254.169.254/latest"}}}`, `refers to "http://169.254.169.254/latest"`},
		"HTTPS":       {"a reference over HTTPS is an error", `{"allOf":[{"$ref":"https://example.com/x.json#/a"}]}`, `refers to "https://example.com/x.json"`},
		"File":        {"a reference to a file is an error", `{"$ref":"file:///var/run/secrets/token"}`, `refers to "file:///var/run/secrets/token"`},
		"Relative":    {"a relative reference is an error", `{"$ref":"../etc/passwd"}`, `refers to "file:///etc/passwd"`},
		"Based":       {"a reference relative to an ID is an error", `{"$id":"http://example.com/a/","properties":{"b":{"$ref":"c.json"}}}`, `refers to "http://example.com/a/c.json"`},
		"OldBase":     {"a reference relative to an ID of old drafts is an error", `{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://example.com/a/","properties":{"b":{"$ref":"c.json"}}}`, `refers to "http://example.com/a/c.json"`},
		"Meta":        {"an unknown meta-schema is an error", `{"$schema":"http://example.com/meta.json"}`, `refers to "http://example.com/meta.json"`},
		"DynamicRef":  {"a dynamic reference is an error", `{"$schema":"https://json-schema.org/draft/2020-12/schema","$dynamicRef":"http://example.com/x#y"}`, `refers to "http://example.com/x"`},
		"LongAddress": {"long URLs are shortened", `{"$ref":"http://example.com/` + strings.Repeat("x", 1<<16) + `"}`, `xxx..." , which`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &helmchart.Chart{Metadata: &helmchart.Metadata{Name: "top"}}
			sub := &helmchart.Chart{Metadata: &helmchart.Metadata{Name: "sub"}, Schema: []byte(tc.schema)}
			c.AddDependency(sub)
			err := CheckSchemas(c)
			want := strings.ReplaceAll(tc.want, " ,", ",")
			if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "chart sub")) {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

// TestMisfit: the first value in the order of paths is named in one line, and the others are counted.
func TestMisfit(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	const typed = `{"properties":{"replicas":{"type":"integer"},"image":{"type":"object","required":["tag"],"properties":{"tag":{"type":"string"}}}}}`
	for name, tc := range map[string]struct {
		schema, below string
		values        m
		want          string
	}{
		"Fits":       {typed, "", m{"replicas": 1}, ""},
		"NoSchema":   {"", "", m{"replicas": "x"}, ""},
		"Type":       {typed, "", m{"replicas": "x"}, "chart web: /replicas: got string, want integer"},
		"Several":    {typed, "", m{"replicas": "x", "image": m{"tag": 7}}, "chart web: /image/tag: got number, want string (and 1 more)"},
		"Missing":    {`{"required":["a"]}`, "", m{}, "chart web: missing property 'a'"},
		"Below":      {typed, "", m{"image": m{}}, "chart web: /image: missing property 'tag'"},
		"Either":     {`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"object"}]}}}`, "", m{"a": 1}, "chart web: /a: got number, want object (and 1 more)"},
		"Reference":  {`{"$defs":{"s":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/s"}}}`, "", m{"a": 1}, "chart web: /a: got number, want string"},
		"Subchart":   {"", typed, m{"db": m{"replicas": "x"}}, "chart web/charts/db: /replicas: got string, want integer"},
		"Both":       {typed, typed, m{"replicas": "x", "db": m{"replicas": "x"}}, "chart web: /replicas: got string, want integer (and 1 more)"},
		"NoMap":      {"", typed, m{"db": "x"}, "chart web/charts/db: got string, want object"},
		"Unset":      {"", typed, m{}, ""},
		"Long":       {`{"properties":{"a":{"enum":["` + strings.Repeat("x", 1000) + `"]}}}`, "", m{"a": 1}, "..."},
		"Defect":     {`{"type":7}`, "", m{"replicas": "x"}, ""},
		"Noise":      {`{`, "", m{}, ""},
		"Outside":    {`{"$ref":"http://x/y"}`, "", m{}, ""},
		"URN":        {`{"$ref":"urn:thing"}`, "", m{}, ""},
		"Unresolved": {`{"$ref":"#/nowhere"}`, "", m{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := &helmchart.Chart{Metadata: &helmchart.Metadata{Name: "web"}, Schema: []byte(tc.schema)}
			c.AddDependency(&helmchart.Chart{Metadata: &helmchart.Metadata{Name: "db"}, Schema: []byte(tc.below)})
			got := ""
			for range 5 {
				before := got
				if err := Misfit(c, tc.values); err != nil {
					got = err.Error()
				}
				if before != "" && got != before {
					t.Fatalf("the message changes from %q to %q", before, got)
				}
			}
			switch {
			case tc.want == "..." && strings.HasSuffix(got, "...") && len(got) < 400:
			case tc.want == "" && got == "":
			case tc.want == "" || got != "values do not fit the schema of "+tc.want:
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
