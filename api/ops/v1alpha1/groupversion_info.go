// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds what users write in and read from an Operation of group ops.vworkspace.io, version v1alpha1. It
// declares types and names; it talks to nothing and decides nothing.
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
	// Group is the API group of Operation. Most keys of our labels and annotations start with it.
	Group = "ops.vworkspace.io"

	// Version is the only version of the group that is served and stored.
	Version = "v1alpha1"

	// OperationKind is the kind written in manifests.
	OperationKind = "Operation"
)

// GroupVersion identifies this package's types to a scheme.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// AddToScheme makes Operation and OperationList known to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Operation{}, &OperationList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
