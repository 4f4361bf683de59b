// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package setup registers the controllers with a manager.
package setup

import (
	"errors"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/controller/capabilities"
	"github.com/pintle-dev/pintle/internal/controller/helmcharts"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease"
	"github.com/pintle-dev/pintle/internal/controller/operations"
	"github.com/pintle-dev/pintle/internal/controller/optional"
	"github.com/pintle-dev/pintle/internal/status/message"
)

// Leader election looks for controllers in other namespaces.
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=list

// Add registers the controllers with a manager, and the parts that they share: probes of clusters
// that do not answer, and the watch of the capabilities of the API server. It returns the controller
// of HelmReleases, which reports to tests what it does.
func Add(mgr ctrl.Manager, o controller.Options) (*helmrelease.Controller, error) {
	if missing := missingCRD(mgr.GetRESTMapper()); missing != "" {
		mgr.GetLogger().Error(errors.New(missing), "the HelmReleases cannot be watched")
	}
	shared := o.Shared(mgr)
	releases, err := helmrelease.Add(mgr, o, shared)
	if err != nil {
		return nil, err
	}
	if o.Observe != "" {
		return releases, errors.Join(addClusters(mgr, o, releases), addCapabilities(mgr, o.Clusters, releases))
	}
	ops, err := operations.Add(mgr, o, shared, releases)
	if err != nil {
		return nil, err
	}
	waiting := []*optional.Starter{ops}
	if o.HelmCharts.Enabled {
		charts, err := helmcharts.Add(mgr, o, shared, releases.Enqueue)
		if err != nil {
			return nil, err
		}
		waiting = append(waiting, charts)
	}
	return releases, errors.Join(addClusters(mgr, o, releases), addCapabilities(mgr, o.Clusters, releases, waiting...))
}

// missingCRD returns a message if the API server does not serve HelmReleases. controller-runtime
// repeats the watch for some minutes, and its error names only the kind.
func missingCRD(mapper apimeta.RESTMapper) string {
	kind := helmv2.GroupVersion.WithKind(helmv2.HelmReleaseKind)
	if _, err := mapper.RESTMapping(kind.GroupKind(), kind.Version); !apimeta.IsNoMatchError(err) {
		return ""
	}
	return message.Parts{
		What: "the API server does not serve kind HelmRelease in version " + helmv2.GroupVersion.String() + ": its CRD is missing or older",
		Left: "Nothing is reconciled, and installed releases stay",
		Next: "Apply config/crd. The controller tries again for some minutes, and then ends",
	}.String()
}

// addClusters runs the probes of clusters that do not answer, and lets other clusters get tokens
// of ServiceAccounts.
func addClusters(mgr ctrl.Manager, o controller.Options, releases *helmrelease.Controller) error {
	core, err := corev1client.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	o.Clusters.SetTokenRequester(controller.Tokens(core))
	o.Clusters.SetCallbacks(cluster.Callbacks{Enqueue: releases.Enqueue, Reachable: releases.ClusterReachable, Unreachable: o.Metrics.ClusterUnreachable})
	return mgr.Add(o.Clusters)
}

// addCapabilities runs the watch of the capabilities of the controller's own cluster. waiting are the
// controllers that wait for their CRDs.
func addCapabilities(mgr ctrl.Manager, clusters *cluster.Connections, releases *helmrelease.Controller, waiting ...*optional.Starter) error {
	watch, err := capabilities.New(mgr.GetConfig(), mgr.GetHTTPClient(), capabilities.Observer{
		Changed: func() {
			clusters.APIsChanged()
			releases.CapabilitiesChanged()
			for _, w := range waiting {
				w.CapabilitiesChanged()
			}
		},
		Watched: clusters.SetAPIsWatched,
	})
	if err != nil {
		return err
	}
	return mgr.Add(watch)
}
