// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
)

// ChartContent returns a function that returns spec.chartContent of a HelmChart.
func ChartContent(live client.Reader) func(ctx context.Context, namespace, name string) (string, error) {
	return func(ctx context.Context, namespace, name string) (string, error) {
		c := &cattlev1.HelmChart{}
		err := live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, c)
		return c.Spec.ChartContent, err
	}
}
