// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"context"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/page/access"
)

// eventsPath is the path of the stream of changes.
const eventsPath = "/events"

// events reports the changes of objects that the user may get.
func (s *site) events(w http.ResponseWriter, r *http.Request, viewer *access.Viewer) error {
	return s.Live.Serve(w, r, func(ctx context.Context, resource schema.GroupVersionResource, namespace string) (bool, error) {
		allowed, err := may(ctx, viewer, resource, "")
		if err != nil || allowed || namespace == "" {
			return allowed, err
		}
		return may(ctx, viewer, resource, namespace)
	})
}

// everywhere reports whether a user may get the HelmReleases of all namespaces.
func everywhere(ctx context.Context, viewer *access.Viewer) (bool, error) {
	return may(ctx, viewer, helmv2.GroupVersion.WithResource("helmreleases"), "")
}

// may reports whether a user may get the objects of a resource in a namespace; empty for all.
func may(ctx context.Context, viewer *access.Viewer, resource schema.GroupVersionResource, namespace string) (bool, error) {
	err := viewer.Check(ctx, authorizationv1.ResourceAttributes{
		Verb: "get", Group: resource.Group, Version: resource.Version, Resource: resource.Resource, Namespace: namespace,
	})
	if apierrors.IsForbidden(err) {
		return false, nil
	}
	return err == nil, err
}
