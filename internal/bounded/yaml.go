// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bounded

import (
	"sigs.k8s.io/yaml"
)

// Check returns an error if a text is too long, or would be after the expansion of its aliases. It
// expands none. A text that it accepts may still be invalid. Only the first document is read by
// the functions of sigs.k8s.io/yaml, and so it is here.
func (l Limits) Check(raw []byte) error {
	if len(raw) > l.Bytes {
		return Exceeded("the content has %d bytes, more than %d", len(raw), l.Bytes)
	}
	if !MayRepeat(raw) {
		return nil
	}
	size, ok := expandedSize(raw, l)
	if !ok {
		return nil // the decoder reports invalid content
	}
	return l.exceededBy(size, " after the expansion of its aliases")
}

// CheckValue returns the size of a value in the form of encoding/json, and an error if it exceeds a
// limit. The size is then incomplete.
func (l Limits) CheckValue(v any) (Size, error) {
	var size Size
	size.add(v, l, 0)
	return size, l.exceededBy(size, "")
}

// ToJSON returns YAML as JSON, as yaml.YAMLToJSON does.
func (l Limits) ToJSON(raw []byte) ([]byte, error) {
	if err := l.Check(raw); err != nil {
		return nil, err
	}
	return yaml.YAMLToJSON(raw)
}

// Unmarshal decodes YAML, as yaml.Unmarshal does.
func (l Limits) Unmarshal(raw []byte, into any) error {
	if err := l.Check(raw); err != nil {
		return err
	}
	return yaml.Unmarshal(raw, into)
}

// UnmarshalStrict decodes YAML, as yaml.UnmarshalStrict does: unknown and repeated fields are errors.
func (l Limits) UnmarshalStrict(raw []byte, into any) error {
	if err := l.Check(raw); err != nil {
		return err
	}
	return yaml.UnmarshalStrict(raw, into)
}
