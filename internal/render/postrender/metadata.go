// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package postrender

import (
	"fmt"
	"maps"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// setCommon adds the labels and annotations to the metadata of the object. They replace existing
// ones. Pod templates and selectors do not change.
func setCommon(o *object, common helmv2.CommonMetadata) error {
	if len(common.Labels) == 0 && len(common.Annotations) == 0 {
		return nil
	}
	metadata, err := child(o.fields, "metadata")
	if err != nil {
		return err
	}
	for _, add := range []struct {
		field  string
		values map[string]string
	}{{"labels", common.Labels}, {"annotations", common.Annotations}} {
		if len(add.values) == 0 {
			continue
		}
		existing, err := child(metadata, add.field)
		if err != nil {
			return fmt.Errorf("metadata.%w", err)
		}
		for k, v := range add.values {
			existing[k] = v
		}
		metadata[add.field] = existing
	}
	fields := maps.Clone(o.fields)
	fields["metadata"] = metadata
	o.replace(fields)
	return nil
}

// child returns a copy of the map in a field, empty if the field is not set.
func child(parent map[string]any, field string) (map[string]any, error) {
	switch v := parent[field].(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return maps.Clone(v), nil
	}
	return nil, fmt.Errorf("%s is not a map", field)
}
