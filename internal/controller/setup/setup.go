// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package setup registers the controllers with a manager.
package setup

import (
	"cmp"
	"errors"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/controller/capabilities"
	"github.com/pintle-dev/pintle/internal/controller/connection"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease"
	"github.com/pintle-dev/pintle/internal/controller/operations"
	"github.com/pintle-dev/pintle/internal/events"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/status/message"
)

// Leader election looks for controllers in other namespaces.
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=list

// Options configure the controllers. All but the switches at the end are required.
type Options struct {
	Inputs *inputs.Resolver
	Helm   *helm.Runner
	// Indexed is closed when the index of Helm storage is complete; nil if there is none. The
	// first reconciliations wait for it, for a while: otherwise they read the storage one by one.
	Indexed <-chan struct{}
	// KeyDecided is closed when the key of seals is known, or known not to be available; nil if no
	// key is awaited. The first reconciliations wait for it.
	KeyDecided <-chan struct{}
	// Clusters connects to the clusters of releases. DefaultServiceAccount is the ServiceAccount
	// to impersonate where a HelmRelease names none; empty is the controller's own identity.
	Clusters              *cluster.Connections
	DefaultServiceAccount string
	// Workloads limits the contents of ConfigMaps that describe other clusters.
	Workloads cluster.WorkloadOptions
	Metrics   *metrics.Metrics
	// Notifications posts events; nil posts none.
	Notifications *events.Sender
	Now           func() time.Time
	// Concurrent is the number of objects of a kind that are reconciled, and of Helm actions that
	// run, at the same time.
	Concurrent int
	// MinRetryDelay and MaxRetryDelay bound the back-off.
	MinRetryDelay time.Duration
	MaxRetryDelay time.Duration
	// JitterPercent is how far intervals are spread either way, 0 to 99. With 0, the first
	// intervals after the start are not spread either.
	JitterPercent int
	// NoCrossNamespaceRefs refuses HelmCharts in other namespaces.
	NoCrossNamespaceRefs bool
	// ExternalArtifacts watches objects of that kind, whose CRD must exist then.
	ExternalArtifacts bool
	// NoConfigWatches leaves changes of ConfigMaps and Secrets to the next interval.
	NoConfigWatches bool
	// OverriddenManagers are field managers whose fields drift detection compares and corrects.
	OverriddenManagers []string
	// WatchedNamespace is the only one in which live objects are watched; empty is all.
	WatchedNamespace string
	// Defaults are the defaults of fields that feature gates change.
	Defaults helmv2.Defaults
	// AllowDNS lets templates look up names.
	AllowDNS bool
	// OperationTimeout is the longest wait of an Operation and the longest run of one of its
	// Jobs; zero sets no limit. ClusterID is a label of the Jobs; empty for none.
	OperationTimeout time.Duration
	ClusterID        string
	// Observe reports what would be done to each release, under this name, and does nothing. Empty
	// acts.
	Observe string
	// OperationsServed is called when the controller of Operations begins. It is optional.
	OperationsServed func()
	// NewQueue returns the work queues of both controllers; nil is the default. Tests set it.
	NewQueue controller.NewQueue
}

// Add registers both controllers with a manager, and the parts that they share: probes of clusters
// that do not answer, and the watch of the capabilities of the API server. It returns the controller
// of HelmReleases, which reports to tests what it does.
func Add(mgr ctrl.Manager, o Options) (*helmrelease.Controller, error) {
	if missing := missingCRD(mgr.GetRESTMapper()); missing != "" {
		mgr.GetLogger().Error(errors.New(missing), "the HelmReleases cannot be watched")
	}
	connections := &connection.Finder{
		Live: mgr.GetAPIReader(), Clusters: o.Clusters, DefaultServiceAccount: o.DefaultServiceAccount, Workloads: o.Workloads,
	}
	locks, recorder := controller.NewLocks(mgr.GetClient(), mgr.GetAPIReader()), controller.Recorder(mgr, cmp.Or(o.Observe, helmv2.ControllerName), o.Notifications)
	releases, err := helmrelease.Add(mgr, helmrelease.Options{
		Inputs: o.Inputs, Helm: o.Helm, Connections: connections, Locks: locks, Metrics: o.Metrics, Events: recorder, Now: o.Now,
		Indexed: o.Indexed, KeyDecided: o.KeyDecided, Concurrent: o.Concurrent,
		MinRetryDelay: o.MinRetryDelay, MaxRetryDelay: o.MaxRetryDelay, JitterPercent: o.JitterPercent,
		NoCrossNamespaceRefs: o.NoCrossNamespaceRefs, ExternalArtifacts: o.ExternalArtifacts, NoConfigWatches: o.NoConfigWatches,
		OverriddenManagers: o.OverriddenManagers, WatchedNamespace: o.WatchedNamespace, Defaults: o.Defaults, AllowDNS: o.AllowDNS,
		Observe: o.Observe != "", NewQueue: o.NewQueue,
	})
	if err != nil {
		return nil, err
	}
	if o.Observe != "" {
		return releases, errors.Join(addClusters(mgr, o, releases), addCapabilities(mgr, o.Clusters, releases, nil))
	}
	ops, err := operations.Add(mgr, operations.Options{
		Events: recorder, Metrics: o.Metrics, Hooks: o.Helm, Values: o.Inputs, Connections: connections, Locks: locks,
		Enqueue: releases.Enqueue, Now: o.Now, Timeout: o.OperationTimeout, ClusterID: o.ClusterID,
		Namespace: o.WatchedNamespace, Concurrent: o.Concurrent, Served: o.OperationsServed,
		NewQueue: o.NewQueue,
	})
	if err != nil {
		return nil, err
	}
	return releases, errors.Join(addClusters(mgr, o, releases), addCapabilities(mgr, o.Clusters, releases, ops))
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
func addClusters(mgr ctrl.Manager, o Options, releases *helmrelease.Controller) error {
	core, err := corev1client.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	o.Clusters.SetTokenRequester(connection.Tokens(core))
	o.Clusters.SetCallbacks(cluster.Callbacks{Enqueue: releases.Enqueue, Reachable: releases.ClusterReachable, Unreachable: o.Metrics.ClusterUnreachable})
	return mgr.Add(o.Clusters)
}

// addCapabilities runs the watch of the capabilities of the controller's own cluster. ops is nil if
// no Operations run.
func addCapabilities(mgr ctrl.Manager, clusters *cluster.Connections, releases *helmrelease.Controller, ops *operations.Starter) error {
	watch, err := capabilities.New(mgr.GetConfig(), mgr.GetHTTPClient(), capabilities.Observer{
		Changed: func() {
			clusters.APIsChanged()
			releases.CapabilitiesChanged()
			if ops != nil {
				ops.CapabilitiesChanged()
			}
		},
		Watched: clusters.SetAPIsWatched,
	})
	if err != nil {
		return err
	}
	return mgr.Add(watch)
}
