// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"maps"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
)

// Plan returns the ReleasePlan of a HelmRelease; nil if there is none.
func (v *Viewer) Plan(ctx context.Context, hr *helmv2.HelmRelease) (*v1alpha1.ReleasePlan, error) {
	err := v.Check(ctx, authorizationv1.ResourceAttributes{
		Verb: "get", Group: v1alpha1.Group, Version: v1alpha1.GroupVersion.Version, Resource: "releaseplans", Namespace: hr.Namespace, Name: hr.Name,
	})
	if err != nil {
		return nil, err
	}
	plan := &v1alpha1.ReleasePlan{}
	err = v.Live.Get(ctx, client.ObjectKeyFromObject(hr), plan)
	if apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) {
		return nil, nil //nolint:nilnil // there is no plan
	}
	return plan, v.public(err)
}

// Dependents returns the HelmReleases that depend on a HelmRelease and that the user may get.
func (v *Viewer) Dependents(ctx context.Context, hr *helmv2.HelmRelease) ([]helmv2.HelmRelease, error) {
	key := client.ObjectKeyFromObject(hr)
	return v.releasesThat(ctx, func(other *helmv2.HelmRelease) bool { return slices.Contains(inputs.DependsOn(other), key) })
}

// releasesThat returns those HelmReleases of a kind that the user may get.
func (v *Viewer) releasesThat(ctx context.Context, match func(*helmv2.HelmRelease) bool) ([]helmv2.HelmRelease, error) {
	list := &helmv2.HelmReleaseList{}
	// The objects are only read.
	if err := v.Kept.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var matching []helmv2.HelmRelease
	for i := range list.Items {
		if match(&list.Items[i]) {
			matching = append(matching, list.Items[i])
		}
	}
	return visible(ctx, v, matching, func(hr *helmv2.HelmRelease) string { return hr.Namespace }, ofHelmReleases("", ""))
}

// visible returns the objects in the namespaces in which the user has a right.
func visible[T any](ctx context.Context, v *Viewer, all []T, namespaceOf func(*T) string, right authorizationv1.ResourceAttributes) ([]T, error) {
	seen := map[string]bool{}
	for i := range all {
		seen[namespaceOf(&all[i])] = true
	}
	allowed, err := v.Namespaces(ctx, right, slices.Collect(maps.Keys(seen)))
	if err != nil || len(allowed) == len(seen) {
		return all, err
	}
	var visible []T
	for i := range all {
		if allowed[namespaceOf(&all[i])] {
			visible = append(visible, all[i])
		}
	}
	return visible, nil
}
