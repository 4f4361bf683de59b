// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/test/harness"
)

// operationsServed skips a test if the suite does not use this project's CRDs.
func operationsServed(t *testing.T) {
	t.Helper()
	if os.Getenv("PINTLE_CRDS") != "" {
		t.Skip("Operations are not a part of the definitions in PINTLE_CRDS")
	}
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

func operationNamespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "op-"}}
	if err := suite.client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// TestOperationAdmission: the CRD accepts valid Operations and rejects others.
func TestOperationAdmission(t *testing.T) {
	t.Parallel()
	operationsServed(t)
	ns := operationNamespace(t)
	for name, tc := range map[string]struct{ replace, by, refused string }{
		"as it stands":        {},
		"an event":            {replace: "hookName: nextcloud-myteam-pre-upgrade", by: "event: pre-upgrade"},
		"all parameters":      {replace: "backoffLimit: 1", by: "backoffLimit: 0\n    revision: 3\n    allowEventMismatch: true\n    ttlSecondsAfterFinished: 0"},
		"its own time":        {replace: "type: Migration", by: "ttlSecondsAfterFinished: 0"},
		"before its time":     {replace: "type: Migration", by: "ttlSecondsAfterFinished: -1", refused: "greater than or equal to 0"},
		"no such engine":      {replace: "engine: helmHookJob", by: "engine: velero", refused: "there is no such engine: the only one is helmHookJob"},
		"both":                {replace: "backoffLimit: 1", by: "event: pre-upgrade", refused: "exactly one of"},
		"neither":             {replace: "hookName: nextcloud-myteam-pre-upgrade", by: "revision: 1", refused: "exactly one of"},
		"no type":             {replace: "type: Migration", by: "cancel: false"},
		"an unknown type":     {replace: "type: Migration", by: "type: Magic", refused: "Unsupported value"},
		"an unknown event":    {replace: "hookName: nextcloud-myteam-pre-upgrade", by: "event: pre-lunch", refused: "Unsupported value"},
		"an unknown word":     {replace: "backoffLimit: 1", by: "image: evil", refused: "unknown field"},
		"no time at all":      {replace: "1800", by: "0", refused: "greater than or equal to 1"},
		"a negative limit":    {replace: "backoffLimit: 1", by: "backoffLimit: -1", refused: "greater than or equal to 0"},
		"another namespace":   {replace: "name: nextcloud-myteam\n", by: "name: nextcloud-myteam\n    namespace: kube-system\n", refused: "unknown field"},
		"a path for a name":   {replace: "name: nextcloud-myteam\n", by: "name: ../secrets\n", refused: "should match"},
		"a path for a kind":   {replace: "kind: ApplicationInstance", by: "kind: a/b", refused: "should match"},
		"an impossible group": {replace: "apiVersion: apps.vworkspace.io/v1alpha1", by: "apiVersion: a/b/c", refused: "should match"},
	} {
		t.Run(name, func(t *testing.T) {
			text := harness.DocumentedOperation
			if tc.replace != "" {
				if text = strings.Replace(text, tc.replace, tc.by, 1); text == harness.DocumentedOperation {
					t.Fatal("nothing was replaced")
				}
			}
			o := object(t, text)
			o.SetNamespace(ns)
			err := suite.client.Create(t.Context(), o, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
			switch {
			case tc.refused == "" && err != nil:
				t.Error(err)
			case tc.refused != "" && (err == nil || !strings.Contains(err.Error(), tc.refused)):
				t.Errorf("want %q, got %v", tc.refused, err)
			}
		})
	}
}

// TestOperationIsImmutable: the spec is immutable, except for cancel, and parameters before
// acceptance.
func TestOperationIsImmutable(t *testing.T) {
	t.Parallel()
	operationsServed(t)
	o := object(t, harness.DocumentedOperation)
	o.SetNamespace(operationNamespace(t))
	// No controller of the suite reconciles it, so its status is not written.
	o.SetLabels(map[string]string{labelController: "none"})
	if err := suite.client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if ttl, _, _ := unstructured.NestedInt64(o.Object, "spec", "parameters", "ttlSecondsAfterFinished"); ttl != 86400 {
		t.Errorf("the default is %d", ttl)
	}
	change := func(value any, refused string, path ...string) {
		t.Helper()
		changed := o.DeepCopy()
		if err := unstructured.SetNestedField(changed.Object, value, path...); err != nil {
			t.Fatal(err)
		}
		err := suite.client.Update(t.Context(), changed)
		switch {
		case refused == "" && err != nil:
			t.Errorf("%v: %v", path, err)
		case refused == "":
			o = changed
		case !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), refused):
			t.Errorf("%v: want %q, got %v", path, refused, err)
		}
	}
	change("other", "targetRef cannot be changed", "spec", "targetRef", "name")
	change("Runbook", "type cannot be changed", "spec", "type")
	untyped := o.DeepCopy()
	unstructured.RemoveNestedField(untyped.Object, "spec", "type")
	if err := suite.client.Update(t.Context(), untyped); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "type cannot be changed") {
		t.Errorf("the type was removed: %v", err)
	}
	change("velero", "engine cannot be changed", "spec", "engine")
	change(int64(60), "", "spec", "parameters", "activeDeadlineSeconds")
	for status, refused := range map[string]string{"True": "parameters cannot be changed", "False": "parameters cannot be changed", "Unknown": ""} {
		changed := o.DeepCopy()
		changed.Object["status"] = map[string]any{"phase": "Pending", "conditions": []any{map[string]any{
			"type": "Accepted", "status": status, "reason": "Because", "message": "", "lastTransitionTime": "2026-05-28T12:00:00Z",
		}}}
		if err := suite.client.Status().Update(t.Context(), changed); err != nil {
			t.Fatal(err)
		}
		o = changed
		change("other-"+strings.ToLower(status), refused, "spec", "parameters", "hookName")
	}
	change(int64(60), "", "spec", "ttlSecondsAfterFinished")
	change(int64(0), "", "spec", "ttlSecondsAfterFinished")
	change(true, "", "spec", "cancel")
	change(false, "cancel cannot be taken back", "spec", "cancel")
}

// TestStoredEngines: an Operation whose engine an earlier CRD has accepted can be changed, ended and
// deleted, and no other one can be created. The CRD is this project's in another group.
func TestStoredEngines(t *testing.T) {
	t.Parallel()
	operationsServed(t)
	w := newWorld(t)
	group := w.namespace + ".example.com"
	raw, err := os.ReadFile(filepath.Join(harness.Root(), "config", "crd", "bases", "ops.vworkspace.io_operations.yaml"))
	w.must(err)
	crd := object(t, strings.ReplaceAll(string(raw), "ops.vworkspace.io", group))
	unstructured.RemoveNestedField(crd.Object, "spec", "names", "shortNames")
	rules := []string{"schema", "openAPIV3Schema", "properties", "spec", "properties", "engine", "x-kubernetes-validations"}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	version, ok := versions[0].(map[string]any)
	if !ok || len(versions) != 1 {
		t.Fatalf("the CRD has the versions %v", versions)
	}
	known, found, _ := unstructured.NestedSlice(version, rules...)
	if !found {
		t.Fatal("the field engine has no rules")
	}
	unstructured.RemoveNestedField(version, rules...)
	w.must(unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"))
	w.must(suite.client.Create(t.Context(), crd))
	t.Cleanup(func() { _ = suite.client.Delete(context.WithoutCancel(t.Context()), crd) })

	made := func(name string) *unstructured.Unstructured {
		o := object(t, strings.Replace(strings.ReplaceAll(harness.DocumentedOperation, "ops.vworkspace.io", group), "helmHookJob", "velero", 1))
		o.SetNamespace(w.namespace)
		o.SetName(name)
		return o
	}
	stored := made("stored")
	untilTrue(w, "the earlier CRD to be served", func() bool { return suite.client.Create(t.Context(), stored) == nil })
	w.must(unstructured.SetNestedSlice(version, known, rules...))
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"versions": versions}})
	w.must(err)
	w.must(suite.client.Patch(t.Context(), crd, client.RawPatch(types.MergePatchType, patch)))
	untilTrue(w, "the CRD to be served", func() bool {
		err := suite.client.Create(t.Context(), made("new"), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "the only one is helmHookJob")
	})

	w.must(unstructured.SetNestedField(stored.Object, "magic", "spec", "engine"))
	if err := suite.client.Update(t.Context(), stored.DeepCopy()); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "engine cannot be changed") {
		t.Errorf("the engine is changed: %v", err)
	}
	w.must(unstructured.SetNestedField(stored.Object, "velero", "spec", "engine"))
	w.must(unstructured.SetNestedField(stored.Object, true, "spec", "cancel"))
	stored.SetFinalizers([]string{"example.com/kept"})
	w.must(suite.client.Update(t.Context(), stored))
	w.must(unstructured.SetNestedField(stored.Object, "Failed", "status", "phase"))
	w.must(suite.client.Status().Update(t.Context(), stored))
	w.must(suite.client.Delete(t.Context(), stored))
	w.must(suite.client.Get(t.Context(), client.ObjectKeyFromObject(stored), stored))
	stored.SetFinalizers(nil)
	w.must(suite.client.Update(t.Context(), stored))
	if err := suite.client.Get(t.Context(), client.ObjectKeyFromObject(stored), stored); !apierrors.IsNotFound(err) {
		t.Errorf("it is there: %v", err)
	}
}

// TestClonesAreValid: the API server accepts all objects in hookjob's golden files.
func TestClonesAreValid(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(harness.Root(), "internal", "hookjob", "testdata", "*.txt"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	ns, asked := operationNamespace(t), 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, below, _ := strings.Cut(string(raw), "=====\n")
		for document := range strings.SplitSeq(below, "---\n") {
			o := object(t, document)
			if o.GetKind() == "" || o.GetName() == "" {
				continue
			}
			o.SetNamespace(ns)
			mode := client.FieldValidation(metav1.FieldValidationStrict)
			if filepath.Base(file) == "verbatim.txt" {
				// It has fields of the future.
				mode = client.FieldValidation(metav1.FieldValidationIgnore)
			}
			asked++
			if err := suite.client.Create(t.Context(), o.DeepCopy(), client.DryRunAll, mode); err != nil {
				t.Errorf("%s: %s %s: %v", filepath.Base(file), o.GetKind(), o.GetName(), err)
			}
		}
	}
	if asked < 25 {
		t.Errorf("only %d objects were validated", asked)
	}
}
