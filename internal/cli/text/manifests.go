// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package text

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/status/message"
)

// Manifests prints objects as YAML for kubectl apply, without their status.
func Manifests[T any](w io.Writer, objects ...T) error {
	var b strings.Builder
	for i, object := range objects {
		if i > 0 {
			b.WriteString("---\n")
		}
		var fields, spec map[string]json.RawMessage
		raw, err := json.Marshal(object)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, &fields); err != nil {
			return err
		}
		if err := json.Unmarshal(fields["spec"], &spec); err != nil {
			return err
		}
		delete(fields, "spec")
		delete(fields, "status")
		head, err := YAML(fields)
		if err != nil {
			return err
		}
		b.Write(head)
		b.WriteString("spec:\n")
		for _, name := range inOrder(spec) {
			field, err := YAML(map[string]any{name: short(spec[name])})
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(field)) {
				if line != "\n" {
					b.WriteString("  ")
				}
				b.WriteString(line)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// short returns a field without the zeros with which Go prints durations, such as in 10m0s.
func short(field json.RawMessage) any {
	var text string
	if json.Unmarshal(field, &text) != nil {
		return field
	}
	if d, err := time.ParseDuration(text); err == nil && d.String() == text {
		return message.Duration(d)
	}
	return text
}

// specOrder returns the order in which people write the fields of a HelmRelease, its source, and a
// HelmChart. Others follow.
func specOrder() []string {
	return []string{
		"interval", "timeout", "url", "ref", "layerSelector", "repo", "chart", "version", "chartRef", "releaseName", "targetNamespace", "storageNamespace",
		"createNamespace", "install", "upgrade", "values", "valuesContent",
	}
}

// inOrder returns the names of the fields of a spec in the order of specOrder.
func inOrder(spec map[string]json.RawMessage) []string {
	order := specOrder()
	rank := func(name string) int {
		if i := slices.Index(order, name); i >= 0 {
			return i
		}
		return len(order)
	}
	return slices.SortedFunc(maps.Keys(spec), func(a, b string) int { return cmp.Or(rank(a)-rank(b), strings.Compare(a, b)) })
}
