// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// IsHelmRelease reports whether a reference names a HelmRelease, of any API version.
func IsHelmRelease(ref opsv1alpha1.TargetReference) bool {
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	return kind.Group == helmv2.GroupVersion.Group && kind.Kind == helmv2.HelmReleaseKind
}

// Controls reports whether the object that a reference names is the controller of hr. Its version does
// not matter: owners are written with any.
func Controls(ref opsv1alpha1.TargetReference, hr *helmv2.HelmRelease) bool {
	owner := metav1.GetControllerOfNoCopy(hr)
	if owner == nil || owner.Kind != ref.Kind || owner.Name != ref.Name {
		return false
	}
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && gv.Group == schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Group
}
