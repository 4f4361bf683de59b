// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestManagedFieldsPatch(t *testing.T) {
	t.Parallel()
	entry := func(name string, operation metav1.ManagedFieldsOperationType, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: name, Operation: operation, Subresource: subresource, APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(fields),
		}
	}
	const a, b = `{"f:data":{"f:a":{}}}`, `{"f:data":{"f:b":{}}}`
	update, apply := metav1.ManagedFieldsOperationUpdate, metav1.ManagedFieldsOperationApply
	cases := map[string]struct {
		reason   string
		fields   []metav1.ManagedFieldsEntry
		toServer bool
		want     []string // parts of the patch; none means no patch
		not      string
	}{
		"ToServer":  {"our updates become our apply", []metav1.ManagedFieldsEntry{entry(manager, update, "", a)}, true, []string{`"operation":"Apply"`, `"f:a"`, `"7"`}, `"Update"`},
		"Helm":      {"so do those of a person's Helm", []metav1.ManagedFieldsEntry{entry("helm", update, "", a)}, true, []string{`"manager":"helm-controller"`}, `"manager":"helm"`},
		"Others":    {"other tools keep theirs", []metav1.ManagedFieldsEntry{entry("kubectl-client-side-apply", update, "", a)}, true, nil, ""},
		"Status":    {"and so does what writes a subresource", []metav1.ManagedFieldsEntry{entry(manager, update, "status", a)}, true, nil, ""},
		"IsApplied": {"nothing is to be done", []metav1.ManagedFieldsEntry{entry(manager, apply, "", a)}, true, nil, ""},
		"ToClient":  {"our apply becomes our update", []metav1.ManagedFieldsEntry{entry(manager, apply, "", a), entry("x", apply, "", b)}, false, []string{`"operation":"Update"`, `"manager":"x","operation":"Apply"`, `"f:a"`}, ""},
		"IsUpdated": {"nothing is to be done", []metav1.ManagedFieldsEntry{entry(manager, update, "", a)}, false, nil, ""},
		"Both":      {"there can be one entry only", []metav1.ManagedFieldsEntry{entry(manager, apply, "", a), entry(manager, update, "", b)}, false, []string{`"f:a"`}, `"f:b"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := &unstructured.Unstructured{Object: map[string]any{}}
			object.SetResourceVersion("7")
			object.SetManagedFields(tc.fields)
			patch, err := managedFieldsPatch(object, tc.toServer)
			if err != nil || (patch == nil) != (tc.want == nil) {
				t.Fatalf("%s: patch %s, error %v", tc.reason, patch, err)
			}
			for _, part := range tc.want {
				if !strings.Contains(string(patch), part) {
					t.Errorf("%s: %s is missing in %s", tc.reason, part, patch)
				}
			}
			if tc.not != "" && strings.Contains(string(patch), tc.not) {
				t.Errorf("%s: %s is in %s", tc.reason, tc.not, patch)
			}
		})
	}
}
