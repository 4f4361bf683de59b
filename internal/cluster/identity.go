// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/sha256"
	"fmt"

	"k8s.io/client-go/rest"
)

// LocalCluster is the Connection.Cluster of the controller's own cluster.
const LocalCluster = "local"

// Identity selects a cluster and a user in it. The zero value is the controller in its own cluster.
type Identity struct {
	// User is the impersonated user, "system:serviceaccount:<namespace>:<name>"; empty for no
	// impersonation.
	User string
	// Kubeconfig is the content of the kubeconfig of another cluster; nil for the cluster of
	// the controller.
	Kubeconfig []byte
	// Workload selects another cluster in place of a kubeconfig; nil for none.
	Workload *Workload
	// locator located the Workload; nil if it needed no cloud lookup. Locate sets it.
	locator *locator
	// Fresh requests a connection that is not shared and not cached.
	Fresh bool
}

// impersonate sets the user of all requests by a configuration. Other fields of impersonation stay empty:
// the API server adds the groups of a ServiceAccount itself.
func (i Identity) impersonate(config *rest.Config) { config.Impersonate.UserName = i.User }

// digest is the digest of a kubeconfig, a Workload or a lookup.
type digest = [sha256.Size]byte

// connectionKey is the key of a cached connection. It contains the digest of the kubeconfig, so
// that a changed kubeconfig has another connection.
type connectionKey struct {
	user   string
	remote bool
	digest digest
}

func (i Identity) key() connectionKey {
	if i.Workload != nil {
		return connectionKey{user: i.User, remote: true, digest: i.Workload.digest()}
	}
	return connectionKey{user: i.User, remote: i.Kubeconfig != nil, digest: sha256.Sum256(i.Kubeconfig)}
}

// String returns a text that differs between any two keys.
func (k connectionKey) String() string { return fmt.Sprintf("%s %t %x", k.user, k.remote, k.digest) }

// clusterOf returns the Connection.Cluster of another cluster.
func clusterOf(d digest) string { return fmt.Sprintf("%x", d) }
