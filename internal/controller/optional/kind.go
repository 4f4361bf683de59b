// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package optional

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// firstRetry and lastRetry bound the pauses between attempts to list a kind.
	firstRetry, lastRetry = time.Second, 30 * time.Second
	// staleAfter is how long the objects count as known while the watch is interrupted.
	staleAfter = 30 * time.Second
)

// Kind keeps the objects of a kind. It is safe for concurrent use.
type Kind[T client.Object] struct {
	Options[T]
	*store[T]
	Signal
	objects   dynamic.ResourceInterface
	discovery discovery.DiscoveryInterface
	// used is closed when the kind is needed.
	used chan struct{}
	use  sync.Once
}

// New returns a Kind, which the manager runs.
func New[T client.Object](config *rest.Config, http *http.Client, o Options[T]) (*Kind[T], error) {
	objects, err := dynamic.NewForConfigAndClient(config, http)
	if err != nil {
		return nil, err
	}
	served, err := discovery.NewDiscoveryClientForConfigAndClient(config, http)
	if err != nil {
		return nil, err
	}
	k := &Kind[T]{Options: o, store: newStore(o), Signal: NewSignal(), discovery: served, used: make(chan struct{})}
	if !o.Lazy {
		k.Use()
	}
	if k.objects = objects.Resource(o.Resource); o.Namespace != "" {
		k.objects = objects.Resource(o.Resource).Namespace(o.Namespace)
	}
	return k, nil
}

// Use makes a lazy kind be listed and watched. It never blocks.
func (k *Kind[T]) Use() { k.use.Do(func() { close(k.used) }) }

// Start implements manager.Runnable.
func (k *Kind[T]) Start(ctx context.Context) error {
	select {
	case <-k.used:
	case <-ctx.Done():
		return nil
	}
	reflector := toolscache.NewReflectorWithOptions(plainLists{&toolscache.ListWatch{
		ListWithContextFunc: k.list, WatchFuncWithContext: k.watch,
	}}, &unstructured.Unstructured{}, k.store, toolscache.ReflectorOptions{Name: k.Resource.Resource})
	pause := firstRetry
	for ctx.Err() == nil {
		err := reflector.ListAndWatchWithContext(ctx)
		switch {
		case ctx.Err() != nil:
		case err == nil:
			// The watch has expired.
			pause = firstRetry
		case k.isAbsent(err):
			k.log(k.setAbsent(), "is not served", err)
			k.Await(ctx)
			pause = firstRetry
		default:
			k.log(k.setBroken(err), "cannot be listed and watched", err)
			sleep(ctx, pause)
			pause = min(2*pause, lastRetry)
		}
	}
	return nil
}

func (k *Kind[T]) log(changed bool, what string, err error) {
	if changed {
		k.Log.Info(k.Resource.Resource+" "+what, "cause", err.Error())
	}
}

// plainLists makes a reflector list before it watches. The initial events of a watch could be missing
// without an error.
type plainLists struct{ *toolscache.ListWatch }

// IsWatchListSemanticsUnSupported implements the optional interface of client-go's reflector.
func (plainLists) IsWatchListSemanticsUnSupported() bool { return true }

// list lists the newest objects. Those in the cache of an API server may be older than what another
// API server has answered.
func (k *Kind[T]) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	o.ResourceVersion, o.ResourceVersionMatch = "", ""
	return k.objects.List(ctx, o)
}

// watch starts a watch. The reflector repeats some that fail itself, so that failures are recorded
// here, too.
func (k *Kind[T]) watch(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
	started, err := k.objects.Watch(ctx, o)
	switch {
	case ctx.Err() != nil:
	case err != nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err):
		k.setBroken(err)
	case err == nil:
		k.setWatched()
	}
	return started, err
}

// isAbsent reports whether the kind is not served, given the error of a request for it. The API
// server also forbids requests for kinds that it does not serve, so that discovery decides.
func (k *Kind[T]) isAbsent(err error) bool {
	forbidden := apierrors.IsForbidden(err)
	if !forbidden && !apierrors.IsNotFound(err) {
		return false
	}
	if forbidden && k.IgnoreForbidden {
		return true
	}
	list, err := k.discovery.ServerResourcesForGroupVersion(k.Resource.GroupVersion().String())
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	return !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == k.Resource.Resource })
}
