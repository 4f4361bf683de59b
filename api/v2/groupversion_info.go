// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package v2 declares the HelmRelease API of group helm.toolkit.fluxcd.io, version v2: types,
// names, and defaults that depend on one object alone. It has no logic and sends no requests.
//
// Files, top-down:
//
//	own_types.go              names that helm-controller does not have
//	zz_generated.deepcopy.go  deep copies, generated
//	accessors_actions.go      settings of actions with their defaults
//	accessors.go              other settings with their defaults
//	helmrelease_types.go      HelmRelease, its spec and status
//	actions_types.go          settings of actions
//	snapshot_types.go         entries of status.history and status.inventory
//	condition_types.go        conditions, reasons, annotations, labels
//	groupversion_info.go      the group, its version and scheme
//	chart_types.go            spec.chart and spec.chartRef
//	reference_types.go        references, post-renderers, health checks, drift detection
//	enum_types.go             enumerations
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
	// Group is the API group of HelmRelease. Keys of labels, annotations and event metadata start
	// with it.
	Group = "helm.toolkit.fluxcd.io"

	// Version is the only version of the group that is served and stored.
	Version = "v2"

	// HelmReleaseKind is the kind written in manifests.
	HelmReleaseKind = "HelmRelease"
)

// GroupVersion is the group and version under which the types are registered.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// AddToScheme registers HelmRelease and HelmReleaseList in a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &HelmRelease{}, &HelmReleaseList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
