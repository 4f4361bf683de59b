// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/release"
)

// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=get
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get

// ConnectionFinder finds connections to the clusters of releases.
type ConnectionFinder struct {
	// Live reads as the controller and past caches, which do not keep the data of Secrets.
	Live     client.Reader
	Clusters *cluster.Connections
	// DefaultServiceAccount is the ServiceAccount to impersonate if a HelmRelease names none.
	// Empty is the controller's own identity.
	DefaultServiceAccount string
	// Workloads limits the contents of ConfigMaps that describe other clusters.
	Workloads cluster.WorkloadOptions
}

// Find returns the connection to the cluster of the release of hr, with the impersonated
// identity. unreachable is set if there is none and never will be: hr and its namespace are
// being deleted, and an object that hr refers to does not exist. In a namespace that is not
// being deleted, the error waits for that object.
func (f *ConnectionFinder) Find(ctx context.Context, hr *helmv2.HelmRelease) (conn *cluster.Connection, unreachable string, err error) {
	deleted := !hr.DeletionTimestamp.IsZero()
	id := cluster.Identity{User: f.User(hr), Fresh: !hr.UsePersistentClient()}
	if hr.Spec.KubeConfig != nil {
		if err = identify(ctx, f.Live, f.Workloads, hr, &id); err == nil {
			var unknown *cluster.Unreachable
			if id, unknown = f.Clusters.Locate(id, client.ObjectKeyFromObject(hr)); unknown != nil {
				return nil, "", obstacle(hr, unknown)
			}
		}
	} else if deleted && id.User != "" {
		// The API server accepts the impersonation of a ServiceAccount that does not exist
		// and then forbids every request. A namespace that is being deleted loses its
		// ServiceAccounts while HelmReleases in it still wait.
		err = f.serviceAccount(ctx, hr)
	}
	if err == nil {
		conn, err = f.connect(hr, id)
	}
	if err == nil {
		if blocked := checkReachable(f.Clusters, hr, conn); blocked != nil {
			return nil, "", blocked
		}
		return conn, "", nil
	}
	f.Clusters.Forget(client.ObjectKeyFromObject(hr))
	switch {
	case deleted && apierrors.IsNotFound(err):
		return f.missing(ctx, hr, err)
	case deleted:
		return nil, "", release.BlockedBy(helmv2.ReasonUninstallFailed, err, notReached)
	}
	return nil, "", release.BlockedBy(helmv2.ReasonRESTClientError, err, notReached)
}

// Peek returns the connection to the cluster of a release, for reads that are no part of a
// reconciliation: it does not change for which cluster hr waits. The error is not nil if another
// cluster is not known to answer.
func (f *ConnectionFinder) Peek(ctx context.Context, hr *helmv2.HelmRelease) (*cluster.Connection, error) {
	id := cluster.Identity{User: f.User(hr), Fresh: !hr.UsePersistentClient()}
	if hr.Spec.KubeConfig != nil {
		if err := identify(ctx, f.Live, f.Workloads, hr, &id); err != nil {
			return nil, err
		}
	}
	return f.Clusters.Peek(id)
}

// Explain returns the obstacle that the cluster does not answer, if that is known, in place of
// the error of a request to it.
func (f *ConnectionFinder) Explain(hr *helmv2.HelmRelease, conn *cluster.Connection, err error) error {
	if blocked := checkReachable(f.Clusters, hr, conn); blocked != nil {
		return blocked
	}
	return err
}

// missing returns the results of Find for a HelmRelease that is being deleted and refers to an
// object that does not exist. It reads the namespace, which happens only in this case.
func (f *ConnectionFinder) missing(ctx context.Context, hr *helmv2.HelmRelease, cause error) (conn *cluster.Connection, unreachable string, err error) {
	ns := &corev1.Namespace{}
	unread := f.Live.Get(ctx, client.ObjectKey{Name: hr.Namespace}, ns)
	gone := apierrors.IsNotFound(unread) || unread == nil && !ns.DeletionTimestamp.IsZero()
	if unread != nil && !gone {
		cause = fmt.Errorf("%w; Namespace '%s' could not be read: %w", cause, hr.Namespace, unread)
	}
	unreachable, blocked := release.DeletionWithout(cause, gone)
	if blocked != nil {
		return nil, "", blocked
	}
	return nil, unreachable, nil
}

func (f *ConnectionFinder) connect(hr *helmv2.HelmRelease, id cluster.Identity) (*cluster.Connection, error) {
	conn, err := f.Clusters.For(id)
	if err != nil && hr.Spec.KubeConfig != nil {
		return nil, fmt.Errorf("kubeconfig of %s: %w", ConnectionReference(hr), err)
	}
	return conn, err
}

// Forget removes a HelmRelease from the waiters for unreachable clusters.
func (f *ConnectionFinder) Forget(key client.ObjectKey) { f.Clusters.Forget(key) }

// User returns the impersonated identity, empty for the controller's own.
func (f *ConnectionFinder) User(hr *helmv2.HelmRelease) string {
	name := f.serviceAccountName(hr)
	if name == "" {
		return ""
	}
	return "system:serviceaccount:" + hr.Namespace + ":" + name
}

func (f *ConnectionFinder) serviceAccountName(hr *helmv2.HelmRelease) string {
	if hr.Spec.ServiceAccountName != "" {
		return hr.Spec.ServiceAccountName
	}
	return f.DefaultServiceAccount
}

// ServiceAccountMissing reports whether the ServiceAccount that is impersonated for hr does not
// exist.
func (f *ConnectionFinder) ServiceAccountMissing(ctx context.Context, hr *helmv2.HelmRelease) (bool, error) {
	if f.User(hr) == "" {
		return false, nil
	}
	err := f.serviceAccount(ctx, hr)
	return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
}

// serviceAccount returns an error if the ServiceAccount of hr does not exist.
func (f *ConnectionFinder) serviceAccount(ctx context.Context, hr *helmv2.HelmRelease) error {
	key := client.ObjectKey{Namespace: hr.Namespace, Name: f.serviceAccountName(hr)}
	if err := f.Live.Get(ctx, key, &corev1.ServiceAccount{}); err != nil {
		return fmt.Errorf("ServiceAccount '%s': %w", key, err)
	}
	return nil
}
