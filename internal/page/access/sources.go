// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"fmt"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/internal/view/sources"
)

// sourceKind is a kind of object that charts come from.
type sourceKind struct {
	kind, resource string
	// kept is true if the controller keeps the objects. Others are listed, briefly cached.
	kept bool
	list lister
}

// lister lists the objects of a kind, and returns the token of the next answer.
type lister func(ctx context.Context, from client.Reader, opts ...client.ListOption) (found []sources.Source, next string, err error)

// listerOf returns a lister, given a function that returns the sources in a list.
func listerOf[T any, P interface {
	*T
	client.ObjectList
}](read func(P) []sources.Source) lister {
	return func(ctx context.Context, from client.Reader, opts ...client.ListOption) ([]sources.Source, string, error) {
		list := P(new(T))
		if err := from.List(ctx, list, opts...); err != nil {
			return nil, "", err
		}
		return read(list), list.GetContinue(), nil
	}
}

// sourceKinds returns all kinds.
func sourceKinds() []sourceKind {
	return []sourceKind{
		{kind: sourcev1.HelmChartKind, resource: "helmcharts", kept: true, list: listerOf(helmCharts)},
		{kind: sourcev1.OCIRepositoryKind, resource: "ocirepositories", kept: true, list: listerOf(ociRepositories)},
		{kind: sourcev1.HelmRepositoryKind, resource: "helmrepositories", list: listerOf(helmRepositories)},
		{kind: sourcev1.GitRepositoryKind, resource: "gitrepositories", list: listerOf(gitRepositories)},
		{kind: sourcev1.BucketKind, resource: "buckets", list: listerOf(buckets)},
	}
}

// Sources returns the sources of charts that the user may get, and why kinds are left out.
func (v *Viewer) Sources(ctx context.Context) (all []sources.Source, unread []string, err error) {
	for _, k := range sourceKinds() {
		found, err := v.sourcesOf(ctx, k)
		switch {
		case err == nil:
		case apimeta.IsNoMatchError(err), apierrors.IsNotFound(err):
			unread = append(unread, fmt.Sprintf("%s: the API server does not serve the kind", k.kind))
			continue
		case apierrors.IsForbidden(err):
			unread = append(unread, fmt.Sprintf("%s: the controller may not list %s.%s", k.kind, k.resource, sourcev1.GroupVersion.Group))
			continue
		default:
			unread = append(unread, fmt.Sprintf("%s: %v", k.kind, v.public(err)))
			continue
		}
		right := authorizationv1.ResourceAttributes{Verb: "get", Group: sourcev1.GroupVersion.Group, Version: sourcev1.GroupVersion.Version, Resource: k.resource}
		if found, err = visible(ctx, v, found, func(s *sources.Source) string { return s.Namespace }, right); err != nil {
			return nil, nil, err
		}
		all = append(all, found...)
	}
	return all, unread, nil
}

// sourcesOf returns the objects of a kind, before the rights of the user are checked.
func (v *Viewer) sourcesOf(ctx context.Context, k sourceKind) ([]sources.Source, error) {
	if !k.kept {
		return v.Lists.get(ctx, k)
	}
	// The objects are only read.
	found, _, err := k.list(ctx, v.Kept, client.UnsafeDisableDeepCopy)
	return found, err
}
