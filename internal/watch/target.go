// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
)

// Cluster is the cluster of watched objects.
type Cluster struct {
	// ID distinguishes clusters. Without an ID nothing is watched.
	ID string
	// Client returns a client that may watch metadata. It is called whenever a watch starts or has
	// failed, without a lock held.
	Client func() (metadata.Interface, error)
}

// Target is the selection of one watch.
type Target struct {
	Resource schema.GroupVersionResource
	// Namespace and Name select one object, with or without the label of a release. Namespace is
	// empty for cluster-scoped kinds. Without a name, all objects of the kind with the label of
	// a release are watched.
	Namespace, Name string
}

// kindKey is the key of a watch.
type kindKey struct {
	cluster string
	target  Target
}
