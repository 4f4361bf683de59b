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
	// shortPause is how long nobody tries again to watch what cannot be watched. The
	// pause doubles up to longPause.
	shortPause = 5 * time.Second
	longPause  = 5 * time.Minute
	// lasting is how long a watch stands that is worth to be begun again at once.
	lasting = time.Minute
)

// kind is the watch of one kind in one cluster, or of one object of it: what a
// reflector writes into.
type kind struct {
	registry *Registry
	key      kindKey
	// again holds something if somebody has reason to believe that it works now.
	again chan struct{}
	// client is made anew for each attempt, by whoever runs the watch, and used by nobody
	// else.
	client metadata.ResourceInterface

	// What follows is guarded by the mutex of the registry.
	cancel    context.CancelFunc
	followers map[types.NamespacedName]struct{}
	objects   map[objectName]object
	// at is the newest version of which the watch has heard.
	at string
	// begun is true once it was known which objects there are, so that the next list is
	// news.
	begun bool
	// listed and open say whether all objects are known, and whether news of them come.
	listed, open bool
	// failing is true if the last attempt to watch has failed.
	failing bool
}

func newKind(r *Registry, key kindKey) *kind {
	return &kind{
		registry: r, key: key, again: make(chan struct{}, 1),
		followers: map[types.NamespacedName]struct{}{}, objects: map[objectName]object{},
	}
}

func (k *kind) known() bool { return k.listed && k.open }

// retry ends a pause.
func (k *kind) retry() {
	select {
	case k.again <- struct{}{}:
	default:
	}
}

// run watches until ctx ends.
func (k *kind) run(ctx context.Context) {
	clock := k.registry.options.Clock
	ctx = logr.NewContext(ctx, k.registry.options.Log.V(1))
	reflector := k.reflector()
	for pause := shortPause; ; {
		began := clock.Now()
		err := k.dial()
		if err == nil {
			// It goes on where a watch ends, and returns if that is not possible. Its own
			// pauses are meant for kinds that are there and may be read.
			err = reflector.ListAndWatchWithContext(ctx)
		}
		stood := k.lost(err)
		if ctx.Err() != nil {
			return
		}
		if stood && clock.Since(began) >= lasting {
			pause = shortPause
			if err == nil {
				continue
			}
		}
		if !k.rest(ctx, pause) {
			return
		}
		pause = min(2*pause, longPause)
	}
}

func (k *kind) dial() error {
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

// pick selects what is watched.
func (k *kind) pick(o *metav1.ListOptions) {
	if name := k.key.target.Name; name != "" {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		return
	}
	o.LabelSelector = helmv2.LabelName
}

// rest waits, the first seconds whatever happens. It reports false if ctx ends.
func (k *kind) rest(ctx context.Context, pause time.Duration) bool {
	for _, part := range []struct {
		pause time.Duration
		again chan struct{}
	}{{min(pause, shortPause), nil}, {max(0, pause-shortPause), k.again}} {
		timer := k.registry.options.Clock.NewTimer(part.pause)
		select {
		case <-timer.C():
		case <-part.again:
		case <-ctx.Done():
			timer.Stop()
			return false
		}
		timer.Stop()
	}
	return true
}

// lost takes note that the watch does not stand any more, and why. It reports
// whether it did. Of a kind that does not exist there are no objects.
func (k *kind) lost(err error) (stood bool) {
	r := k.registry
	r.mu.Lock()
	stood = k.listed
	first := err != nil && !k.failing && k.untold()
	k.listed, k.open, k.failing = false, false, true
	if apierrors.IsNotFound(err) {
		k.begun = true
		for _, o := range k.objects {
			k.tell(o.owner, true)
		}
		clear(k.objects)
	}
	r.mu.Unlock()
	if first {
		r.options.Log.Info("Objects of a kind cannot be watched for now", "resource", k.key.target.Resource.String(), "err", err.Error())
	}
	return stood
}

// untold reports whether nobody was told yet that what k is of cannot be watched, and
// takes it that somebody is now. Of objects that are awaited one by one it is said once
// for a kind: what one identity may not watch of it, it may not watch of any.
func (k *kind) untold() bool {
	if k.key.target.Name == "" {
		return true
	}
	whole := kindKey{k.key.cluster, Target{Resource: k.key.target.Resource}}
	_, told := k.registry.told[whole]
	k.registry.told[whole] = struct{}{}
	return !told
}

func (k *kind) reflector() *cache.Reflector {
	options := cache.ReflectorOptions{
		Name: "objects of releases", TypeDescription: k.key.target.Resource.String(), Clock: k.registry.options.Clock,
		Logger: &k.registry.options.Log,
	}
	return cache.NewReflectorWithOptions(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			k.pick(&o)
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
			k.pick(&o)
			w, err := k.client.Watch(ctx, o)
			k.registry.mu.Lock()
			k.open = err == nil
			k.registry.mu.Unlock()
			if err != nil && o.SendInitialEvents != nil && *o.SendInitialEvents {
				// Errors that it knows it would try again in a loop that does not end with ctx.
				return nil, noStream{err.Error()}
			}
			return w, err
		},
	}, &metav1.PartialObjectMetadata{}, k, options)
}

// noStream is that a list cannot be streamed, for whatever reason. It has to be
// asked for, which gives the reason again.
type noStream struct{ reason string }

// Error implements error.
func (e noStream) Error() string { return e.reason }

// trim takes away what is most of an object's metadata while it waits for the rest
// of a list. Of entries, only their authors and times are read, and the fields of
// some.
func (k *kind) trim(o *metav1.PartialObjectMetadata) {
	for i := range o.ManagedFields {
		if !minds(o.ManagedFields[i], k.registry.options.Overridden) {
			o.ManagedFields[i].FieldsV1 = nil
		}
	}
}

// Transformer implements cache.TransformingStore: it is for objects that wait for the
// rest of a streamed list.
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
		return fmt.Errorf("%T is no object", obj)
	}
	now := look(o, k.key.target.Resource, k.registry.options.Overridden)
	k.registry.mu.Lock()
	defer k.registry.mu.Unlock()
	name := nameOf(o.GetNamespace(), o.GetName())
	k.objects[name] = k.compare(k.objects[name], now, false)
	k.at = now.version
	return nil
}

// Update implements cache.ReflectorStore.
func (k *kind) Update(obj any) error { return k.Add(obj) }

// Delete implements cache.ReflectorStore. That an object has lost its label looks
// the same.
func (k *kind) Delete(obj any) error {
	o, ok := obj.(metav1.Object)
	if !ok {
		return fmt.Errorf("%T is no object", obj)
	}
	name := nameOf(o.GetNamespace(), o.GetName())
	k.registry.mu.Lock()
	defer k.registry.mu.Unlock()
	if before, ok := k.objects[name]; ok {
		k.tell(before.owner, true)
		delete(k.objects, name)
	}
	k.at = o.GetResourceVersion()
	return nil
}

// Replace implements cache.ReflectorStore. Of what changed before the first list
// nobody was told: whoever follows by then has to look once more. Any other list
// follows a time of which nothing is known but its outcome.
func (k *kind) Replace(list []any, at string) error {
	type seen struct {
		name objectName
		now  sight
	}
	all := make([]seen, 0, len(list))
	for _, obj := range list {
		o, ok := obj.(metav1.Object)
		if !ok {
			return fmt.Errorf("%T is no object", obj)
		}
		all = append(all, seen{nameOf(o.GetNamespace(), o.GetName()), look(o, k.key.target.Resource, k.registry.options.Overridden)})
	}
	k.registry.mu.Lock()
	defer k.registry.mu.Unlock()
	before := k.objects
	k.objects = make(map[objectName]object, len(all))
	for _, s := range all {
		k.objects[s.name] = s.now.object
		if k.begun {
			k.objects[s.name] = k.compare(before[s.name], s.now, true)
		}
		delete(before, s.name)
	}
	for _, o := range before {
		k.tell(o.owner, true)
	}
	if !k.begun {
		for key := range k.followers {
			k.registry.schedule(k.registry.followers[key], true)
		}
	}
	k.at, k.listed, k.begun, k.failing = at, true, true, false
	delete(k.registry.told, kindKey{k.key.cluster, Target{Resource: k.key.target.Resource}})
	return nil
}

// Resync implements cache.ReflectorStore.
func (k *kind) Resync() error { return nil }

// Bookmark implements cache.ReflectorBookmarkStore.
func (k *kind) Bookmark(version string) error {
	k.registry.mu.Lock()
	defer k.registry.mu.Unlock()
	k.at = version
	return nil
}

// compare wakes whom a change concerns, and returns what to keep of the object.
func (k *kind) compare(before object, now sight, listed bool) object {
	if k.key.target.Name != "" {
		if before.uid != now.uid || before.version != now.version {
			k.tell(now.owner, before.uid == "")
		}
		return now.object
	}
	v := judge(before, now, k.at, listed)
	if before.uid != "" && (before.owner != now.owner || before.uid != now.uid) {
		// To whom it belonged, it is gone.
		k.tell(before.owner, true)
	}
	if v == still {
		now.version = before.version
	}
	if v == foreign {
		k.tell(now.owner, false)
	}
	return now.object
}

// tell wakes a release, if it follows the kind; or all that await the one object,
// whoever owns it.
func (k *kind) tell(owner unique.Handle[types.NamespacedName], deleted bool) {
	if k.key.target.Name != "" {
		for key := range k.followers {
			k.registry.schedule(k.registry.followers[key], deleted)
		}
		return
	}
	key := owner.Value()
	if _, ok := k.followers[key]; ok {
		k.registry.schedule(k.registry.followers[key], deleted)
	}
}

var (
	_ cache.ReflectorStore         = (*kind)(nil)
	_ cache.ReflectorBookmarkStore = (*kind)(nil)
	_ cache.TransformingStore      = (*kind)(nil)
)
