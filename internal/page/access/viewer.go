// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view/read"
)

// Source reads objects for users. It is safe for concurrent use.
type Source struct {
	Rights *Rights
	// Kept reads the objects that the controller keeps.
	Kept client.Reader
	// Live reads objects that the controller does not keep, with its own identity.
	Live client.Reader
	// Lists are the sources of kinds that the controller does not keep.
	Lists *Lists
	// KeepsOperations reports whether the controller keeps Operations, their Jobs and their Pods.
	KeepsOperations func() bool
	// As returns a reader of live objects with the identity of a release.
	As     func(ctx context.Context, hr *helmv2.HelmRelease) (*read.Reader, error)
	Scheme *runtime.Scheme
	Now    func() time.Time
}

// Viewer reads the objects that one user may see. It is safe for concurrent use.
type Viewer struct {
	*Source
	User *authenticationv1.UserInfo
}

// Check returns an error as the API server would if the user does not have a right.
func (v *Viewer) Check(ctx context.Context, right authorizationv1.ResourceAttributes) error {
	allowed, err := v.Rights.Allowed(ctx, v.User, right)
	if err != nil || allowed {
		return err
	}
	resource := schema.GroupResource{Group: right.Group, Resource: right.Resource}
	return apierrors.NewForbidden(resource, right.Name, fmt.Errorf("user %q may not %s it in namespace %q", v.User.Username, right.Verb, right.Namespace))
}

func ofHelmReleases(namespace, name string) authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{
		Verb: "get", Group: helmv2.GroupVersion.Group, Version: helmv2.GroupVersion.Version, Resource: "helmreleases", Namespace: namespace, Name: name,
	}
}

// Release returns a HelmRelease.
func (v *Viewer) Release(ctx context.Context, namespace, name string) (*helmv2.HelmRelease, error) {
	if err := v.Check(ctx, ofHelmReleases(namespace, name)); err != nil {
		return nil, err
	}
	hr := &helmv2.HelmRelease{}
	return hr, v.Kept.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, hr)
}

// Releases returns the HelmReleases that the user may get: all, or those of some namespaces.
func (v *Viewer) Releases(ctx context.Context) ([]helmv2.HelmRelease, error) {
	list := &helmv2.HelmReleaseList{}
	// The objects are only read.
	if err := v.Kept.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	if err := v.Check(ctx, ofHelmReleases("", "")); !apierrors.IsForbidden(err) {
		return list.Items, err
	}
	allowed := map[string]bool{}
	var visible []helmv2.HelmRelease
	for i := range list.Items {
		namespace := list.Items[i].Namespace
		if _, known := allowed[namespace]; !known {
			err := v.Check(ctx, ofHelmReleases(namespace, ""))
			if err != nil && !apierrors.IsForbidden(err) {
				return nil, err
			}
			allowed[namespace] = err == nil
		}
		if allowed[namespace] {
			visible = append(visible, list.Items[i])
		}
	}
	return visible, nil
}
