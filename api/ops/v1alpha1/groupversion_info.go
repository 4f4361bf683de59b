// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 declares the Operation API of group ops.vworkspace.io, version v1alpha1: types
// and names. It has no logic and sends no requests.
//
// Files, top-down:
//
//	zz_generated.deepcopy.go  deep copies, generated
//	condition_types.go        conditions, reasons, annotations, labels
//	groupversion_info.go      the group, its version and scheme
//	operation_types.go        Operation and its spec
//	status_types.go           the status of an Operation
//
// +kubebuilder:object:generate=true
// +groupName=ops.vworkspace.io
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// Group is the API group of Operation. Most keys of labels and annotations start with it.
	Group = "ops.vworkspace.io"

	// Version is the only version of the group that is served and stored.
	Version = "v1alpha1"

	// OperationKind is the kind written in manifests.
	OperationKind = "Operation"
)

// GroupVersion is the group and version under which the types are registered.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// AddToScheme registers Operation and OperationList in a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Operation{}, &OperationList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
