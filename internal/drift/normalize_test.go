// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestNormalize(t *testing.T) {
	for name, tc := range map[string]struct{ kind, desired, want string }{
		"Status":         {"ConfigMap", "status: {a: 1}\ndata: {a: x}", "data: {a: x}"},
		"Created":        {"ConfigMap", "metadata: {name: n, creationTimestamp: '2026-01-01T12:00:00Z'}", "metadata: {name: n}"},
		"Null":           {"Pod", "spec: {a: null, b: {c: null}, d: [{e: null, f: 1}, null]}", "spec: {b: {}, d: [{f: 1}, null]}"},
		"NullString":     {"ConfigMap", "data: {a: null}\nmetadata: {labels: {b: null}}\nbinaryData: null", "data: {a: null}\nmetadata: {labels: {b: null}}"},
		"NullMap":        {"ConfigMap", "data: null\nmetadata: {labels: null}", "metadata: {}"},
		"NullCustom":     {"Any", "apiVersion: example.com/v1\nspec: {a: null, template: {metadata: {creationTimestamp: null, name: n}}}", "apiVersion: example.com/v1\nspec: {a: null, template: {metadata: {name: n}}}"},
		"StringData":     {"Secret", "stringData: {a: x}", "data: {a: eA==}"},
		"StringDataWins": {"Secret", "stringData: {a: x}\ndata: {a: eQ==, b: eg==}", "data: {a: eA==, b: eg==}"},
		"NoStringData":   {"Secret", "stringData: {}", "{}"},
		"StrangeData":    {"Secret", "stringData: {a: x}\ndata: y", "stringData: {a: x}\ndata: y"},
		"StrangeString":  {"Secret", "stringData: {a: x, b: 1}", "stringData: {b: 1}\ndata: {a: eA==}"},
		"OtherKind":      {"Sealed", "stringData: {a: x}", "stringData: {a: x}"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{Object: parse(t, tc.desired)}
			o.SetKind(tc.kind)
			before := o.DeepCopy()
			want := &unstructured.Unstructured{Object: parse(t, tc.want)}
			want.SetKind(tc.kind)
			if diff := cmp.Diff(want, Normalize(o)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, o); diff != "" {
				t.Errorf("the argument was changed:\n%s", diff)
			}
		})
	}
}

func TestSortMetrics(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b string
		want bool
	}{
		"Order":      {"m: [{a: 1}, {b: 1}]", "m: [{b: 1}, {a: 1}]", true},
		"Duplicates": {"m: [{a: 1}, {b: 1}, {a: 1}]", "m: [{b: 1}, {a: 1}]", true},
		"Other":      {"m: [{a: 1}]", "m: [{a: 2}]", false},
		"NoList":     {"m: x", "m: x", true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := same(sortMetrics(parse(t, tc.a)["m"]), sortMetrics(parse(t, tc.b)["m"])); got != tc.want {
				t.Error(got)
			}
		})
	}
}
