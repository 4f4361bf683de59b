// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// selectedNode is the annotation of a claim for which a scheduler has found a Pod and its node.
const selectedNode = "volume.kubernetes.io/selected-node"

// UnusedClaim returns the StorageClass of a pending claim for which no scheduler has found a Pod;
// empty for another object.
func UnusedClaim(u *unstructured.Unstructured) string {
	if u == nil || u.GetKind() != "PersistentVolumeClaim" || u.GroupVersionKind().Group != corev1.GroupName || u.GetAnnotations()[selectedNode] != "" {
		return ""
	}
	if phase, _, _ := unstructured.NestedString(u.Object, "status", "phase"); phase != string(corev1.ClaimPending) {
		return ""
	}
	class, _, _ := unstructured.NestedString(u.Object, "spec", "storageClassName")
	return class
}
