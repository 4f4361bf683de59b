// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"reflect"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/internal/controller"
)

// rereadAfter is how long a wait relies on its watch. What a test waits for may depend on more than
// the object.
const rereadAfter = time.Second

// watches has one watch for each kind on an API server, which all waiting tests share.
type watches struct {
	cache cache.Cache
	stop  func()

	mu        sync.Mutex
	watched   map[reflect.Type]bool
	followers map[*follower]struct{}
}

func newWatches(config *rest.Config) (*watches, error) {
	all, err := cache.New(config, cache.Options{Scheme: controller.Scheme()})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = all.Start(ctx) }()
	return &watches{
		cache: all, stop: func() { cancel(); <-done },
		watched: map[reflect.Type]bool{}, followers: map[*follower]struct{}{},
	}, nil
}

// follower receives the versions of an object in their order, or those of all objects of a kind in a
// namespace.
type follower struct {
	kind reflect.Type
	key  types.NamespacedName

	mu       sync.Mutex
	versions []version
	// arrived holds a value if there may be versions.
	arrived chan struct{}
}

// version is one version of an object.
type version struct {
	client.Object
	deleted bool
}

// follow returns a follower of an object; without a name, of all objects of its kind in the
// namespace.
func (w *watches) follow(ctx context.Context, object client.Object, arrived chan struct{}) (*follower, error) {
	f := &follower{kind: reflect.TypeOf(object), key: client.ObjectKeyFromObject(object), arrived: arrived}
	w.mu.Lock()
	w.followers[f] = struct{}{}
	w.mu.Unlock()
	return f, w.watch(ctx, object)
}

func (w *watches) unfollow(f *follower) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.followers, f)
}

// watch starts the watch of a kind, and waits until it has listed all objects.
func (w *watches) watch(ctx context.Context, object client.Object) error {
	kind := reflect.TypeOf(object)
	informer, err := w.cache.GetInformer(ctx, reflect.New(kind.Elem()).Interface().(client.Object))
	if err != nil {
		return err
	}
	w.mu.Lock()
	is := w.watched[kind]
	w.watched[kind] = true
	w.mu.Unlock()
	if is {
		return nil
	}
	send := func(o any, deleted bool) {
		if last, is := o.(toolscache.DeletedFinalStateUnknown); is {
			o = last.Obj
		}
		if object, is := o.(client.Object); is {
			w.send(kind, version{object, deleted})
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { send(o, false) }, UpdateFunc: func(_, o any) { send(o, false) }, DeleteFunc: func(o any) { send(o, true) },
	})
	return err
}

func (w *watches) send(kind reflect.Type, v version) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for f := range w.followers {
		if f.kind != kind || f.key.Name != "" && f.key.Name != v.GetName() || f.key.Namespace != "" && f.key.Namespace != v.GetNamespace() {
			continue
		}
		f.mu.Lock()
		f.versions = append(f.versions, v)
		f.mu.Unlock()
		select {
		case f.arrived <- struct{}{}:
		default:
		}
	}
}

// take returns the versions that have arrived since the last call.
func (f *follower) take() []version {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.versions
	f.versions = nil
	return all
}

// await waits until ok returns true for an object, which is read first and then watched: ok is called
// with each version. The object must exist. There is no limit but that of the suite.
func await[T client.Object](w *world, object T, what string, ok func(T) bool) {
	w.t.Helper()
	waiting := w.waitsFor(what)
	defer waiting.over()
	f, err := suite.watches.follow(w.t.Context(), object, make(chan struct{}, 1))
	w.must(err)
	defer suite.watches.unfollow(f)
	read := func() bool {
		if err := suite.client.Get(w.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			w.t.Fatalf("waiting for %s: %v", what, err)
		}
		return ok(object)
	}
	if read() {
		return
	}
	for {
		select {
		case <-f.arrived:
			for _, v := range f.take() {
				if v.deleted || !older(object.GetResourceVersion(), v.GetResourceVersion()) {
					continue
				}
				set(object, v.Object)
				if ok(object) {
					return
				}
			}
		case <-time.After(rereadAfter):
			if read() {
				return
			}
		case <-w.t.Context().Done():
			w.t.Fatalf("waiting for %s: the test has ended", what)
		}
		waiting.because(describe(object))
	}
}

// set makes an object a copy of another one.
func set(object, to client.Object) {
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(to.DeepCopyObject()).Elem())
}

// describe returns the status of an object as JSON.
func describe(object client.Object) string {
	status := reflect.ValueOf(object).Elem().FieldByName("Status")
	if !status.IsValid() {
		return "version " + object.GetResourceVersion()
	}
	content, _ := json.Marshal(status.Interface())
	return "status is " + string(content)
}

// awaitGone waits until an object no longer exists.
func awaitGone(w *world, object client.Object) {
	w.t.Helper()
	untilTrue(w, object.GetName()+" to go", func() bool { return w.present(object) == "" }, object)
}

// untilTrue waits until ok returns true. ok is called again after each change of an object, or of one
// of its kind in its namespace if it has no name. Without objects, it polls: the state of the test's
// own process, or what cannot be watched.
func untilTrue(w *world, what string, ok func() bool, objects ...client.Object) {
	w.t.Helper()
	waiting := w.waitsFor(what)
	defer waiting.over()
	arrived := make(chan struct{}, 1)
	for _, object := range objects {
		f, err := suite.watches.follow(w.t.Context(), object, arrived)
		w.must(err)
		defer suite.watches.unfollow(f)
	}
	for pause := 5 * time.Millisecond; !ok(); pause = min(2*pause, 100*time.Millisecond) {
		if len(objects) > 0 {
			pause = rereadAfter
		}
		select {
		case <-arrived:
		case <-time.After(pause):
		case <-w.t.Context().Done():
			w.t.Fatalf("waiting for %s: the test has ended", what)
		}
	}
}

// appears waits until an object exists, and reads it. It may be called by any goroutine.
func appears(ctx context.Context, object client.Object) error {
	f, err := suite.watches.follow(ctx, object, make(chan struct{}, 1))
	if err != nil {
		return err
	}
	defer suite.watches.unfollow(f)
	for {
		err := suite.client.Get(ctx, client.ObjectKeyFromObject(object), object)
		if !apierrors.IsNotFound(err) {
			return err
		}
		select {
		case <-f.arrived:
		case <-time.After(rereadAfter):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// allConfigMaps and allEvents are what untilTrue follows for all such objects in the namespace of
// the world.
func (w *world) allConfigMaps() client.Object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace}}
}

func (w *world) allEvents() client.Object {
	return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace}}
}
