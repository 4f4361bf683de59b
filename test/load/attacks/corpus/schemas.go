// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"fmt"
	"strings"
)

// schema returns a chart with a schema and one harmless template. Its defaults are in values.
func schema(text, values string) func() []byte {
	return func() []byte {
		return pack(
			entry{name: Chart + "/values.schema.json", content: text},
			entry{name: Chart + "/values.yaml", content: values},
			entry{name: Chart + "/templates/configmap.yaml", content: object},
		)
	}
}

func schemas() []Attack {
	var properties []string
	for i := range 60_000 {
		properties = append(properties, fmt.Sprintf(`"p%d":{"type":"object","properties":{"a":{"type":"string"}}}`, i))
	}
	// Each level has two alternatives, and both are the next level.
	var levels []string
	for i := range 40 {
		levels = append(levels, fmt.Sprintf(`"l%d":{"allOf":[{"$ref":"#/definitions/l%d"},{"$ref":"#/definitions/l%d"}]}`, i, i+1, i+1))
	}
	levels = append(levels, `"l40":{"type":"object"}`)
	deep := strings.Repeat(`{"properties":{"a":`, 4000) + "{}" + strings.Repeat("}}", 4000)
	return []Attack{
		{Name: "schemas/recursive-reference", Archive: schema(`{"$ref":"#"}`, "a: 1\n"), Outcome: failed("evil")},
		{Name: "schemas/recursive-definitions", Archive: schema(`{"$ref":"#/definitions/a","definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}}}`, "a: 1\n"), Outcome: failed("evil")},
		{Name: "schemas/exponential", Archive: schema(`{"$ref":"#/definitions/l0","definitions":{`+strings.Join(levels, ",")+"}}", "a: 1\n"), Outcome: died(overtime, memory)},
		{Name: "schemas/pattern", Archive: schema(`{"properties":{"a":{"pattern":"((x{1,30}){1,30})*y"}}}`, "a: "+strings.Repeat("x", 1<<20)+"\n"), Outcome: died(overtime)},
		{Name: "schemas/unique-items", Archive: schema(`{"properties":{"a":{"uniqueItems":true}}}`, "a: ["+strings.Repeat("[1,[2,[3]]],", 100_000)+"]\n"), Outcome: failed("evil")},
		{Name: "schemas/remote-reference", Archive: schema(`{"$ref":"http://127.0.0.1:1/schema.json"}`, "a: 1\n"), Outcome: failed("values.schema.json of chart evil", "http://127.0.0.1:1/schema.json", "which is not read")},
		{Name: "schemas/file-reference", Archive: schema(`{"$ref":"file:///etc/passwd"}`, "a: 1\n"), Outcome: failed("values.schema.json of chart evil", "file:///etc/passwd", "which is not read")},
		{Name: "schemas/huge", Archive: schema(`{"properties":{`+strings.Join(properties, ",")+"}}", "a: 1\n"), Outcome: died(memory, overtime)},
		{Name: "schemas/deep", Archive: schema(deep, "a: 1\n"), Outcome: died(overtime, memory, stack)},
	}
}
