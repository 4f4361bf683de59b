// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"encoding/json"
	"strings"
)

// openAPI answers that every kind supports server-side field validation. Helm checks that before
// it creates a hook.
func openAPI(path string) (string, bool) {
	gv, ok := strings.CutPrefix(path, "/openapi/v3")
	if !ok {
		return "", false
	}
	type object = map[string]any
	paths := object{}
	for known, entries := range resources() {
		prefix := "apis/"
		if known == "v1" {
			prefix = "api/"
		}
		if gv == "" {
			paths[prefix+known] = object{"serverRelativeURL": "/openapi/v3/" + prefix + known}
			continue
		}
		if gv != "/"+prefix+known {
			continue
		}
		group, version, grouped := strings.Cut(known, "/")
		if !grouped {
			group, version = "", known
		}
		for _, e := range entries {
			var resource struct{ Name, Kind string }
			if err := json.Unmarshal([]byte(e), &resource); err != nil {
				panic(err)
			}
			paths["/"+resource.Name] = object{"patch": object{
				"parameters":                      []any{object{"name": "fieldValidation", "in": "query"}},
				"x-kubernetes-group-version-kind": object{"group": group, "version": version, "kind": resource.Kind},
			}}
		}
	}
	raw, err := json.Marshal(object{"openapi": "3.0.0", "paths": paths})
	if err != nil {
		panic(err)
	}
	return string(raw), true
}
