// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helmchart"
	"github.com/pintle-dev/pintle/internal/helmchart/archive"
)

// ArchiveAccess returns what the archive of a HelmChart is downloaded with. It reads as the ServiceAccount
// of the release, since the author of the HelmChart chooses the server, and may have no right to read
// Secrets.
func (f *ConnectionFinder) ArchiveAccess(ctx context.Context, c *cattlev1.HelmChart) (archive.Access, error) {
	if c.Spec.AuthSecret == nil && c.Spec.RepoCAConfigMap == nil {
		return archive.ReadAccess(ctx, nil, c)
	}
	hr := &helmv2.HelmRelease{}
	hr.Namespace, hr.Name = c.Namespace, c.Name
	account := types.NamespacedName{Namespace: c.Namespace, Name: helmchart.ServiceAccountName(c)}
	switch err := f.Live.Get(ctx, account, &corev1.ServiceAccount{}); {
	case err == nil:
		hr.Spec.ServiceAccountName = account.Name
	case client.IgnoreNotFound(err) != nil:
		return archive.Access{}, err
	case f.DefaultServiceAccount == "":
		return archive.Access{}, fmt.Errorf("ServiceAccount '%s', which would read Secrets and ConfigMaps, does not exist", account)
	}
	conn, err := f.Peek(ctx, hr)
	if err != nil {
		return archive.Access{}, err
	}
	config, err := conn.ToRESTConfig()
	if err != nil {
		return archive.Access{}, err
	}
	mapper, err := conn.ToRESTMapper()
	if err != nil {
		return archive.Access{}, err
	}
	reader, err := client.New(config, client.Options{HTTPClient: conn.HTTPClient(), Mapper: mapper, Scheme: Scheme()})
	if err != nil {
		return archive.Access{}, err
	}
	return archive.ReadAccess(ctx, reader, c)
}
