// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apitest

// setApplied sets the managedFields of the answer to an apply: the entry of its field manager.
func setApplied(answer map[string]any, manager string, fields map[string]any) {
	metadata, _ := answer["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		answer["metadata"] = metadata
	}
	metadata["managedFields"] = []any{map[string]any{
		"manager": manager, "operation": "Apply", "apiVersion": answer["apiVersion"], "fieldsType": "FieldsV1", "fieldsV1": fields,
	}}
}

// fieldsOf returns the fields of an applied object as in managedFields. Lists are atomic, since the
// server does not know their keys.
func fieldsOf(object map[string]any) map[string]any {
	fields := map[string]any{}
	for name, value := range object {
		inner, _ := value.(map[string]any)
		fields["f:"+name] = fieldsOf(inner)
	}
	return fields
}
