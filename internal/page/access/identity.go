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

// Find finds the connection to the cluster of a release.
type Find func(ctx context.Context, hr *helmv2.HelmRelease) (conn *cluster.Connection, unreachable string, err error)

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
	conn, unreachable, err := find(ctx, hr)
	if err != nil {
		return nil, nil, err
	}
	if unreachable != "" {
		return nil, nil, errUnreachable(unreachable)
	}
	mapper, err := conn.ToRESTMapper()
	if err != nil {
		return nil, nil, err
	}
	config, err := conn.ToRESTConfig()
	if err != nil {
		return nil, nil, err
	}
	c, err := client.New(config, client.Options{HTTPClient: conn.HTTPClient(), Scheme: scheme, Mapper: mapper})
	return conn, c, err
}

// errUnreachable is the error for a cluster that does not exist any more.
type errUnreachable string

func (e errUnreachable) Error() string { return string(e) }
