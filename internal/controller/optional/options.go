// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package optional

import (
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Options configure a Kind. All are required unless noted.
type Options[T client.Object] struct {
	Resource schema.GroupVersionResource
	// New returns an empty object.
	New func() T
	// Namespace is the only watched namespace; empty means all.
	Namespace string
	// Lazy keeps the kind from being listed before Use is called.
	Lazy bool
	// IgnoreForbidden makes a kind that may not be listed count as not served.
	IgnoreForbidden bool
	// Changed is called after each change of an object, and with an empty key if any object may
	// have changed, or whether they are known. It must not block.
	Changed func(key types.NamespacedName)
	Log     logr.Logger
	Now     func() time.Time
}

// decode returns an object of the kind.
func (k Options[T]) decode(u *unstructured.Unstructured) (T, error) {
	object := k.New()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, object); err != nil {
		return object, fmt.Errorf("%s %s: %w", u.GetKind(), u.GetName(), err)
	}
	object.SetManagedFields(nil)
	return object, nil
}
