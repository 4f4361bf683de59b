// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/diff"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/parallel"
	"github.com/pintle-dev/pintle/internal/view/read"
)

// Source reads objects for users. It is safe for concurrent use.
type Source struct {
	Rights *Rights
	// Kept reads the objects that the controller keeps.
	Kept client.Reader
	// Live reads objects that the controller does not keep, with its own identity.
	Live client.Reader
	// KeepsOperations reports whether the controller keeps Operations, their Jobs and their Pods.
	KeepsOperations func() bool
	// As returns a reader of live objects with the identity of a release.
	As func(ctx context.Context, hr *helmv2.HelmRelease) (*read.Reader, error)
	// Charts has the artifacts that the controller downloads, and Settings its settings.
	Charts   *chart.Store
	Settings inputs.Settings
	// Compare compares live objects with the identity of a release.
	Compare Compare
	// Readiness reads the readiness of objects in other clusters, with the identity of a release.
	Readiness Readiness
	Scheme    *runtime.Scheme
	Now       func() time.Time
	// Log has the errors that users do not see. It is optional.
	Log logr.Logger
}

// Viewer reads the objects that one user may see. It is safe for concurrent use.
type Viewer struct {
	*Source
	User *authenticationv1.UserInfo
}

// Check returns nil if the user has a right for all namespaces, for its namespace, or for its one
// object. The answers are requested in this order, because the first one serves most requests. The
// error for a missing right is a *Denied.
func (v *Viewer) Check(ctx context.Context, right authorizationv1.ResourceAttributes) error {
	for _, wider := range widestFirst(right) {
		if allowed, err := v.Rights.Allowed(ctx, v.User, wider); err != nil || allowed {
			return err
		}
	}
	return &Denied{Right: right}
}

// widestFirst returns the rights of which each one includes a right.
func widestFirst(right authorizationv1.ResourceAttributes) []authorizationv1.ResourceAttributes {
	everywhere, inNamespace := right, right
	everywhere.Namespace, everywhere.Name, inNamespace.Name = "", "", ""
	all := []authorizationv1.ResourceAttributes{everywhere}
	if right.Namespace != "" {
		all = append(all, inNamespace)
	}
	if right.Name != "" {
		all = append(all, right)
	}
	return all
}

// Namespaces returns the namespaces in which the user has a right. If the user has it in all
// namespaces, that costs one review.
func (v *Viewer) Namespaces(ctx context.Context, right authorizationv1.ResourceAttributes, namespaces []string) (map[string]bool, error) {
	right.Namespace, right.Name = "", ""
	everywhere, err := v.Rights.Allowed(ctx, v.User, right)
	if err != nil {
		return nil, err
	}
	ok := slices.Repeat([]bool{everywhere}, len(namespaces))
	if !everywhere {
		err = cmp.Or(parallel.Do(ctx, len(namespaces), maxReviews, func(i int) (err error) {
			there := right
			there.Namespace = namespaces[i]
			ok[i], err = v.Rights.Allowed(ctx, v.User, there)
			return err
		})...)
	}
	allowed := make(map[string]bool, len(namespaces))
	for i, namespace := range namespaces {
		if ok[i] {
			allowed[namespace] = true
		}
	}
	return allowed, err
}

func ofHelmReleases(namespace, name string) authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{
		Verb: "get", Group: helmv2.GroupVersion.Group, Version: helmv2.GroupVersion.Version, Resource: "helmreleases", Namespace: namespace, Name: name,
	}
}

// Release returns a HelmRelease. The rights are checked first, so that neither the error nor the time
// shows whether a HelmRelease exists that the user may not get.
func (v *Viewer) Release(ctx context.Context, namespace, name string) (*helmv2.HelmRelease, error) {
	if err := v.Check(ctx, ofHelmReleases(namespace, name)); err != nil {
		return nil, err
	}
	hr := &helmv2.HelmRelease{}
	return hr, v.Kept.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, hr)
}

// Releases returns the HelmReleases that the user may get: all, or only in some namespaces.
func (v *Viewer) Releases(ctx context.Context) ([]helmv2.HelmRelease, error) {
	list := &helmv2.HelmReleaseList{}
	// The objects are only read.
	if err := v.Kept.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	return visible(ctx, v, list.Items, func(hr *helmv2.HelmRelease) string { return hr.Namespace }, ofHelmReleases("", ""))
}

// Contents returns nil if the user may see what a release is made of: values, manifests and diffs.
// They are in the Secrets of the storage namespace that a comparison reads.
func (v *Viewer) Contents(ctx context.Context, hr *helmv2.HelmRelease) error {
	return v.Check(ctx, toSecrets(diff.StoredTarget(hr).StorageNamespace))
}

func toSecrets(namespace string) authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{Verb: "get", Version: "v1", Resource: "secrets", Namespace: namespace}
}

// Logs returns nil if the user may see the logs of the Pods in a namespace.
func (v *Viewer) Logs(ctx context.Context, namespace string) error {
	return v.Check(ctx, authorizationv1.ResourceAttributes{Verb: "get", Version: "v1", Resource: "pods", Subresource: "log", Namespace: namespace})
}

// may reports whether Check returns no error. A review that fails is a missing right.
func (v *Viewer) may(ctx context.Context, right authorizationv1.ResourceAttributes) bool {
	err := v.Check(ctx, right)
	if err != nil && !apierrors.IsForbidden(err) {
		v.Log.Info("right not checked", "user", v.User.Username, "error", err.Error())
	}
	return err == nil
}
