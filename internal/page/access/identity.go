// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/diagnosis/evidence"
	"github.com/pintle-dev/pintle/internal/view/read"
)

// Find finds the connection to the cluster of a release. It has no effect on reconciliations. The
// error is not nil if another cluster is not known to answer.
type Find func(ctx context.Context, hr *helmv2.HelmRelease) (*cluster.Connection, error)

// AsRelease returns a reader with the identity of a release.
func AsRelease(find Find, scheme *runtime.Scheme) func(ctx context.Context, hr *helmv2.HelmRelease) (*read.Reader, error) {
	return func(ctx context.Context, hr *helmv2.HelmRelease) (*read.Reader, error) {
		conn, c, err := connect(ctx, find, scheme, hr)
		if err != nil {
			return nil, err
		}
		causes, err := evidence.New(conn)
		if err != nil {
			return nil, err
		}
		return &read.Reader{Client: c, Mapper: c.RESTMapper(), Examine: causes.Examine, Stored: read.Storage(conn)}, nil
	}
}

// connect returns the connection to the cluster of a release, and a client that uses it.
func connect(ctx context.Context, find Find, scheme *runtime.Scheme, hr *helmv2.HelmRelease) (*cluster.Connection, client.Client, error) {
	conn, err := find(ctx, hr)
	if err != nil {
		return nil, nil, err
	}
	c, err := clientOf(conn, scheme)
	return conn, c, err
}

// clientOf returns a client that uses a connection.
func clientOf(conn *cluster.Connection, scheme *runtime.Scheme) (client.Client, error) {
	mapper, err := conn.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	config, err := conn.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	return client.New(config, client.Options{HTTPClient: conn.HTTPClient(), Scheme: scheme, Mapper: mapper})
}
