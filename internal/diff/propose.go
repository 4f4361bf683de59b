// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Propose returns the HelmRelease that the API server would store for a given one, with its
// defaults: the result of a dry run. Status and UID come from the stored HelmRelease of the same
// name, and are empty if there is none.
func Propose(ctx context.Context, c client.Client, given *helmv2.HelmRelease) (*helmv2.HelmRelease, error) {
	live := &helmv2.HelmRelease{}
	err := c.Get(ctx, client.ObjectKeyFromObject(given), live)
	if apierrors.IsNotFound(err) {
		return dryRunCreate(ctx, c, given)
	}
	if err != nil {
		return nil, err
	}
	next := live.DeepCopy()
	next.Spec = given.Spec
	next.Labels, next.Annotations = merge(live.Labels, given.Labels), merge(live.Annotations, given.Annotations)
	if err := c.Update(ctx, next, client.DryRunAll); err != nil {
		return nil, fmt.Errorf("dry run of the HelmRelease: %w", err)
	}
	next.Status = live.Status
	if next.Generation == live.Generation && !equality.Semantic.DeepEqual(next.Spec, live.Spec) {
		next.Generation++
	}
	return next, nil
}

// dryRunCreate returns the HelmRelease that the API server would create. It has no UID: nothing
// that is stored belongs to it.
func dryRunCreate(ctx context.Context, c client.Client, given *helmv2.HelmRelease) (*helmv2.HelmRelease, error) {
	next := given.DeepCopy()
	next.ResourceVersion, next.Status = "", helmv2.HelmReleaseStatus{}
	if err := c.Create(ctx, next, client.DryRunAll); err != nil {
		return nil, fmt.Errorf("dry run of the HelmRelease: %w", err)
	}
	next.UID = ""
	return next, nil
}

// merge returns a map with the entries of both, given ones first.
func merge(live, given map[string]string) map[string]string {
	all := maps.Clone(live)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, given)
	return all
}
