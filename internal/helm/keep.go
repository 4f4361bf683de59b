// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/helm/apply"
	"github.com/pintle-dev/pintle/internal/release"
)

// isNamespace reports whether a kind is Namespace.
func isNamespace(kind apischema.GroupKind) bool {
	return kind == apischema.GroupKind{Kind: "Namespace"}
}

// keeps returns the function that states why the action of the job must leave an object. local is true
// for the cluster of the HelmRelease.
//
// A rollback keeps what policies protect. An action that creates a revision keeps Namespaces, with
// which the objects of others would go, unless an approved plan names them. An uninstall keeps the
// Namespaces of the HelmRelease and of the release records.
func (j *Job) keeps(local bool) apply.Keeps {
	return func(kind apischema.GroupKind, name string, change v1alpha1.ChangeKind) string {
		removal := v1alpha1.PlanRemoval{Group: kind.Group, Kind: kind.Kind, Name: name, Change: change, Destructive: change == v1alpha1.ChangeDelete}
		deletesNamespace := isNamespace(kind) && change == v1alpha1.ChangeDelete
		switch j.Action.(type) {
		case release.Rollback:
			if by := j.Desired.Demands.Protector(removal); by != "" {
				return by + " protects it"
			}
			if deletesNamespace {
				return j.keepsNamespace(v1alpha1.PlanRollback, removal)
			}
		case release.Install, release.Upgrade:
			if deletesNamespace {
				return j.keepsNamespace(v1alpha1.PlanUpgrade, removal)
			}
		case release.Uninstall:
			switch {
			case !deletesNamespace:
			case name == j.target().StorageNamespace:
				return "it has the records of the release"
			case local && name == j.Origin.Namespace:
				return "it has the HelmRelease"
			}
		case release.Test, release.Unlock, release.Recheck, release.FailBake, release.CorrectDrift:
		}
		return ""
	}
}

// keepsNamespace returns why a new revision leaves a Namespace that it does not have; empty if the
// action has a plan, or computes one, and policies demand that its deletion is approved.
func (j *Job) keepsNamespace(of v1alpha1.PlanAction, removal v1alpha1.PlanRemoval) string {
	demands := j.Desired.Demands
	if of == v1alpha1.PlanRollback {
		demands = demands.OnRollback()
	}
	planned := j.plans || release.PlanOf(j.Action).Digest != ""
	if planned && demands.Assess(of, []v1alpha1.PlanRemoval{removal}, nil).Needs != "" {
		return ""
	}
	return "a Namespace is deleted with all that it has, and no approved plan names it"
}

// isLocal reports whether a connection leads to the cluster of the HelmRelease.
func isLocal(getter genericclioptions.RESTClientGetter) bool {
	connection, ok := getter.(retriable)
	return !ok || connection.Local()
}
