// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
)

// deputy is who acts for a release.
type deputy struct {
	// getter is the way to Helm's storage.
	getter genericclioptions.RESTClientGetter
	// client reads nothing from memory.
	client client.Client
	// logs opens the log of a container.
	logs func(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error)
}

// delegates makes deputies of the identities of releases.
type delegates struct{ where *whereabouts }

// as implements delegation.
func (d delegates) as(ctx context.Context, hr *helmv2.HelmRelease) (*deputy, error) {
	way, err := d.way(ctx, hr)
	if err != nil {
		return nil, err
	}
	config, err := way.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	mapper, err := way.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{HTTPClient: way.HTTPClient(), Mapper: mapper, Scheme: Scheme()})
	if err != nil {
		return nil, fmt.Errorf("client of the release: %w", err)
	}
	core, err := corev1client.NewForConfigAndClient(config, way.HTTPClient())
	if err != nil {
		return nil, fmt.Errorf("client for logs: %w", err)
	}
	return &deputy{
		getter: way, client: c,
		logs: func(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error) {
			return core.Pods(namespace).GetLogs(pod, options).Stream(ctx)
		},
	}, nil
}

// way leads to the controller's own cluster always: nothing is done in others.
func (d delegates) way(ctx context.Context, hr *helmv2.HelmRelease) (*cluster.Connection, error) {
	if hr == nil {
		return d.where.clusters.For(cluster.Identity{})
	}
	if hr.Spec.KubeConfig != nil {
		return nil, errors.New("the release is in another cluster")
	}
	way, unreachable, err := d.where.reach(ctx, hr)
	if err == nil && unreachable != "" {
		err = errors.New(unreachable)
	}
	return way, err
}
