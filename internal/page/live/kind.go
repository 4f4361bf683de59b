// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kind is a kind whose changes are reported.
type Kind struct {
	Object client.Object
	// Users must have the right to get Resource.
	Resource schema.GroupVersionResource
	// Path is the prefix of the paths of pages. The page of an object has the path
	// <Path><namespace>/<name>.
	Path string
}

// May reports whether the user of a stream may get a resource in a namespace.
type May func(ctx context.Context, resource schema.GroupVersionResource, namespace string) (bool, error)
