// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"fmt"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/read"
)

// Rollouts returns the waves of the policies that the user may get, with the releases that the user may
// get. unread names what is left out.
func (v *Viewer) Rollouts(ctx context.Context) (all []view.Rollout, unread []string, err error) {
	reader := &read.Reader{Client: rolloutReader{v}, Now: v.Now}
	return reader.Rollouts(ctx, "", nil)
}

// rolloutReader lists the objects that rollouts are made of, as far as the user may get them. Sources and
// releases come from the controller's cache.
type rolloutReader struct{ *Viewer }

// Get implements client.Reader. Rollouts are read by lists alone.
func (r rolloutReader) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	return fmt.Errorf("%T is not read", obj)
}

// List implements client.Reader.
func (r rolloutReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) (err error) {
	right := func(group, resource string) authorizationv1.ResourceAttributes {
		return authorizationv1.ResourceAttributes{Verb: "get", Group: group, Resource: resource}
	}
	switch list := list.(type) {
	case *helmv2.HelmReleaseList:
		list.Items, err = r.Releases(ctx)
	case *v1alpha1.ReleasePolicyList:
		if err = r.Live.List(ctx, list, opts...); err == nil {
			list.Items, err = visible(ctx, r.Viewer, list.Items, func(p *v1alpha1.ReleasePolicy) string { return p.Namespace }, right(v1alpha1.Group, "releasepolicies"))
		}
	case *v1alpha1.ClusterReleasePolicyList:
		if err = r.Check(ctx, right(v1alpha1.Group, "clusterreleasepolicies")); err == nil {
			err = r.Live.List(ctx, list, opts...)
		}
	case *sourcev1.OCIRepositoryList:
		if err = r.Kept.List(ctx, list, opts...); err == nil {
			list.Items, err = visible(ctx, r.Viewer, list.Items, func(o *sourcev1.OCIRepository) string { return o.Namespace }, right(sourcev1.GroupVersion.Group, "ocirepositories"))
		}
	case *sourcev1.HelmChartList:
		if err = r.Kept.List(ctx, list, opts...); err == nil {
			list.Items, err = visible(ctx, r.Viewer, list.Items, func(o *sourcev1.HelmChart) string { return o.Namespace }, right(sourcev1.GroupVersion.Group, "helmcharts"))
		}
	case *corev1.NamespaceList:
		if err = r.Check(ctx, right("", "namespaces")); err == nil {
			err = r.Live.List(ctx, list, opts...)
		}
	default:
		err = fmt.Errorf("%T is not read", list)
	}
	return r.public(err)
}
