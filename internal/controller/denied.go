// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// ExplainDenial returns the obstacle that the identity of a release may not read an object, in
// place of the API server's error, which names neither the field of the HelmRelease nor the remedy.
// It returns other obstacles as they are.
func (f *ConnectionFinder) ExplainDenial(ctx context.Context, hr *helmv2.HelmRelease, blocked *release.Blocked) *release.Blocked {
	var refusal apierrors.APIStatus
	ok := errors.As(blocked.Err, &refusal)
	if !ok || !apierrors.IsForbidden(blocked.Err) {
		return blocked
	}
	status := refusal.Status()
	if status.Details == nil || status.Details.Kind == "" || !answered(status.Details) {
		return blocked
	}
	identity, todo, missing := f.identityOf(ctx, hr)
	explained := *blocked
	if !missing {
		identity += ", which may not read " + resourceName(status.Details.Group, status.Details.Kind, hr.GetStorageNamespace())
	}
	explained.Message = strings.TrimSuffix(blocked.Message, blocked.Err.Error()) + identity
	explained.Todo = todo
	return &explained
}

// answered reports whether the details are of an API server. client-go makes them for other answers,
// such as the page of a proxy.
func answered(d *metav1.StatusDetails) bool {
	return !slices.ContainsFunc(d.Causes, func(c metav1.StatusCause) bool { return c.Type == metav1.CauseTypeUnexpectedServerResponse })
}

// identityOf returns a clause about the identity of a release that names its field, how to give
// the identity a right, and whether its ServiceAccount is missing.
func (f *ConnectionFinder) identityOf(ctx context.Context, hr *helmv2.HelmRelease) (identity, todo string, missing bool) {
	account := hr.Namespace + "/" + f.serviceAccountName(hr)
	where := ""
	if hr.Spec.KubeConfig != nil {
		where = " in the cluster of " + ConnectionReference(hr)
	} else if f.serviceAccountName(hr) != "" {
		missing = apierrors.IsNotFound(f.serviceAccount(ctx, hr))
	}
	todo = "Bind a role to " + account
	if missing {
		todo = "Create ServiceAccount " + account + " and bind a role to it"
	}
	switch {
	case hr.Spec.ServiceAccountName != "":
		identity = "this release acts as " + account + " (spec.serviceAccountName)"
	case f.DefaultServiceAccount != "":
		identity = "this release acts as " + account + " (--default-service-account)"
		todo += ", or set spec.serviceAccountName"
	case where != "":
		identity, where = "this release acts as the identity in "+ConnectionReference(hr), ""
		todo = "Give that identity the right, or set spec.serviceAccountName"
	default:
		identity = "this release acts as the controller"
		todo = "Set spec.serviceAccountName, or bind a role to the ServiceAccount of the controller"
	}
	if identity += where; missing {
		identity += ", which does not exist"
	}
	return identity, todo, missing
}

// resourceName returns the name of a resource for readers. Records of Helm are Secrets in the storage
// namespace.
func resourceName(group, resource, storage string) string {
	switch {
	case group == "" && resource == "secrets":
		return "Secrets in " + storage
	case group == "" && resource == "configmaps":
		return "ConfigMaps"
	case group == "":
		return resource
	}
	return resource + "." + group
}
