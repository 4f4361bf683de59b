// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// definition is a CRD of kind Thing in a group with the given versions. The last one is the storage
// version.
func definition(group string, versions ...string) string {
	s := fmt.Sprintf("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things.%s\nspec:\n  group: %s\n  scope: Namespaced\n"+
		"  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList}\n  versions:\n", group, group)
	for i, v := range versions {
		s += fmt.Sprintf("  - {name: %s, served: true, storage: %t, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}}\n",
			v, i == len(versions)-1)
	}
	return s
}

// thingTemplate is an object of that kind with a field of any name.
func thingTemplate(group, version string) string {
	return "apiVersion: " + group + "/" + version + "\nkind: Thing\nmetadata:\n  name: {{ .Release.Name }}\nspec: {size: 1, {{ .Values.field | default \"size\" }}: 1}\n"
}

// definition returns the CRD of a group's things, nil if it does not exist.
func (w *world) definition(group string) *apiextensionsv1.CustomResourceDefinition {
	w.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	err := suite.client.Get(w.t.Context(), client.ObjectKey{Name: "things." + group}, u)
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.must(err)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	w.must(runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, crd))
	return crd
}

func versions(crd *apiextensionsv1.CustomResourceDefinition) string {
	var all []string
	for _, v := range crd.Spec.Versions {
		all = append(all, v.Name)
	}
	return strings.Join(all, " ")
}

// TestCRDPolicies: version 2 of the chart adds a version to one definition and has
// a new one, and its objects need them.
func TestCRDPolicies(t *testing.T) {
	t.Parallel()
	no := false
	cases := map[string]struct {
		reason  string
		policy  helmv2.CRDsPolicy
		install *bool
		version string
		want    string
		added   bool
	}{
		"Create":            {"existing CRDs stay", helmv2.CRDsCreate, nil, "v1", "v1", true},
		"Default":           {"Create is the default", "", nil, "v1", "v1", true},
		"CreateClientSide":  {"existing CRDs stay", helmv2.CRDsCreate, &no, "v1", "v1", true},
		"Skip":              {"nothing is done", helmv2.CRDsSkip, nil, "v1", "v1", false},
		"Replace":           {"existing CRDs change", helmv2.CRDsCreateReplace, nil, "v2", "v1 v2", true},
		"ReplaceClientSide": {"existing CRDs change", helmv2.CRDsCreateReplace, &no, "v2", "v1 v2", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "Default" && name != "Replace" {
				t.Skip("long")
			}
			b := newBench(t)
			one, two := strings.ToLower(name)+".example.com", strings.ToLower(name)+"-two.example.com"
			spec := helmv2.HelmReleaseSpec{
				Install: &helmv2.Install{ServerSideApply: tc.install}, Upgrade: &helmv2.Upgrade{CRDs: tc.policy},
			}
			first := b.mustRun(install, pack(t, "note", "1.0.0", map[string]string{
				"crds/one.yaml": definition(one, "v1"), "templates/thing.yaml": thingTemplate(one, "v1"),
			}), nil, spec)
			if got := b.definition(one).Labels[helmv2.LabelName]; got != "app" {
				t.Errorf("%s: the definition is labelled %q", tc.reason, got)
			}
			crd := release.Object{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition", Name: "things." + one}
			if !slices.Contains(first.Inventory, crd) || len(first.Inventory) != 2 {
				t.Errorf("%s: inventory %+v", tc.reason, first.Inventory)
			}
			out := b.mustRun(upgrade, pack(t, "note", "2.0.0", map[string]string{
				"crds/one.yaml": definition(one, "v1", "v2") + "---\n" + definition(two, "v1"), "crds/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: stray}\n",
				"templates/thing.yaml": thingTemplate(one, tc.version),
			}), nil, spec)
			if got := versions(b.definition(one)); got != tc.want {
				t.Errorf("%s: the definition has %s, want %s", tc.reason, got, tc.want)
			}
			if added := b.definition(two) != nil; added != tc.added {
				t.Errorf("%s: the new definition is there: %t", tc.reason, added)
			}
			stray := release.Object{Version: "v1", Kind: "ConfigMap", Namespace: b.namespace, Name: "stray"}
			if !slices.Contains(out.Inventory, stray) || len(out.Inventory) != 4 {
				t.Errorf("%s: inventory %+v", tc.reason, out.Inventory)
			}
			if b.asked("POST", "/configmaps") != 0 {
				t.Errorf("%s: an object other than a CRD was created", tc.reason)
			}
		})
	}
}

// TestObjectsOfShippedKindsAreNotChecked: objects of a kind whose CRD the chart changes are not
// validated against the existing CRD.
func TestObjectsOfShippedKindsAreNotChecked(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"crds", "templates"} {
		t.Run(folder, func(t *testing.T) {
			b := newBench(t)
			group := "shipped-" + folder + ".example.com"
			// Helm cannot install a definition in a template and objects of it together,
			// but it can go on with one that is there.
			files := map[string]string{folder + "/crd.yaml": definition(group, "v1")}
			b.mustRun(install, pack(t, "note", "1.0.0", files), nil, helmv2.HelmReleaseSpec{})
			files["templates/thing.yaml"] = thingTemplate(group, "v1")
			b.mustRun(upgrade, pack(t, "note", "1.1.0", files), nil, helmv2.HelmReleaseSpec{})
			if b.asked("things/app", "dryRun") != 0 {
				t.Error("the object was checked")
			}
		})
	}
	b := newBench(t)
	group := "elsewhere.example.com"
	b.mustRun(install, pack(t, "note", "1.0.0", map[string]string{"templates/crd.yaml": definition(group, "v1")}), nil, helmv2.HelmReleaseSpec{})
	out := b.run(upgrade, pack(t, "note", "1.1.0", map[string]string{"templates/thing.yaml": thingTemplate(group, "v1")}),
		values("field", "unknown"), helmv2.HelmReleaseSpec{})
	if out.Err == nil || !containsAll(out.Err.Error(), "the API server would refuse", "unknown") {
		t.Errorf("an object of an existing kind is validated: %v", out.Err)
	}
}

// TestRollbackListsNoDefinitions: definitions are not rolled back, and those of the
// chart that failed are none of the objects of the revision that is there again.
func TestRollbackListsNoDefinitions(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
	b := newBench(t)
	b.mustRun(install, pack(t, "note", "1.0.0", map[string]string{"templates/data.yaml": dataTemplate}), nil, helmv2.HelmReleaseSpec{})
	b.mustRun(upgrade, pack(t, "note", "2.0.0", map[string]string{
		"templates/data.yaml": dataTemplate, "crds/one.yaml": definition("rolledback.example.com", "v1"),
	}), nil, helmv2.HelmReleaseSpec{})
	out := b.mustRun(release.Rollback{Timeout: time.Minute, Version: 1}, nil, nil, helmv2.HelmReleaseSpec{})
	if len(out.Inventory) != 1 || out.Inventory[0].Kind != "ConfigMap" {
		t.Errorf("inventory %+v", out.Inventory)
	}
}
