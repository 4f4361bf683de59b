// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Scheme returns a scheme with every kind that the controllers read or write.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, helmv2.AddToScheme, sourcev1.AddToScheme, opsv1alpha1.AddToScheme, v1alpha1.AddToScheme,
		cattlev1.AddToScheme,
	} {
		// Each can only fail by a conflict with another, which every start would show.
		utilruntime.Must(add(scheme))
	}
	return scheme
}
