// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package kinds

import "k8s.io/apimachinery/pkg/runtime/schema"

// extensions is the only group of Kubernetes whose kinds have moved to other groups.
const extensions = "extensions"

// moves returns the kinds of Kubernetes that have moved to another API group, with the new group.
// An object of such a kind is the same object in both groups. Versions of one group need no entry,
// because discovery lists them. A custom resource that its vendor has moved to another group is
// another object there.
//
// The source is https://kubernetes.io/docs/reference/using-api/deprecation-guide/.
func moves() map[schema.GroupKind]string {
	return map[schema.GroupKind]string{
		{Group: extensions, Kind: "DaemonSet"}:         "apps",
		{Group: extensions, Kind: "Deployment"}:        "apps",
		{Group: extensions, Kind: "ReplicaSet"}:        "apps",
		{Group: extensions, Kind: "Ingress"}:           "networking.k8s.io",
		{Group: extensions, Kind: "NetworkPolicy"}:     "networking.k8s.io",
		{Group: extensions, Kind: "PodSecurityPolicy"}: "policy",
	}
}

// Canonical returns the kind under its newest group. Two kinds with the same result have the same
// objects.
func Canonical(gk schema.GroupKind) schema.GroupKind {
	if gk.Group != extensions {
		return gk
	}
	if group, moved := moves()[gk]; moved {
		gk.Group = group
	}
	return gk
}

// GroupsOf returns the groups that may serve a kind, its own first.
func GroupsOf(gk schema.GroupKind) []string {
	if to := Canonical(gk); to.Group != gk.Group {
		return []string{gk.Group, to.Group}
	}
	return []string{gk.Group}
}
