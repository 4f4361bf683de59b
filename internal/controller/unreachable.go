// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/release"
)

const (
	// notReached is the start of messages about clusters that cannot be reached.
	notReached = "Could not reach the cluster of the release"
	// checkRetry is the longest wait for the result of a probe. The end of the probe
	// enqueues the release earlier.
	checkRetry = 30 * time.Second
)

// checkReachable returns an obstacle if the cluster of conn does not answer. The next answer
// enqueues hr. The back-off is for other changes, such as a kubeconfig that is not watched.
func checkReachable(clusters *cluster.Connections, hr *helmv2.HelmRelease, conn *cluster.Connection) error {
	if unreachable := clusters.Admit(conn, client.ObjectKeyFromObject(hr)); unreachable != nil {
		return obstacle(hr, unreachable)
	}
	return nil
}

// obstacle returns the obstacle for an unreachable cluster. It is brief until the first probe
// has ended.
func obstacle(hr *helmv2.HelmRelease, unreachable *cluster.Unreachable) error {
	var err error = unreachable
	if unreachable.Cloud != "" {
		err = fmt.Errorf("%s, key '%s', provider %s: %w", ConnectionReference(hr), unreachable.Key, unreachable.Cloud, unreachable)
	}
	switch {
	case unreachable.Checking:
		return &release.Blocked{
			Reason: helmv2.ReasonStateError, Message: unreachable.Error(), Err: unreachable, Brief: true, Retry: release.After(checkRetry),
		}
	case !hr.DeletionTimestamp.IsZero():
		return release.BlockedBy(helmv2.ReasonUninstallFailed, err, notReached)
	}
	blocked := release.BlockedBy(helmv2.ReasonStateError, err, notReached)
	blocked.Todo = "Check the cluster, and the address in " + ConnectionReference(hr)
	return blocked
}
