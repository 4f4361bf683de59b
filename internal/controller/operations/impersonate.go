// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/watch"
)

// identity reads and acts with the impersonated identity of a release.
type identity struct {
	// getter connects to Helm's storage.
	getter genericclioptions.RESTClientGetter
	// client reads past caches.
	client client.Client
	// logs opens the log of a container.
	logs func(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error)
	// watched is the cluster, to watch as the controller.
	watched watch.Cluster
}

// impersonator makes the identities of releases.
type impersonator struct {
	connections *controller.ConnectionFinder
	scheme      *runtime.Scheme
}

// of implements identities.
func (i impersonator) of(ctx context.Context, hr *helmv2.HelmRelease) (*identity, error) {
	conn, err := i.connect(ctx, hr)
	if err != nil {
		return nil, err
	}
	config, err := conn.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	mapper, err := conn.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{HTTPClient: conn.HTTPClient(), Mapper: mapper, Scheme: i.scheme})
	if err != nil {
		return nil, fmt.Errorf("client of the release: %w", err)
	}
	core, err := corev1client.NewForConfigAndClient(config, conn.HTTPClient())
	if err != nil {
		return nil, fmt.Errorf("client for logs: %w", err)
	}
	return &identity{
		getter: conn, client: c,
		watched: watch.Cluster{
			ID:     conn.Cluster(),
			Client: func() (metadata.Interface, error) { return metadata.NewForConfig(conn.Unimpersonated()) },
		},
		logs: func(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error) {
			return core.Pods(namespace).GetLogs(pod, options).Stream(ctx)
		},
	}, nil
}

// connect returns a connection to the cluster of a release, or to the controller's own for nil.
func (i impersonator) connect(ctx context.Context, hr *helmv2.HelmRelease) (*cluster.Connection, error) {
	if hr == nil {
		return i.connections.Clusters.For(cluster.Identity{})
	}
	conn, unreachable, err := i.connections.Find(ctx, hr)
	if err == nil && unreachable != "" {
		err = errGone{unreachable}
	}
	return conn, err
}

// missing implements identities.
func (i impersonator) missing(ctx context.Context, hr *helmv2.HelmRelease) (bool, error) {
	return i.connections.ServiceAccountMissing(ctx, hr)
}

// errGone is the error of a connection that can never be made again.
type errGone struct{ why string }

// Error implements error.
func (e errGone) Error() string { return e.why }
