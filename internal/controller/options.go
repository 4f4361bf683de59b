// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/events"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/helmchart/archive"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/metrics"
)

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
	// NoCrossNamespaceRefs refuses sources in other namespaces.
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
	// HelmCharts configures the controller of HelmCharts.
	HelmCharts HelmCharts
	// OperationCleanupTimeout is how long a deleted Operation waits until its objects in other
	// namespaces and clusters are deleted.
	OperationCleanupTimeout time.Duration
	// OperationsServed, if set, is called when the controller of Operations starts.
	OperationsServed func()
	// NewQueue returns the work queues of both controllers; nil is the default. Tests set it.
	NewQueue NewQueue
}

// HelmCharts configures the controller of HelmCharts.
type HelmCharts struct {
	// Enabled runs the controller.
	Enabled bool
	// ReinstallAsK3s reinstalls failed releases even if they hold claims.
	ReinstallAsK3s bool
	// Archives reads archives. It is required if Enabled is set.
	Archives *archive.Reader
}

// Shared are the parts that both reconcilers share.
type Shared struct {
	Connections *ConnectionFinder
	Locks       *Locks
	Events      EventRecorder
}

// Shared returns the parts that both reconcilers share.
func (o Options) Shared(mgr ctrl.Manager) Shared {
	return Shared{
		Connections: &ConnectionFinder{
			Live: mgr.GetAPIReader(), Clusters: o.Clusters, DefaultServiceAccount: o.DefaultServiceAccount, Workloads: o.Workloads,
		},
		Locks:  NewLocks(mgr.GetClient(), mgr.GetAPIReader()),
		Events: Recorder(mgr, cmp.Or(o.Observe, helmv2.ControllerName), o.Notifications),
	}
}
