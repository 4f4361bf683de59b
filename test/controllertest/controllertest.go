// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package controllertest supports tests of the controllers.
package controllertest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
)

// NewClient returns a builder of a fake client with the scheme and indexes of the manager's
// cache.
func NewClient() *fake.ClientBuilder {
	b := fake.NewClientBuilder().WithScheme(controller.Scheme())
	for name, keys := range controller.HelmReleaseIndexes() {
		b = b.WithIndex(&helmv2.HelmRelease{}, name, keys)
	}
	for name, keys := range controller.OperationIndexes() {
		b = b.WithIndex(&opsv1alpha1.Operation{}, name, keys)
	}
	return b
}

// HelmRelease returns a HelmRelease of generation 1, changed by edit.
func HelmRelease(namespace, name string, edit ...func(*helmv2.HelmRelease)) *helmv2.HelmRelease {
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 1, ResourceVersion: "5"}}
	for _, e := range edit {
		e(hr)
	}
	return hr
}
