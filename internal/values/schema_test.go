// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"strings"
	"testing"

	helmchart "helm.sh/helm/v3/pkg/chart"
)

// TestCheckSchemas: a schema is complete, whatever it calls itself.
func TestCheckSchemas(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ reason, schema, want string }{
		"None":        {"no schema refers to nothing", "", ""},
		"Plain":       {"nor does a usual one", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"id":{"type":"string"}}}`, ""},
		"Draft":       {"drafts are known", `{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"http://json-schema.org/draft-07/schema#"}`, ""},
		"Inside":      {"a schema refers to its own parts", `{"$defs":{"a":{"type":"string"}},"properties":{"b":{"$ref":"#/$defs/a"}}}`, ""},
		"Recursive":   {"and to itself", `{"properties":{"b":{"$ref":"#"}}}`, ""},
		"OwnName":     {"by its name too", `{"$id":"https://example.com/a.json","$defs":{"x":{"$id":"b.json"}},"properties":{"b":{"$ref":"b.json"}}}`, ""},
		"Value":       {"a value is no reference", `{"const":{"$ref":"http://example.com/x"},"properties":{"$ref":{"type":"string"}}}`, ""},
		"Noise":       {"what is no schema is for Helm to refuse", `{`, ""},
		"URN":         {"Helm lets names pass", `{"$ref":"urn:thing"}`, ""},
		"HTTP":        {"other servers are not asked", `{"properties":{"b":{"$ref":"http://169.254.169.254/latest"}}}`, `refers to "http://169.254.169.254/latest"`},
		"HTTPS":       {"by any protocol", `{"allOf":[{"$ref":"https://example.com/x.json#/a"}]}`, `refers to "https://example.com/x.json"`},
		"File":        {"files are not read", `{"$ref":"file:///var/run/secrets/token"}`, `refers to "file:///var/run/secrets/token"`},
		"Relative":    {"however they are named", `{"$ref":"../etc/passwd"}`, `refers to "file:///etc/passwd"`},
		"Based":       {"nor what a base makes a URL of", `{"$id":"http://example.com/a/","properties":{"b":{"$ref":"c.json"}}}`, `refers to "http://example.com/a/c.json"`},
		"OldBase":     {"in old drafts as well", `{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://example.com/a/","properties":{"b":{"$ref":"c.json"}}}`, `refers to "http://example.com/a/c.json"`},
		"Meta":        {"a schema for schemas is not read either", `{"$schema":"http://example.com/meta.json"}`, `refers to "http://example.com/meta.json"`},
		"DynamicRef":  {"other references are some too", `{"$schema":"https://json-schema.org/draft/2020-12/schema","$dynamicRef":"http://example.com/x#y"}`, `refers to "http://example.com/x"`},
		"LongAddress": {"addresses are shortened", `{"$ref":"http://example.com/` + strings.Repeat("x", 1<<16) + `"}`, `xxx..." , which`},
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
