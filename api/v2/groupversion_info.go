// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package v2 holds what users write in and read from a HelmRelease of group helm.toolkit.fluxcd.io, version v2. It
// declares types, names and the defaults that follow from one object alone; it talks to nothing and decides nothing.
//
// +kubebuilder:object:generate=true
// +groupName=helm.toolkit.fluxcd.io
package v2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// Group is the API group of HelmRelease. Keys of our labels, annotations and event metadata start with it.
	Group = "helm.toolkit.fluxcd.io"

	// Version is the only version of the group that is served and stored.
	Version = "v2"

	// HelmReleaseKind is the kind written in manifests.
	HelmReleaseKind = "HelmRelease"
)

// GroupVersion identifies this package's types to a scheme.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// AddToScheme makes HelmRelease and HelmReleaseList known to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &HelmRelease{}, &HelmReleaseList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
