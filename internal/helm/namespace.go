// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// acceptsObjects reports whether a namespace exists, for an identity that may neither
// read nor create it: it sends dry runs of the release's objects there until one answer
// proves it. Without proof it returns false.
func (r *run) acceptsObjects(namespace string) bool {
	for _, info := range r.client.built {
		if !info.Namespaced() || info.Namespace != namespace {
			continue
		}
		switch err := r.client.tryOut(info); {
		case err == nil, apierrors.IsInvalid(err), apierrors.IsAlreadyExists(err):
			return true
		case apierrors.IsNotFound(err):
			return false
		}
	}
	return false
}
