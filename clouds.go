// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/pintle-dev/pintle/internal/cloud"
	"github.com/pintle-dev/pintle/internal/cluster"
)

// find asks clouds for ways into their clusters.
func find(ctx context.Context, w *cluster.Workload, tokens cluster.Tokens) (cluster.Access, error) {
	access, err := cloud.Get(ctx, cloud.Cluster{
		Provider: w.Cloud, Resource: w.Resource, Address: w.Address, CA: w.CA,
		Audiences: w.Audiences, ServiceAccount: w.ServiceAccount, Annotations: w.Annotations,
	}, cloud.Mint(tokens))
	return cluster.Access(access), err
}
