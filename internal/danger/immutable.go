// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package danger

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// fixedField is a field that the API server does not let change.
type fixedField struct {
	path string
	// standard is the value of an absent field.
	standard any
}

// fixedFields returns the fields of a kind that the API server does not let change.
func fixedFields(kind string) []fixedField {
	switch kind {
	case statefulSet:
		return []fixedField{{"spec.selector", nil}, {"spec.serviceName", nil}, {"spec.podManagementPolicy", "OrderedReady"}, {"spec.volumeClaimTemplates", nil}}
	case deployment, daemonSet, "ReplicaSet.apps":
		return []fixedField{{"spec.selector", nil}}
	case "Job.batch":
		return []fixedField{{"spec.template", nil}, {"spec.selector", nil}, {"spec.completionMode", "NonIndexed"}}
	case claim:
		return []fixedField{{"spec.accessModes", nil}, {"spec.storageClassName", nil}, {"spec.volumeMode", "Filesystem"}, {"spec.volumeName", nil}}
	case "RoleBinding.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io":
		return []fixedField{{"roleRef", nil}}
	case "StorageClass.storage.k8s.io":
		return []fixedField{{"provisioner", nil}, {"parameters", nil}}
	case "Secret":
		return []fixedField{{"type", "Opaque"}}
	case crd:
		return []fixedField{{"spec.scope", nil}}
	}
	return nil
}

// immutableFields finds changes that the API server refuses, unless it has accepted a dry run.
func (w *world) immutableFields() {
	w.pairs(func(was, is *object) {
		if c := w.changes[is.key]; c.accepted || c.created {
			return
		}
		field, replaced := immutable(was, is), w.changes[is.key].Replacement
		if replaced != nil && replaced.Refused == "" {
			if field == "" {
				field = "a field"
			}
			class, then := v1alpha1.Outage, "an approval replaces the object"
			if replaced.DeletesClaims {
				class, then = v1alpha1.DataLoss, "an approval replaces the object, and its claims are deleted with it"
			}
			w.add(class, is, "%s cannot be changed, unless %s: kubectl pintle approve --replace", field, then)
			return
		}
		if field != "" {
			class, then := v1alpha1.Outage, "the object is deleted first"
			if is.is(claim) {
				class, then = v1alpha1.DataLoss, "the claim is deleted with its data"
			}
			w.add(class, is, "%s cannot be changed, unless %s", field, then)
		}
	})
}

// immutable returns the first field that the API server does not let change; empty if there is none.
func immutable(was, is *object) string {
	for _, f := range fixedFields(is.fullKind()) {
		path := strings.Split(f.path, ".")
		a, b := at(was.content, path...), at(is.content, path...)
		if a == nil {
			a = f.standard
		}
		if b == nil {
			b = f.standard
		}
		if f.path == "spec.volumeClaimTemplates" {
			a, b = templates(a), templates(b)
		}
		if !equal(a, b) {
			return f.path
		}
	}
	switch {
	case is.is("Service"):
		// An absent address is kept.
		a, b := text(was.content, "spec", "clusterIP"), text(is.content, "spec", "clusterIP")
		if b != "" && a != b && text(was.content, "spec", "type") != "ExternalName" && text(is.content, "spec", "type") != "ExternalName" {
			return "spec.clusterIP"
		}
	case is.is("ConfigMap"), is.is("Secret"):
		for _, field := range []string{"data", "binaryData", "stringData"} {
			if was.content["immutable"] == true && !equal(was.content[field], is.content[field]) {
				return field + " of an immutable object"
			}
		}
	case is.is(claim):
		path := []string{"spec", "resources", "requests", "storage"}
		a, b := quantity(at(was.content, path...)), quantity(at(is.content, path...))
		if !b.IsZero() && b.Cmp(a) < 0 {
			return "a smaller " + strings.Join(path, ".")
		}
	}
	return ""
}

// templates returns templates of claims without the fields that the API server adds.
func templates(value any) any {
	all, _ := value.([]any)
	var clean []any
	for _, entry := range all {
		t, _ := entry.(map[string]any)
		spec := map[string]any{}
		for name, field := range fields(t, "spec") {
			if name != "volumeMode" || field != "Filesystem" {
				spec[name] = field
			}
		}
		metadata := fields(t, "metadata")
		clean = append(clean, map[string]any{"name": metadata["name"], "labels": metadata["labels"], "annotations": metadata["annotations"], "spec": spec})
	}
	return clean
}

// quantity returns a quantity; zero if the value is none.
func quantity(value any) resource.Quantity {
	switch v := value.(type) {
	case string:
		if q, err := resource.ParseQuantity(v); err == nil {
			return q
		}
	case float64:
		return *resource.NewMilliQuantity(int64(v*1000), resource.DecimalSI)
	}
	n, _ := number(value)
	return *resource.NewQuantity(int64(n), resource.DecimalSI)
}
