// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package read

import (
	"encoding/json"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// TestHasNoTemplateKind: only version v2 with spec.chart and without its kind is the former one.
func TestHasNoTemplateKind(t *testing.T) {
	t.Parallel()
	const former = "{properties: {spec: {properties: {chart: {properties: {spec: {type: object}}}}}}}"
	for text, want := range map[string]bool{
		"{name: v2, schema: {openAPIV3Schema: " + former + "}}": true, "{name: v2beta2, schema: {openAPIV3Schema: " + former + "}}": false,
		"{name: v2, schema: {openAPIV3Schema: {properties: {spec: {properties: {chart: {properties: {kind: {type: string}}}}}}}}}": false,
		"{name: v2, schema: {openAPIV3Schema: {type: object}}}":                                                                    false, "{name: v2, schema: {}}": false, "{name: v2}": false,
	} {
		var v apiextensionsv1.CustomResourceDefinitionVersion
		if err := yaml.UnmarshalStrict([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if got := hasNoTemplateKind(v); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// TestHasNoFileValues: only version v2 with an enum of kinds that has no GitRepository is the CRD of
// helm-controller.
func TestHasNoFileValues(t *testing.T) {
	entry := func(kinds string) string {
		return `{"openAPIV3Schema":{"properties":{"spec":{"properties":{"valuesFrom":{"items":{"properties":{"kind":{"enum":` + kinds + `}}}}}}}}}`
	}
	for name, tc := range map[string]struct {
		version, schema string
		want            bool
	}{
		"Own":      {"v2", entry(`["Secret","ConfigMap","GitRepository"]`), false},
		"Flux":     {"v2", entry(`["Secret","ConfigMap"]`), true},
		"V2beta2":  {"v2beta2", entry(`["Secret","ConfigMap"]`), false},
		"Any":      {"v2", entry(`[]`), false},
		"NoValues": {"v2", `{"openAPIV3Schema":{}}`, false},
		"NoSchema": {"v2", `{}`, false},
	} {
		v := apiextensionsv1.CustomResourceDefinitionVersion{Name: tc.version, Schema: &apiextensionsv1.CustomResourceValidation{}}
		if err := json.Unmarshal([]byte(tc.schema), v.Schema); err != nil {
			t.Fatal(err)
		}
		if got := hasNoFileValues(v); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
