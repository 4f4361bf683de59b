// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view/read"
)

// Reader returns a reader of views of one HelmRelease, which the user may get. It checks the rights
// of the user before each read.
func (v *Viewer) Reader(ctx context.Context, hr *helmv2.HelmRelease) (*read.Reader, error) {
	as, err := v.As(ctx, hr)
	if err != nil {
		return nil, err
	}
	return &read.Reader{Client: checked{Viewer: v, as: as}, Mapper: as.Mapper, Now: v.Now}, nil
}

// checked is a client.Reader that checks the rights of the user before it reads with the identity
// of a release. It reads HelmReleases from those that the controller keeps.
type checked struct {
	*Viewer
	as *read.Reader
}

// Get implements client.Reader.
func (c checked) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if err := c.check(ctx, "get", obj, key.Namespace, key.Name); err != nil {
		return err
	}
	if _, ok := obj.(*helmv2.HelmRelease); ok {
		return c.Kept.Get(ctx, key, obj, opts...)
	}
	return c.as.Client.Get(ctx, key, obj, opts...)
}

// List implements client.Reader.
func (c checked) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	options := (&client.ListOptions{}).ApplyOptions(opts)
	if err := c.check(ctx, "list", list, options.Namespace, ""); err != nil {
		return err
	}
	return c.as.Client.List(ctx, list, opts...)
}

// check checks a right for the kind of an object or list.
func (c checked) check(ctx context.Context, verb string, obj runtime.Object, namespace, name string) error {
	kind, err := c.kindOf(obj)
	if err != nil {
		return err
	}
	mapping, err := c.as.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return fmt.Errorf("resource of %s: %w", kind, err)
	}
	if mapping.Scope.Name() == apimeta.RESTScopeNameRoot {
		namespace = ""
	}
	return c.Check(ctx, authorizationv1.ResourceAttributes{
		Verb: verb, Group: mapping.Resource.Group, Version: mapping.Resource.Version, Resource: mapping.Resource.Resource, Namespace: namespace, Name: name,
	})
}

// kindOf returns the kind of an object, or of the objects of a list.
func (c checked) kindOf(obj runtime.Object) (schema.GroupVersionKind, error) {
	kind, err := apiutil.GVKForObject(obj, c.Scheme)
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	return kind, err
}
