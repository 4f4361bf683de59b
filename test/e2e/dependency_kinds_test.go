// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
)

// TestDependencyThatAppearsLater: a release waits for an object whose CRD does not exist yet.
func TestDependencyThatAppearsLater(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	if os.Getenv("PINTLE_CRDS") != "" {
		t.Skip("apiVersion and kind are not a part of the definitions in PINTLE_CRDS")
	}
	w := newWorld(t)
	group := w.Namespace + ".example.com"
	w.push("0.1.0")
	w.source("hello", env.Registry.Address)
	hr := w.Draft("hello", fixture.ChartRef(helmv2.KindOCIRepository, "hello"), nil)
	hr.Spec.DependsOn = []helmv2.DependencyReference{{APIVersion: group + "/v1", Kind: "Database", Name: "main"}}
	w.Create(hr)
	waiting := func(texts ...string) {
		w.UntilCondition(hr, helmv2.ConditionReady, no, helmv2.ReasonDependencyNotReady, texts...)
	}
	waiting("unable to get '"+w.Namespace+"/main' dependency", "no kind Database in "+group+"/v1 is served yet")

	w.Create(databases(group))
	waiting("Database '" + w.Namespace + "/main' not found")
	database := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1", "kind": "Database", "metadata": map[string]any{"namespace": w.Namespace, "name": "main"},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "False", "reason": "Provisioning", "message": "10 %"}}},
	}}
	w.Create(database)
	waiting("dependency '" + w.Namespace + "/main' is not ready: Ready of the Database is False with reason Provisioning")
	if len(hr.Status.History) != 0 {
		t.Error("it was installed too early")
	}
	w.Must(unstructured.SetNestedSlice(database.Object, []any{map[string]any{"type": "Ready", "status": "True", "reason": "Provisioned"}}, "status", "conditions"))
	w.Must(env.Client.Update(w.Context(), database))
	w.UntilRevision(hr, 1)
}

// databases is a minimal CRD.
func databases(group string) *apiextensionsv1.CustomResourceDefinition {
	anything := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "databases." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "databases", Singular: "database", Kind: "Database"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &anything,
				}},
			}},
		},
	}
}
