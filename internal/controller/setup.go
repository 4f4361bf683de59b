// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"math/rand/v2"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/attempt"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/desired"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/metrics"
)

// Parts are what a HelmReleaseReconciler is put together from. All but
// the switches at the end are required.
type Parts struct {
	Desired *desired.Resolver
	Helm    *helm.Runner
	// Indexed is closed when what is stored is known; nil if nobody is going to know
	// it. Visits wait for it, for a while: the first thing they would do otherwise is
	// to ask for it, one by one.
	Indexed <-chan struct{}
	// Clusters are the ways to where releases live. DefaultServiceAccount is the
	// name of whom Helm acts as where a HelmRelease names nobody; empty is the
	// controller itself.
	Clusters              *cluster.Connections
	DefaultServiceAccount string
	Metrics               *metrics.Metrics
	Now                   func() time.Time
	// Concurrent is how many HelmReleases are visited, and how many Helm actions
	// work, at the same time.
	Concurrent int
	// MinRetryDelay and MaxRetryDelay bound the back-off.
	MinRetryDelay time.Duration
	MaxRetryDelay time.Duration
	// JitterPercent is how far intervals are spread either way, 0 to 99.
	JitterPercent int
	// NoCrossNamespaceRefs keeps from making HelmCharts in other namespaces.
	NoCrossNamespaceRefs bool
	// ExternalArtifacts watches objects of that kind, which must exist then.
	ExternalArtifacts bool
	// NoConfigWatches leaves changes of ConfigMaps and Secrets to the next visit.
	NoConfigWatches bool
	// Defaults are what feature gates make of options that are not set.
	Defaults helmv2.Defaults
	// AllowDNS lets templates look up names.
	AllowDNS bool
}

// AddHelmRelease registers the HelmRelease controller, and the pool its actions
// run in, with a manager.
func AddHelmRelease(mgr ctrl.Manager, p Parts) error {
	ended := &wakeups{}
	pool := attempt.NewPool(p.Concurrent, ended.Wake)
	if err := mgr.Add(pool); err != nil {
		return err
	}
	r := &HelmReleaseReconciler{
		client:   mgr.GetClient(),
		events:   mgr.GetEventRecorderFor(helmv2.ControllerName), //nolint:staticcheck // the newer recorder cannot annotate events, which carry the revision
		metrics:  p.Metrics,
		desired:  p.Desired,
		helm:     p.Helm,
		attempts: pool,
		where:    whereabouts{live: mgr.GetAPIReader(), clusters: p.Clusters, defaultServiceAccount: p.DefaultServiceAccount},
		backoff: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](
			p.MinRetryDelay, p.MaxRetryDelay),
		spread: spreadBy(p.JitterPercent),
		now:    p.Now,
		live:   mgr.GetAPIReader(),

		downloads:            downloads{wake: ended.Wake},
		noCrossNamespaceRefs: p.NoCrossNamespaceRefs,
		externalArtifacts:    p.ExternalArtifacts,
		noConfigWatches:      p.NoConfigWatches,
		defaults:             p.Defaults,
		allowDNS:             p.AllowDNS,
	}
	watch, err := newDefinitionsWatch(mgr.GetConfig(), mgr.GetHTTPClient(), p.Clusters)
	if err != nil {
		return err
	}
	if err := mgr.Add(watch); err != nil {
		return err
	}
	return r.setup(mgr, p.Concurrent, ended, p.Indexed)
}

// Configs says what the manager's cache holds of ConfigMaps and Secrets: no more
// than what tells that one that the selector matches has changed. Whoever needs
// their data has to ask the API server.
func Configs(selector labels.Selector) map[client.Object]cache.ByObject {
	// Annotations may hold all the data once more, where kubectl applied them.
	strip := func(obj any) (any, error) {
		if o, ok := obj.(metav1.Object); ok {
			o.SetAnnotations(nil)
			o.SetManagedFields(nil)
		}
		return obj, nil
	}
	watched := cache.ByObject{Label: selector, Transform: strip}
	return map[client.Object]cache.ByObject{&corev1.ConfigMap{}: watched, &corev1.Secret{}: watched}
}

// Scheme knows every kind the controllers read or write.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, helmv2.AddToScheme, sourcev1.AddToScheme,
	} {
		// Each can only fail by disagreeing with another, which every start would show.
		utilruntime.Must(add(scheme))
	}
	return scheme
}

// spreadBy returns a function that moves a duration by up to percent either way.
func spreadBy(percent int) func(time.Duration) time.Duration {
	return func(d time.Duration) time.Duration {
		part := int64(d) * int64(percent) / 100
		if part <= 0 {
			return d
		}
		return d + time.Duration(rand.Int64N(2*part)-part) //nolint:gosec // spreading load needs no secrecy
	}
}
