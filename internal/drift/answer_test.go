// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// parseAnswered parses an object.
func parseAnswered(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestAnswered: all differences between a live object and an answer are found, those of defaults and
// removed fields too, and each has the former owner of the field.
func TestAnswered(t *testing.T) {
	t.Parallel()
	const (
		head  = "apiVersion: v1\nkind: Thing\n"
		ports = "managedFields:\n  - {manager: helm-controller, operation: Apply, apiVersion: v1, fieldsV1: {'f:spec': {'f:ports': {'k:{\"port\":80,\"protocol\":\"TCP\"}': {'.': {}, 'f:name': {}}}, 'f:size': {}}}}\n" +
			"  - {manager: someone, operation: Update, apiVersion: v1, time: '2026-01-01T00:00:00Z', fieldsV1: {'f:spec': {'f:size': {}}}}\n"
	)
	for name, tc := range map[string]struct {
		live, answer string
		want         []string
	}{
		"Same":    {"metadata: {name: a, resourceVersion: '1', generation: 1}\nstatus: {a: 1}\nspec: {a: 1}", "metadata: {name: a, resourceVersion: '2', generation: 2}\nspec: {a: 1}", nil},
		"Changed": {"spec: {a: 1, b: {c: x}}", "spec: {a: 2, b: {c: z}}", []string{".spec.a 1>2", `.spec.b.c "x">"z"`}},
		"Added":   {"spec: {}", "spec: {a: {b: 1, c: {}}}", []string{".spec.a.b >1", ".spec.a.c >{}"}},
		"Removed": {"spec: {a: {b: 1}}", "spec: {}", []string{".spec.a.b 1>"}},
		"Labels": {
			"metadata: {labels: {a: b}, annotations: {c/d: e}, finalizers: [x]}", "metadata: {labels: {a: c}, finalizers: [x, z]}",
			[]string{`.metadata.annotations["c/d"] "e">`, `.metadata.finalizers ["x"]>["x","z"]`, `.metadata.labels.a "b">"c"`},
		},
		"AtomicList": {"spec: {args: [a, b]}", "spec: {args: [b]}", []string{`.spec.args ["a","b"]>["b"]`}},
		"KeyedItems": {
			"metadata:\n  " + ports + "spec: {size: 1, ports: [{port: 80, protocol: TCP, name: a}, {port: 81, protocol: TCP}]}",
			"spec: {size: 2, ports: [{port: 82, protocol: TCP}, {port: 80, protocol: TCP, name: b}]}",
			[]string{
				`.spec.ports[port=80,protocol="TCP"].name "a">"b"`, `.spec.ports[port=81,protocol="TCP"] {"port":81,"protocol":"TCP"}>`,
				`.spec.ports[port=82,protocol="TCP"] >{"port":82,"protocol":"TCP"}`, ".spec.size 1>2 of someone",
			},
		},
		"KeysOfChildren": {
			"metadata: {managedFields: [{manager: a, operation: Apply, apiVersion: v1, fieldsV1: {'f:spec': {'f:env': {'k:{\"name\":\"A\"}': {'f:value': {}}}}}}]}\nspec: {env: [{name: A, value: x}]}",
			"spec: {env: [{name: A, value: z}]}",
			[]string{`.spec.env[name="A"].value "x">"z" of a`},
		},
		"ItemsWithoutKeys": {
			"metadata:\n  " + ports + "spec: {ports: [{name: a}]}", "spec: {ports: [{name: b}]}", []string{`.spec.ports [{"name":"a"}]>[{"name":"b"}]`},
		},
		"EqualKeys": {
			"metadata:\n  " + ports + "spec: {ports: [{port: 1}, {port: 1}]}", "spec: {ports: [{port: 1}]}", []string{`.spec.ports [{"port":1},{"port":1}]>[{"port":1}]`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live, answer := parseAnswered(t, head+tc.live), parseAnswered(t, head+tc.answer)
			fields, err := Answered(live, answer, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range fields {
				text := fmt.Sprintf("%s %s>%s", f.Path, f.Have, f.Want)
				if f.Manager != "" {
					text += " of " + f.Manager
				}
				got = append(got, text)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("fields\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}

// TestAnsweredSecrets: values of Secrets are masked, and other values redacted.
func TestAnsweredSecrets(t *testing.T) {
	t.Parallel()
	live := parseAnswered(t, "apiVersion: v1\nkind: Secret\nmetadata: {labels: {l: canary}}\ndata: {a: canary-1, gone: canary-2}")
	answer := parseAnswered(t, "apiVersion: v1\nkind: Secret\nmetadata: {labels: {l: canary-3}}\ndata: {a: canary-4, new: canary-5}")
	fields, err := Answered(live, answer, func(s string) string { return strings.ReplaceAll(s, "canary", "hidden") })
	if err != nil || len(fields) != 4 {
		t.Fatalf("%d fields, error %v", len(fields), err)
	}
	for _, f := range fields {
		data := strings.HasPrefix(f.Path, ".data.")
		if text := f.Have + f.Want; strings.Contains(text, "canary") || data && strings.Contains(text, "hidden") {
			t.Errorf("%s: %s>%s", f.Path, f.Have, f.Want)
		}
	}
	live.Object["metadata"] = map[string]any{"managedFields": []any{"text"}}
	if _, err := Answered(live, answer, nil); err == nil {
		t.Error("an object that is malformed has no error")
	}
}
