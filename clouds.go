// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/cluster/cloudauth"
)

// lookUpCluster requests access to a cluster from its cloud.
func lookUpCluster(ctx context.Context, w *cluster.Workload, tokens cluster.TokenRequester) (cluster.Access, error) {
	access, err := cloudauth.Get(ctx, cloudauth.Cluster{
		Provider: w.Cloud, Resource: w.Resource, Address: w.Address, CA: w.CA,
		Audiences: w.Audiences, ServiceAccount: w.ServiceAccount, Annotations: w.Annotations,
	}, cloudauth.TokenRequester(tokens))
	return cluster.Access(access), err
}
