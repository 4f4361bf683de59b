// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"fmt"
	"time"
	"unique"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const (
	// firstPause is the pause after a failed watch. It doubles up to longestPause.
	firstPause   = 5 * time.Second
	longestPause = 5 * time.Minute
	// stableAfter is how long a watch must last so that it is restarted without a pause.
	stableAfter = time.Minute
)

// kind is the watch of one kind, or of one object, in one cluster. It is the store of a reflector.
type kind struct {
	registry *Registry
	key      kindKey
	// retries holds a value if the watch must be retried soon.
	retries chan struct{}
	// client is replaced before each attempt. Only the goroutine of run uses it.
	client metadata.ResourceInterface

	// The mutex of the registry guards the following fields.
	cancel      context.CancelFunc
	subscribers map[types.NamespacedName]struct{}
	objects     map[objectName]object
	// version is the newest resourceVersion that the watch has received.
	version string
	// listedOnce is true after the first list, so that later lists are compared with it.
	listedOnce bool
	// listed is true if all objects are known, and open if events arrive.
	listed, open bool
	// failing is true if the last attempt to watch has failed, and forbidden if a right was missing.
	failing, forbidden bool
}

func newKind(r *Registry, key kindKey) *kind {
	return &kind{
		registry: r, key: key, retries: make(chan struct{}, 1),
		subscribers: map[types.NamespacedName]struct{}{}, objects: map[objectName]object{},
	}
}

// synced reports whether all objects are known and events arrive.
func (k *kind) synced() bool { return k.listed && k.open }

// retry shortens the current pause.
func (k *kind) retry() {
	select {
	case k.retries <- struct{}{}:
	default:
	}
}

// run watches until ctx ends.
func (k *kind) run(ctx context.Context) {
	clock := k.registry.options.Clock
	ctx = logr.NewContext(ctx, k.registry.options.Log.V(1))
	reflector := k.reflector()
	for pause := firstPause; ; {
		started := clock.Now()
		err := k.connect()
		if err == nil {
			// It resumes a watch that ends, and returns if that is not possible. Its own back-off
			// is too short for kinds that do not exist or are forbidden.
			err = reflector.ListAndWatchWithContext(ctx)
		}
		established := k.recordEnd(err)
		if ctx.Err() != nil {
			return
		}
		if established && clock.Since(started) >= stableAfter {
			pause = firstPause
			if err == nil {
				continue
			}
		}
		if !k.sleep(ctx, pause) {
			return
		}
		pause = min(2*pause, longestPause)
	}
}

// connect makes a client for the next attempt.
func (k *kind) connect() error {
	client, err := k.registry.client(k.key.cluster)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	k.client = client.Resource(k.key.target.Resource)
	ns := k.registry.options.Namespace
	if k.key.target.Name != "" {
		ns = k.key.target.Namespace
	}
	if ns != "" {
		k.client = client.Resource(k.key.target.Resource).Namespace(ns)
	}
	return nil
}

// selectTarget adds the selector of the watched objects.
func (k *kind) selectTarget(o *metav1.ListOptions) {
	if name := k.key.target.Name; name != "" {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		return
	}
	o.LabelSelector = helmv2.LabelName
}

// sleep waits for pause; after firstPause, retry ends it. It returns false if ctx ends.
func (k *kind) sleep(ctx context.Context, pause time.Duration) bool {
	for _, part := range []struct {
		pause   time.Duration
		retries chan struct{}
	}{{min(pause, firstPause), nil}, {max(0, pause-firstPause), k.retries}} {
		timer := k.registry.options.Clock.NewTimer(part.pause)
		select {
		case <-timer.C():
		case <-part.retries:
		case <-ctx.Done():
			timer.Stop()
			return false
		}
		timer.Stop()
	}
	return true
}

// recordEnd records that the watch has ended with err. It returns whether the watch was
// established. If the kind does not exist, its objects are deleted.
func (k *kind) recordEnd(err error) (established bool) {
	r := k.registry
	r.mu.Lock()
	established = k.listed
	log := err != nil && !k.failing && k.shouldLogFailure()
	k.listed, k.open, k.failing, k.forbidden = false, false, true, apierrors.IsForbidden(err)
	if apierrors.IsNotFound(err) {
		k.listedOnce = true
		for _, o := range k.objects {
			k.notify(o.owner, true)
		}
		clear(k.objects)
	}
	r.mu.Unlock()
	if log {
		r.options.Log.Info("Objects of a kind cannot be watched for now", "resource", k.key.target.Resource.String(), "error", err.Error())
	}
	return established
}

// shouldLogFailure reports whether a failure of the watch must be logged. For single objects it is
// logged once per kind: all of them usually fail for the same reason.
func (k *kind) shouldLogFailure() bool {
	if k.key.target.Name == "" {
		return true
	}
	whole := kindKey{k.key.cluster, Target{Resource: k.key.target.Resource}}
	_, logged := k.registry.logged[whole]
	k.registry.logged[whole] = struct{}{}
	return !logged
}

func (k *kind) reflector() *cache.Reflector {
	options := cache.ReflectorOptions{
		Name: "objects of releases", TypeDescription: k.key.target.Resource.String(), Clock: k.registry.options.Clock,
		Logger: &k.registry.options.Log,
	}
	return cache.NewReflectorWithOptions(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			k.selectTarget(&o)
			list, err := k.client.List(ctx, o)
			if err != nil {
				return nil, err
			}
			for i := range list.Items {
				k.trim(&list.Items[i])
			}
			return list, nil
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			k.selectTarget(&o)
			w, err := k.client.Watch(ctx, o)
			k.registry.mu.Lock()
			k.open = err == nil
			k.registry.mu.Unlock()
			if err != nil && o.SendInitialEvents != nil && *o.SendInitialEvents {
				// The reflector retries some errors in a loop that ignores ctx. The type of this
				// one makes it list instead.
				return nil, streamError{err.Error()}
			}
			return w, err
		},
	}, &metav1.PartialObjectMetadata{}, k, options)
}

// streamError is the error of a list that cannot be streamed. The reflector requests a list then,
// which fails for the same reason or succeeds.
type streamError struct{ reason string }

// Error implements error.
func (e streamError) Error() string { return e.reason }

// trim removes fields of managedFields that are not read. They are most of an object's metadata,
// and the object stays in memory until its list is complete.
func (k *kind) trim(o *metav1.PartialObjectMetadata) {
	for i := range o.ManagedFields {
		if !isOwned(o.ManagedFields[i], k.registry.options.Overridden) {
			o.ManagedFields[i].FieldsV1 = nil
		}
	}
}

// Transformer implements cache.TransformingStore. It trims the objects of a streamed list.
func (k *kind) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) {
		if o, ok := obj.(*metav1.PartialObjectMetadata); ok {
			k.trim(o)
		}
		return obj, nil
	}
}

// Add implements cache.ReflectorStore.
func (k *kind) Add(obj any) error {
	o, ok := obj.(metav1.Object)
	if !ok {
		return fmt.Errorf("%T is not an object", obj)
	}
	now := observe(o, k.key.target.Resource, k.registry.options.Overridden)
	k.registry.mu.Lock()
	defer k.registry.mu.Unlock()
	name := nameOf(o.GetNamespace(), o.GetName())
	k.objects[name] = k.compare(k.objects[name], now, false)
	k.version = now.version
	return nil
}

// Update implements cache.ReflectorStore.
func (k *kind) Update(obj any) error { return k.Add(obj) }

// Delete implements cache.ReflectorStore. An object that loses the label counts as deleted.
func (k *kind) Delete(obj any) error {
	o, ok := obj.(metav1.Object)
	if !ok {
		return fmt.Errorf("%T is not an object", obj)
	}
	name := nameOf(o.GetNamespace(), o.GetName())
	k.registry.mu.Lock()
	defer k.registry.mu.Unlock()
	if before, ok := k.objects[name]; ok {
		k.notify(before.owner, true)
		delete(k.objects, name)
	}
	k.version = o.GetResourceVersion()
	return nil
}

// Replace implements cache.ReflectorStore. Changes before the first list were not reported, so that
// enqueues all subscribers. A later list is compared with the known objects.
func (k *kind) Replace(list []any, version string) error {
	type listed struct {
		name objectName
		now  snapshot
	}
	all := make([]listed, 0, len(list))
	for _, obj := range list {
		o, ok := obj.(metav1.Object)
		if !ok {
			return fmt.Errorf("%T is not an object", obj)
		}
		all = append(all, listed{nameOf(o.GetNamespace(), o.GetName()), observe(o, k.key.target.Resource, k.registry.options.Overridden)})
	}
	k.registry.mu.Lock()
	defer k.registry.mu.Unlock()
	before := k.objects
	k.objects = make(map[objectName]object, len(all))
	for _, s := range all {
		k.objects[s.name] = s.now.object
		if k.listedOnce {
			k.objects[s.name] = k.compare(before[s.name], s.now, true)
		}
		delete(before, s.name)
	}
	for _, o := range before {
		k.notify(o.owner, true)
	}
	if !k.listedOnce {
		for key := range k.subscribers {
			k.registry.queue.schedule(k.registry.subscribers[key], true)
		}
	}
	k.version, k.listed, k.listedOnce, k.failing, k.forbidden = version, true, true, false, false
	delete(k.registry.logged, kindKey{k.key.cluster, Target{Resource: k.key.target.Resource}})
	return nil
}

// Resync implements cache.ReflectorStore.
func (k *kind) Resync() error { return nil }

// Bookmark implements cache.ReflectorBookmarkStore.
func (k *kind) Bookmark(version string) error {
	k.registry.mu.Lock()
	defer k.registry.mu.Unlock()
	k.version = version
	return nil
}

// compare notifies the owners of a relevant change and returns the object to store.
func (k *kind) compare(before object, now snapshot, listed bool) object {
	if k.key.target.Name != "" {
		if before.uid != now.uid || before.version != now.version {
			k.notify(now.owner, before.uid == "")
		}
		return now.object
	}
	c := classify(before, now, k.version, listed)
	if before.uid != "" && (before.owner != now.owner || before.uid != now.uid) {
		// For the former owner it is deleted.
		k.notify(before.owner, true)
	}
	if c == irrelevant {
		now.version = before.version
	}
	if c == relevant {
		k.notify(now.owner, false)
	}
	return now.object
}

// notify schedules the owner of an object if it is subscribed to the kind, or all subscribers of a
// single object.
func (k *kind) notify(owner unique.Handle[types.NamespacedName], deleted bool) {
	if k.key.target.Name != "" {
		for key := range k.subscribers {
			k.registry.queue.schedule(k.registry.subscribers[key], deleted)
		}
		return
	}
	key := owner.Value()
	if _, ok := k.subscribers[key]; ok {
		k.registry.queue.schedule(k.registry.subscribers[key], deleted)
	}
}

var (
	_ cache.ReflectorStore         = (*kind)(nil)
	_ cache.ReflectorBookmarkStore = (*kind)(nil)
	_ cache.TransformingStore      = (*kind)(nil)
)
