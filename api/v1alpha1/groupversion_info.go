// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 declares the API of group pintle.dev, version v1alpha1: ReleasePlan, ReleasePolicy
// and ClusterReleasePolicy. It has no logic and sends no requests.
//
// Files, top-down:
//
//	zz_generated.deepcopy.go  deep copies, generated
//	condition_types.go        conditions, reasons, annotations, labels
//	groupversion_info.go      the group, its version and scheme
//	plan_types.go             ReleasePlan: what an action would change, and its approval
//	policy_types.go           ReleasePolicy and ClusterReleasePolicy
//
// +kubebuilder:object:generate=true
// +groupName=pintle.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// Group is the API group of plans and policies.
	Group = "pintle.dev"

	// Version is the only version of the group that is served and stored.
	Version = "v1alpha1"

	// ReleasePlanKind is the kind of plans in manifests.
	ReleasePlanKind = "ReleasePlan"
	// ReleasePolicyKind is the kind of policies of one namespace.
	ReleasePolicyKind = "ReleasePolicy"
	// ClusterReleasePolicyKind is the kind of policies of the cluster.
	ClusterReleasePolicyKind = "ClusterReleasePolicy"
)

// GroupVersion is the group and version under which the types are registered.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// AddToScheme registers the types in a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &ReleasePlan{}, &ReleasePlanList{}, &ReleasePolicy{}, &ReleasePolicyList{},
		&ClusterReleasePolicy{}, &ClusterReleasePolicyList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
