// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller/optional"
)

// +kubebuilder:rbac:groups=pintle.dev,resources=releasepolicies;clusterreleasepolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups=source.toolkit.fluxcd.io,resources=helmrepositories,verbs=get

// Options configure the Watch.
type Options struct {
	// Namespace is the only namespace whose releases are reconciled; empty means all.
	Namespace string
	// Enqueue triggers reconciliations of HelmReleases. It must not block.
	Enqueue func(keys []types.NamespacedName)
	Now     func() time.Time
}

// Watch watches policies.
type Watch struct {
	*Reader
	releases   client.Reader
	enqueue    func(keys []types.NamespacedName)
	namespaced *optional.Kind[*v1alpha1.ReleasePolicy]
	cluster    *optional.Kind[*v1alpha1.ClusterReleasePolicy]
	// changed receives the namespace whose policies have changed; empty is all.
	changed chan string
}

// Add adds the watches of policies to a manager.
func Add(mgr ctrl.Manager, o Options) (*Watch, error) {
	w := &Watch{releases: mgr.GetClient(), enqueue: o.Enqueue, changed: make(chan string, 100)}
	log := mgr.GetLogger().WithName("policies")
	var err, clusterErr error
	w.namespaced, err = optional.New(mgr.GetConfig(), mgr.GetHTTPClient(), optional.Options[*v1alpha1.ReleasePolicy]{
		Resource: v1alpha1.GroupVersion.WithResource("releasepolicies"), Namespace: o.Namespace,
		New:     func() *v1alpha1.ReleasePolicy { return &v1alpha1.ReleasePolicy{} },
		Changed: func(key types.NamespacedName) { w.notify(key.Namespace) }, Log: log, Now: o.Now,
	})
	w.cluster, clusterErr = optional.New(mgr.GetConfig(), mgr.GetHTTPClient(), optional.Options[*v1alpha1.ClusterReleasePolicy]{
		Resource: v1alpha1.GroupVersion.WithResource("clusterreleasepolicies"),
		New:      func() *v1alpha1.ClusterReleasePolicy { return &v1alpha1.ClusterReleasePolicy{} },
		// A controller of one namespace may have rights there only.
		IgnoreForbidden: o.Namespace != "",
		Changed:         func(types.NamespacedName) { w.notify("") }, Log: log, Now: o.Now,
	})
	if err := errors.Join(err, clusterErr); err != nil {
		return nil, err
	}
	w.Reader = &Reader{
		namespaced: w.namespaced, cluster: w.cluster,
		facts: &facts{cached: mgr.GetClient(), live: mgr.GetAPIReader(), now: o.Now},
	}
	return w, errors.Join(mgr.Add(w.namespaced), mgr.Add(w.cluster), mgr.Add(w))
}

// Known returns channels that are closed when the policies are known for the first time.
func (w *Watch) Known() []<-chan struct{} {
	return []<-chan struct{}{w.namespaced.Known(), w.cluster.Known()}
}

// Version returns the resourceVersion of a policy as it was received; empty if there is none.
func (w *Watch) Version(policy client.Object) string {
	key := client.ObjectKeyFromObject(policy)
	if _, is := policy.(*v1alpha1.ClusterReleasePolicy); is {
		return w.cluster.Version(key)
	}
	return w.namespaced.Version(key)
}

// CapabilitiesChanged is called when the API server may serve other kinds than before.
func (w *Watch) CapabilitiesChanged() {
	w.namespaced.CapabilitiesChanged()
	w.cluster.CapabilitiesChanged()
}

// notify records a change. It does not block: a full channel is drained into a change of all.
func (w *Watch) notify(namespace string) {
	for {
		select {
		case w.changed <- namespace:
			return
		default:
		}
		select {
		case <-w.changed:
			namespace = ""
		default:
		}
	}
}

// Start implements manager.Runnable. It enqueues the HelmReleases that a changed policy may select, or
// may have selected: all of its namespace. Most of them find that nothing has changed, and send no
// request.
func (w *Watch) Start(ctx context.Context) error {
	for {
		select {
		case namespace := <-w.changed:
			w.enqueueAll(ctx, namespace)
		case <-ctx.Done():
			return nil
		}
	}
}

func (w *Watch) enqueueAll(ctx context.Context, namespace string) {
	var list helmv2.HelmReleaseList
	if err := w.releases.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the HelmReleases that a policy selects")
		return
	}
	keys := make([]types.NamespacedName, 0, len(list.Items))
	for i := range list.Items {
		keys = append(keys, client.ObjectKeyFromObject(&list.Items[i]))
	}
	w.enqueue(keys)
}
