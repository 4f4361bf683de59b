// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1 declares the API of group helm.cattle.io, version v1: HelmChart and HelmChartConfig of
// k3s' helm-controller. It has no logic and sends no requests.
//
// Files, top-down:
//
//	zz_generated.deepcopy.go  deep copies, generated
//	condition_types.go        conditions, reasons, annotations, names
//	groupversion_info.go      the group, its version and scheme
//	helmchart_types.go        HelmChart, and HelmChartConfig
//
// +kubebuilder:object:generate=true
// +groupName=helm.cattle.io
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// Group is the API group of k3s' helm-controller.
	Group = "helm.cattle.io"

	// Version is the only version of the group.
	Version = "v1"

	// HelmChartKind is the kind of HelmCharts. A HelmChart of source-controller has another group.
	HelmChartKind = "HelmChart"
	// HelmChartConfigKind is the kind of HelmChartConfigs.
	HelmChartConfigKind = "HelmChartConfig"
)

// GroupVersion is the group and version under which the types are registered.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// AddToScheme registers the types in a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &HelmChart{}, &HelmChartList{}, &HelmChartConfig{}, &HelmChartConfigList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
