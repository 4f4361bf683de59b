// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package read

import (
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
