// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/attempt"
	"github.com/pintle-dev/pintle/internal/cluster"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/dependency"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/plans"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/policies"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/rehearsal"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/rollouts"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease/trigger"
	"github.com/pintle-dev/pintle/internal/drift"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/policy"
	"github.com/pintle-dev/pintle/internal/watch"
)

// +kubebuilder:rbac:groups=helm.toolkit.fluxcd.io,resources=helmreleases,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=helm.toolkit.fluxcd.io,resources=helmreleases/status,verbs=patch
// +kubebuilder:rbac:groups=source.toolkit.fluxcd.io,resources=helmcharts;ocirepositories,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=source.toolkit.fluxcd.io,resources=buckets;externalartifacts;gitrepositories,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=configmaps;secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch

// firstErrorRetry is the first pause after a failed write: controller-runtime's.
const firstErrorRetry = 5 * time.Millisecond

// Controller receives events from outside of the watches of the manager's cache.
type Controller struct {
	memory           *controller.Table[memory]
	queue            *trigger.Queue
	attempts         *attempt.Pool
	objects, awaited *watch.Registry
	dependency       *dependency.Subscriptions
	policies         *policies.Watch
	readers          *readers
	plans            *plans.Watched
	files            *fileWatches
}

// Enqueue triggers a reconciliation that observes the release, whatever was found before. It never
// blocks.
func (c *Controller) Enqueue(key types.NamespacedName) {
	c.memory.With(key, func(m *memory) { m.sync.changed = true })
	c.queue.Enqueue(key)
}

// Demands returns what policies demand of a HelmRelease, apart from its chart.
func (c *Controller) Demands(ctx context.Context, hr *helmv2.HelmRelease) policy.Demands {
	return c.policies.Demands(ctx, hr)
}

// ClusterReachable restarts the watches in a cluster that answers again.
func (c *Controller) ClusterReachable(cluster string) { c.objects.Retry(cluster) }

// CapabilitiesChanged is called when the API server of the controller's own cluster may serve other
// kinds than before.
func (c *Controller) CapabilitiesChanged() {
	c.objects.Retry(cluster.LocalCluster)
	c.awaited.Retry(cluster.LocalCluster)
	c.dependency.CapabilitiesChanged()
	c.policies.CapabilitiesChanged()
	c.readers.capabilitiesChanged()
	c.plans.CapabilitiesChanged()
	c.files.capabilitiesChanged()
}

// Busy reports whether work for a HelmRelease runs in the background, which will trigger a
// reconciliation at its end: an action whose outcome is not recorded, a rendering, a download, or the
// debounce of a watched object. Tests use it.
func (c *Controller) Busy(key types.NamespacedName) bool {
	busy := c.attempts.Busy(key) || c.objects.Scheduled(key) || c.awaited.Scheduled(key)
	c.memory.Update(key, func(m *memory) { busy = busy || m.download != nil || m.files.checks > 0 })
	return busy
}

// Received reports whether the watch of the objects of releases in the controller's own cluster has
// received a version of one, or a newer one. Tests use it.
func (c *Controller) Received(resource schema.GroupVersionResource, version string) bool {
	return c.objects.Received(cluster.LocalCluster, resource, version)
}

// Known returns the resourceVersion of a policy or plan as the controller has received it; empty if
// the controller has no such object. Tests use it.
func (c *Controller) Known(object client.Object) string {
	if _, is := object.(*v1alpha1.ReleasePlan); is {
		return c.plans.Version(client.ObjectKeyFromObject(object))
	}
	return c.policies.Version(object)
}

// Add adds the controller of HelmReleases, and the pool that runs its actions, to a manager.
func Add(mgr ctrl.Manager, o controller.Options, shared controller.Shared) (*Controller, error) {
	c := &Controller{memory: &controller.Table[memory]{}, queue: &trigger.Queue{}}
	pool := attempt.NewPool(o.Concurrent, o.Now, c.queue.Enqueue)
	c.attempts = pool
	c.objects = watch.NewRegistry(c.Enqueue, watch.Options{Namespace: o.WatchedNamespace, Overridden: o.OverriddenManagers, Log: mgr.GetLogger()})
	// Apart from the objects of releases: a HelmRelease may wait for another object than those.
	c.awaited = watch.NewRegistry(c.queue.Enqueue, watch.Options{
		Grace: dependency.Grace, Refill: dependency.Refill, Log: mgr.GetLogger().WithName("dependencies"),
	})
	waiting := controller.Part(c.memory, func(m *memory) *dependency.State { return &m.dependency })
	c.dependency = dependency.NewSubscriptions(c.awaited, o.Clusters, waiting, c.queue.Enqueue)
	c.readers = &readers{memory: c.memory, enqueue: c.Enqueue}
	var err error
	if c.policies, err = policies.Add(mgr, policies.Options{Namespace: o.WatchedNamespace, Enqueue: c.queue.EnqueueAll, Now: o.Now}); err != nil {
		return nil, err
	}

	env := newEnvironment(mgr, o, shared, c.memory, pool)
	env.rollouts = rollouts.New(rollouts.Options{Cached: mgr.GetClient(), Policies: c.policies, Enqueue: c.queue.Enqueue, Now: o.Now})
	objects := &dependency.Objects{Connections: shared.Connections, Memory: waiting, Now: o.Now}
	known, err := plans.Watch(mgr, o.WatchedNamespace, c.queue.Enqueue, o.Now)
	if err != nil {
		return nil, err
	}
	c.plans = known
	if c.files, err = watchFiles(mgr, o, c); err != nil {
		return nil, err
	}
	planner := &plans.Planner{Client: env.client, Live: env.live, Known: known, Now: o.Now}
	r := newReconciler(env, parts{
		resolver: o.Inputs.WithObjects(objects).WithAdmission(c.policies.Admit).WithValuesAdmission(c.policies).WithFiles(c.files, c.files.patterns), policies: c.policies, detector: drift.NewDetector(o.Now), objects: c.objects, dependency: c.dependency,
		cached: mgr.GetCache(), locks: shared.Locks, enqueue: c.queue.Enqueue, options: o,
		plans: planner, files: c.files,
	})
	c.files.debounce = r.debouncer.ArtifactChanged
	addGauges(o, pool, c.objects, c.awaited)
	if o.Observe == "" {
		if err := mgr.Add(plans.Expiry{Planner: planner}); err != nil {
			return nil, err
		}
	}
	return c, errors.Join(
		mgr.Add(pool), mgr.Add(c.objects), mgr.Add(c.awaited), mgr.Add(c.dependency), mgr.Add(known), mgr.Add(c.files), mgr.Add(env.rollouts),
		mgr.Add(collector{cached: mgr.GetCache(), metrics: o.Metrics, now: o.Now}),
		r.setup(mgr, o, c.queue, c.policies.Known()),
	)
}

func newEnvironment(mgr ctrl.Manager, o controller.Options, shared controller.Shared, memory *controller.Table[memory], pool *attempt.Pool) *environment {
	return &environment{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), events: shared.Events, metrics: o.Metrics, now: o.Now,
		helm: o.Helm, attempts: pool, connections: shared.Connections, memory: memory,
		backoff: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](o.MinRetryDelay, o.MaxRetryDelay),
		spread:  spreadBy(o.JitterPercent), stagger: staggerBy(o.JitterPercent),
		defaults: o.Defaults, allowDNS: o.AllowDNS,
	}
}

// parts are the collaborators of a Reconciler beside its environment.
type parts struct {
	resolver   resolver
	policies   policyReader
	detector   driftDetector
	objects    follower
	dependency *dependency.Subscriptions
	// cached reads metadata of ConfigMaps and Secrets from the cache.
	cached client.Reader
	locks  *controller.Locks
	// enqueue triggers a reconciliation of a HelmRelease. It must not block.
	enqueue func(types.NamespacedName)
	options controller.Options
	plans   *plans.Planner
	files   *fileWatches
}

// newReconciler returns a Reconciler whose steps share env.
func newReconciler(env *environment, p parts) *Reconciler {
	sources := &sourceMaker{
		Client: env.client, Live: env.live, Events: env.events, NoCrossNamespaceRefs: p.options.NoCrossNamespaceRefs, Observe: p.options.Observe != "",
	}
	var reporter *rehearsal.Reporter
	if p.options.Observe != "" {
		reporter = rehearsal.NewReporter(env.events, env.metrics.Switch, env.now)
	}
	debouncer := &debouncer{
		Client: env.client, Cached: p.cached, Live: env.live, Now: env.now, NoConfigWatches: p.options.NoConfigWatches,
		Memory: controller.Part(env.memory, func(m *memory) *debounceState { return &m.debounce }),
	}
	in := &inputReader{environment: env, resolver: p.resolver, sources: sources, dependency: p.dependency, policies: p.policies, enqueue: p.enqueue}
	compare := &comparer{environment: env, detector: p.detector, objects: p.objects, inputs: in, overriddenManagers: p.options.OverriddenManagers}
	return &Reconciler{
		environment: env,
		inputs:      in,
		observer: &observer{
			environment: env, inputs: in, comparer: compare, owners: owners{client: env.client, live: env.live},
			dependents: dependency.Dependents{Client: env.client, Live: env.live}, debouncer: debouncer, plans: p.plans,
		},
		comparer:   compare,
		actor:      &actor{environment: env, sources: sources, comparer: compare, debouncer: debouncer},
		publisher:  &publisher{environment: env},
		debouncer:  debouncer,
		dependency: p.dependency,
		locks:      p.locks,
		plans:      p.plans,
		turns:      attempt.NewTurns(attempt.TurnOptions{Slots: p.options.Concurrent, Enqueue: p.enqueue, Now: env.now}),
		rehearsal:  reporter,
		files:      p.files,
	}
}

// setup registers the reconciler and its watches with a manager. known is closed when policies
// are known.
func (r *Reconciler) setup(mgr ctrl.Manager, o controller.Options, queue *trigger.Queue, known trigger.Policies) error {
	err := controller.AddIndexes(context.Background(), mgr.GetFieldIndexer(), &helmv2.HelmRelease{}, controller.HelmReleaseIndexes()) //nolint:forbidigo // the indexer ignores it
	if err != nil {
		return err
	}
	on := &trigger.Handlers{Client: r.client, Changed: r.debouncer.Changed, ArtifactChanged: r.debouncer.ArtifactChanged, FilesChanged: r.files.changed, Waiting: r.waitingFor, ResetBackoff: r.backoff.Forget, Received: r.rollouts.Received}
	changed := builder.WithPredicates(trigger.SourceChanged{})
	relevant := predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, trigger.RequestChanged{})
	if o.Observe != "" {
		// Another controller writes status, and the result depends on it.
		relevant = predicate.ResourceVersionChangedPredicate{}
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named("helmrelease").
		For(&helmv2.HelmRelease{}, builder.WithPredicates(relevant)).
		Watches(&helmv2.HelmRelease{}, on.ReleaseOwners()).
		Watches(&helmv2.HelmRelease{}, on.Dependencies()).
		Watches(&helmv2.HelmRelease{}, on.ObjectOwners()).
		Watches(&helmv2.HelmRelease{}, on.Rollouts())
	for _, kind := range inputs.SourceKinds() {
		if !kind.FilesOnly && (!kind.Gated || o.ExternalArtifacts) {
			b = b.Watches(kind.New(), on.Sources(kind.Name), changed)
		}
	}
	if !o.NoConfigWatches {
		configs := builder.WithPredicates(trigger.ConfigChanged{})
		b = b.
			Watches(&corev1.ConfigMap{}, on.Values(controller.IndexConfigMap), builder.OnlyMetadata, configs).
			Watches(&corev1.Secret{}, on.Values(controller.IndexSecret), builder.OnlyMetadata, configs)
	}
	if o.Indexed != nil {
		b = b.WatchesRawSource(trigger.Index(o.Indexed))
	}
	if o.KeyDecided != nil {
		b = b.WatchesRawSource(trigger.SealKey(o.KeyDecided))
	}
	return b.
		WatchesRawSource(known).
		WatchesRawSource(source.Func(queue.Start)).
		// Changes by users come before the objects of the initial lists.
		WithOptions(ctrlcontroller.Options{
			MaxConcurrentReconciles: r.turns.Goroutines(), UsePriorityQueue: new(true), NewQueue: o.NewQueue,
			// For failed writes. A longer pause would last beyond the end of an outage.
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstErrorRetry, controller.MaxOutageRetry),
		}).
		Complete(r)
}

// waitingFor returns the HelmReleases that wait for objects of any of some releases.
func (r *Reconciler) waitingFor(releases []string) []types.NamespacedName {
	var all []types.NamespacedName
	r.memory.Each(func(key types.NamespacedName, m *memory) {
		if m.waitsFor(releases) {
			all = append(all, key)
		}
	})
	return all
}
