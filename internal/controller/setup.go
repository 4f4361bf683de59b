// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"math/rand/v2"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/attempt"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/drift"
	"github.com/pintle-dev/pintle/internal/events"
	"github.com/pintle-dev/pintle/internal/helm"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/watch"
)

// Parts are what a HelmReleaseReconciler is put together from. All but
// the switches at the end are required.
type Parts struct {
	Desired *inputs.Resolver
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
	// Workloads is what ConfigMaps that describe other clusters may say.
	Workloads cluster.WorkloadOptions
	Metrics   *metrics.Metrics
	// Notifications posts events; nil posts none.
	Notifications *events.Sender
	Now           func() time.Time
	// Concurrent is how many HelmReleases are visited, and how many Helm actions
	// work, at the same time.
	Concurrent int
	// MinRetryDelay and MaxRetryDelay bound the back-off.
	MinRetryDelay time.Duration
	MaxRetryDelay time.Duration
	// JitterPercent is how far intervals are spread either way, 0 to 99. With 0, not
	// even the first ones after the start are.
	JitterPercent int
	// NoCrossNamespaceRefs keeps from making HelmCharts in other namespaces.
	NoCrossNamespaceRefs bool
	// ExternalArtifacts watches objects of that kind, which must exist then.
	ExternalArtifacts bool
	// NoConfigWatches leaves changes of ConfigMaps and Secrets to the next visit.
	NoConfigWatches bool
	// OverriddenManagers are field managers whose fields are taken from them where
	// drift is looked for.
	OverriddenManagers []string
	// WatchedNamespace is the only one in which live objects are watched; empty is
	// all.
	WatchedNamespace string
	// Defaults are what feature gates make of options that are not set.
	Defaults helmv2.Defaults
	// AllowDNS lets templates look up names.
	AllowDNS bool
	// OperationTimeout is the longest that an Operation may wait, and one of its Jobs
	// run; zero sets no limit. ClusterID is what their Jobs are labelled with; empty
	// for nothing.
	OperationTimeout time.Duration
	ClusterID        string
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
		events:   recorder(mgr, p.Notifications),
		metrics:  p.Metrics,
		helm:     p.Helm,
		attempts: pool,
		where:    whereabouts{live: mgr.GetAPIReader(), clusters: p.Clusters, defaultServiceAccount: p.DefaultServiceAccount, workloads: p.Workloads},
		backoff: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](
			p.MinRetryDelay, p.MaxRetryDelay),
		spread:  spreadBy(p.JitterPercent),
		stagger: staggerBy(p.JitterPercent),
		now:     p.Now,
		live:    mgr.GetAPIReader(),
		cached:  mgr.GetCache(),

		drift:                drift.NewDetector(p.Now),
		overriddenManagers:   p.OverriddenManagers,
		downloads:            downloads{wake: ended.Wake},
		noCrossNamespaceRefs: p.NoCrossNamespaceRefs,
		externalArtifacts:    p.ExternalArtifacts,
		noConfigWatches:      p.NoConfigWatches,
		defaults:             p.Defaults,
		allowDNS:             p.AllowDNS,
	}
	wake := func(key types.NamespacedName) {
		r.rest.wake(key)
		ended.Wake(key)
	}
	operations, err := r.addOperations(mgr, p, wake)
	if err != nil {
		return err
	}
	objects := watch.NewRegistry(wake, watch.Options{Namespace: p.WatchedNamespace, Overridden: p.OverriddenManagers, Log: mgr.GetLogger()})
	if err := mgr.Add(objects); err != nil {
		return err
	}
	r.objects = objects
	awaited := r.addDependencies(mgr, p, ended.Wake)
	askForFigures(p, pool, objects, awaited)
	err = errors.Join(
		mgr.Add(awaited), mgr.Add(r.awaiting),
		mgr.Add(series{cached: mgr.GetCache(), metrics: p.Metrics, now: p.Now}),
		addClusters(mgr, p, cluster.Callbacks{Enqueue: wake, Reachable: objects.Retry, Unreachable: p.Metrics.ClusterUnreachable}),
	)
	if err != nil {
		return err
	}
	return errors.Join(r.addDefinitions(mgr, offers{Connections: p.Clusters, changed: func() {
		objects.Retry(cluster.LocalCluster)
		awaited.Retry(cluster.LocalCluster)
		r.awaiting.changed()
		operations.tell()
		r.rendered.whenSettled(wake)
	}}), r.setup(mgr, p.Concurrent, ended, p.Indexed))
}

// addDependencies has dependencies of other kinds than HelmRelease be read, and what
// happens to them be noticed: by the registry that it returns, which the manager has yet
// to run. It watches apart from what releases consist of, where they may wait for
// something else at the same time.
func (r *HelmReleaseReconciler) addDependencies(mgr ctrl.Manager, p Parts, wake func(types.NamespacedName)) *watch.Registry {
	r.dependencies = &dependencyObjects{where: &r.where, now: p.Now}
	r.desired = p.Desired.WithObjects(r.dependencies)
	awaited := watch.NewRegistry(wake, watch.Options{Grace: awaitedGrace, Refill: awaitedRefill, Log: mgr.GetLogger().WithName("dependencies")})
	r.awaiting = newAwaiting(awaited, p.Clusters, wake)
	return awaited
}

// addDefinitions has changes of what the cluster offers be noticed.
func (r *HelmReleaseReconciler) addDefinitions(mgr ctrl.Manager, changed offers) error {
	definitions, err := newDefinitionsWatch(mgr.GetConfig(), mgr.GetHTTPClient(), changed)
	if err != nil {
		return err
	}
	return mgr.Add(definitions)
}

// addClusters has clusters probed that do not answer, and tokens handed out for those
// that trust them.
func addClusters(mgr ctrl.Manager, p Parts, listener cluster.Callbacks) error {
	core, err := corev1client.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	p.Clusters.SetTokenRequester(tokens(core))
	p.Clusters.SetCallbacks(listener)
	return mgr.Add(p.Clusters)
}

// Cache says what the manager's cache holds: of ConfigMaps and Secrets no more
// than what tells that one that the selector matches has changed, of Jobs and pods
// those that are made for Operations, and of nothing
// who wrote which of its fields, which is larger than some specs. Nobody reads
// that, and a patch made from a cached object leaves it alone.
func Cache(selector labels.Selector) cache.Options {
	watched := cache.ByObject{Label: selector, Transform: stripConfig}
	ours := cache.ByObject{Label: ownLabel()}
	return cache.Options{
		ByObject: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}: watched, &corev1.Secret{}: watched, &batchv1.Job{}: ours, &corev1.Pod{}: ours,
		},
		DefaultTransform: cache.TransformStripManagedFields(),
	}
}

// ownLabel selects what is made for Operations.
func ownLabel() labels.Selector {
	exists, err := labels.NewRequirement(opsv1alpha1.LabelOperation, selection.Exists, nil)
	// It can only fail by being no label, which every start would show.
	utilruntime.Must(err)
	return labels.NewSelector().Add(*exists)
}

// stripConfig leaves nothing of a ConfigMap or Secret that may be large, or secret.
// Annotations hold all the data once more where kubectl applied them. Data are only
// there if somebody watches more than metadata, who is to notice.
func stripConfig(obj any) (any, error) {
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		o.Data, o.BinaryData = nil, nil
	case *corev1.Secret:
		o.Data, o.StringData = nil, nil
	}
	if o, ok := obj.(metav1.Object); ok {
		o.SetAnnotations(onlyTracking(o.GetAnnotations()))
		o.SetManagedFields(nil)
	}
	return obj, nil
}

// Client says how the manager's client reads: ConfigMaps and Secrets never from
// the cache, where a first read would have all of them be watched and held. And how
// it writes: the API server need not look for fields it does not know, since nobody
// would see its warnings, and it reads what is written once more for them.
func Client() client.Options {
	return client.Options{
		Cache:           &client.CacheOptions{DisableFor: []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}}},
		FieldValidation: metav1.FieldValidationIgnore,
	}
}

// Scheme knows every kind the controllers read or write.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, helmv2.AddToScheme, sourcev1.AddToScheme, opsv1alpha1.AddToScheme,
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

// staggerBy returns a function that brings a duration forward to any moment
// before its end, or leaves it alone if intervals are not to be spread at all.
// All releases are visited when we start; spreading by a few percent, it would
// take them many intervals to come apart, and each would be a burst of visits.
func staggerBy(percent int) func(time.Duration) time.Duration {
	return func(d time.Duration) time.Duration {
		if percent == 0 || d <= 0 {
			return d
		}
		return 1 + time.Duration(rand.Int64N(int64(d))) //nolint:gosec // spreading load needs no secrecy
	}
}
