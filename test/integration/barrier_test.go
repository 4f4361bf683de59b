// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/controller/helmrelease"
)

// How quiet treats a requeue. One within quickRequeue continues the reconciliation: it is waited
// for, however often it is repeated. One within nextRetry is a retry: it is waited for once.
const (
	quickRequeue = 50 * time.Millisecond
	nextRetry    = 1500 * time.Millisecond
)

// barrier knows what one controller does: the keys in its queues, the reconciliations that run, and
// the versions that its event handlers have handled. Nothing of it is asked of the API server.
type barrier struct {
	*signal
	name     string
	releases *helmrelease.Controller
	// events records events in the same order as the controllers.
	events record.EventRecorder
	// metrics has the metrics of the controller.
	metrics prometheus.Gatherer

	mu     sync.Mutex
	queues map[string]*queue
	// handlers are the event handlers by the type of their objects.
	handlers map[string][]*eventHandler
}

// signal lets any number of goroutines wait for the next change.
type signal struct {
	mu   sync.Mutex
	next chan struct{}
}

func newSignal() *signal { return &signal{next: make(chan struct{})} }

// changed returns a channel that is closed at the next change.
func (s *signal) changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next
}

func (s *signal) change() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.next)
	s.next = make(chan struct{})
}

// barriers are those of the controllers that run against an API server.
type barriers struct {
	mu  sync.Mutex
	all []*barrier
}

func (b *barriers) add(name string) *barrier {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := &barrier{signal: newSignal(), name: name, queues: map[string]*queue{}, handlers: map[string][]*eventHandler{}}
	b.all = append(b.all, one)
	return one
}

func (b *barriers) remove(one *barrier) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = slices.DeleteFunc(b.all, func(other *barrier) bool { return other == one })
	one.change()
}

// of returns the barriers of the controllers that reconcile an object.
func (b *barriers) of(object client.Object) []*barrier {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*barrier
	for _, one := range b.all {
		if one.name == object.GetLabels()[labelController] {
			all = append(all, one)
		}
	}
	return all
}

// runs reports whether a controller has not been stopped.
func (b *barriers) runs(one *barrier) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.all, one)
}

// queue observes a work queue, to which it passes everything on.
type queue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	barrier *barrier
	limiter workqueue.TypedRateLimiter[reconcile.Request]

	mu   sync.Mutex
	keys map[types.NamespacedName]*work
}

// work is the state of a key in a queue.
type work struct {
	// running is true during a reconciliation. ended counts reconciliations, and retries those that
	// repeat the last after a pause.
	running        bool
	ended, retries int
	// ready is true if the key is enqueued, delayed if it will be after the delay of a trigger, and
	// requeue is when the last reconciliation is repeated, after pause; zero for never.
	ready, delayed bool
	requeue        time.Time
	pause          time.Duration
}

// newQueue is a controller.NewQueue.
func (b *barrier) newQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	q := &queue{
		barrier: b, limiter: limiter, keys: map[types.NamespacedName]*work{},
		PriorityQueue: priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter }),
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queues[name] = q
	return q
}

// with calls f with the state of a key, then tells those who wait.
func (q *queue) with(key types.NamespacedName, f func(*work)) {
	q.mu.Lock()
	if q.keys[key] == nil {
		q.keys[key] = &work{}
	}
	f(q.keys[key])
	q.mu.Unlock()
	q.barrier.change()
}

// AddWithOpts implements PriorityQueue. During a reconciliation, a delay with a priority is its
// result; see the controller of controller-runtime.
func (q *queue) AddWithOpts(o priorityqueue.AddOpts, requests ...reconcile.Request) {
	for _, request := range requests {
		o := o
		if o.RateLimited {
			after := q.limiter.When(request)
			if o.RateLimited = false; o.After == 0 || after < o.After {
				o.After = after
			}
		}
		q.with(request.NamespacedName, func(k *work) {
			switch at := time.Now().Add(o.After); {
			case o.After <= 0:
				k.ready = true
			case !k.running || o.Priority == nil:
				k.delayed = true
			case k.requeue.IsZero() || at.Before(k.requeue):
				k.requeue, k.pause = at, o.After
			}
		})
		q.PriorityQueue.AddWithOpts(o, request)
	}
}

// Add implements PriorityQueue.
func (q *queue) Add(request reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, request) }

// AddAfter implements PriorityQueue.
func (q *queue) AddAfter(request reconcile.Request, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, request)
}

// AddRateLimited implements PriorityQueue.
func (q *queue) AddRateLimited(request reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, request)
}

// GetWithPriority implements PriorityQueue.
func (q *queue) GetWithPriority() (request reconcile.Request, priority int, shutdown bool) {
	request, priority, shutdown = q.PriorityQueue.GetWithPriority()
	if request.Name != "" {
		q.with(request.NamespacedName, func(k *work) {
			retries := k.retries
			if !k.ready && !k.delayed && k.pause > quickRequeue {
				retries++
			}
			*k = work{running: true, ended: k.ended, retries: retries}
		})
	}
	return request, priority, shutdown
}

// Get implements PriorityQueue.
func (q *queue) Get() (request reconcile.Request, shutdown bool) {
	request, _, shutdown = q.GetWithPriority()
	return request, shutdown
}

// Done implements PriorityQueue.
func (q *queue) Done(request reconcile.Request) {
	q.PriorityQueue.Done(request)
	q.with(request.NamespacedName, func(k *work) { k.running, k.ended = false, k.ended+1 })
}

// state returns the state of a key.
func (q *queue) state(key types.NamespacedName) work {
	q.mu.Lock()
	defer q.mu.Unlock()
	if k := q.keys[key]; k != nil {
		return *k
	}
	return work{}
}

// observedCache observes the event handlers of a cache.
type observedCache struct {
	cache.Cache
	barrier *barrier
}

// newCache is the NewCache of a manager.
func (b *barrier) newCache(config *rest.Config, o cache.Options) (cache.Cache, error) {
	c, err := cache.New(config, o)
	return &observedCache{c, b}, err
}

// GetInformer implements cache.Informers.
func (c *observedCache) GetInformer(ctx context.Context, object client.Object, o ...cache.InformerGetOption) (cache.Informer, error) {
	informer, err := c.Cache.GetInformer(ctx, object, o...)
	return &observedInformer{informer, c.barrier, typeOf(object)}, err
}

// typeOf returns the key of the event handlers of a kind.
func typeOf(object client.Object) string {
	if partial, is := object.(*metav1.PartialObjectMetadata); is {
		return partial.Kind
	}
	of := reflect.TypeOf(object).Elem()
	if _, is := object.(*cattlev1.HelmChart); is {
		// source-controller has a kind of the same name.
		return of.PkgPath() + "." + of.Name()
	}
	return of.Name()
}

type observedInformer struct {
	cache.Informer
	barrier *barrier
	kind    string
}

func (i *observedInformer) observe(next toolscache.ResourceEventHandler) toolscache.ResourceEventHandler {
	h := &eventHandler{ResourceEventHandler: next, barrier: i.barrier, objects: map[types.NamespacedName]*handled{}}
	i.barrier.mu.Lock()
	defer i.barrier.mu.Unlock()
	i.barrier.handlers[i.kind] = append(i.barrier.handlers[i.kind], h)
	return h
}

// AddEventHandler implements cache.Informer.
func (i *observedInformer) AddEventHandler(next toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandler(i.observe(next))
}

// AddEventHandlerWithResyncPeriod implements cache.Informer.
func (i *observedInformer) AddEventHandlerWithResyncPeriod(next toolscache.ResourceEventHandler, resync time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandlerWithResyncPeriod(i.observe(next), resync)
}

// AddEventHandlerWithOptions implements cache.Informer.
func (i *observedInformer) AddEventHandlerWithOptions(next toolscache.ResourceEventHandler, o toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandlerWithOptions(i.observe(next), o)
}

// eventHandler observes an event handler. It is called after the cache has the object, and whatever it
// enqueues is in the queue when it returns.
type eventHandler struct {
	toolscache.ResourceEventHandler
	barrier *barrier

	mu      sync.Mutex
	objects map[types.NamespacedName]*handled
}

// handled is the last event of an object that a handler has handled.
type handled struct {
	version string
	deleted bool
}

// OnAdd implements ResourceEventHandler.
func (h *eventHandler) OnAdd(object any, initial bool) {
	h.ResourceEventHandler.OnAdd(object, initial)
	h.record(object, false)
}

// OnUpdate implements ResourceEventHandler.
func (h *eventHandler) OnUpdate(before, after any) {
	h.ResourceEventHandler.OnUpdate(before, after)
	h.record(after, false)
}

// OnDelete implements ResourceEventHandler.
func (h *eventHandler) OnDelete(object any) {
	h.ResourceEventHandler.OnDelete(object)
	if last, is := object.(toolscache.DeletedFinalStateUnknown); is {
		object = last.Obj
	}
	h.record(object, true)
}

func (h *eventHandler) record(object any, deleted bool) {
	if o, is := object.(client.Object); is {
		h.mu.Lock()
		h.objects[client.ObjectKeyFromObject(o)] = &handled{version: o.GetResourceVersion(), deleted: deleted}
		h.mu.Unlock()
		h.barrier.change()
	}
}

// has reports whether the handler has handled a version of an object, or a newer one. An empty
// version is the deletion of the object.
func (h *eventHandler) has(key types.NamespacedName, version string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := h.objects[key]
	switch {
	case last == nil:
		return version == ""
	case version == "":
		return last.deleted
	default:
		return !older(last.version, version)
	}
}

// older reports whether a version of an object is older than another one.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}

// handled reports whether all event handlers of a kind have handled a version of an object.
func (b *barrier) handled(object client.Object, version string) bool {
	b.mu.Lock()
	all := slices.Clone(b.handlers[typeOf(object)])
	b.mu.Unlock()
	key := client.ObjectKeyFromObject(object)
	return len(all) > 0 && !slices.ContainsFunc(all, func(h *eventHandler) bool { return !h.has(key, version) })
}

// queueOf returns the queue of the controller of an object; nil before that controller has started.
func (b *barrier) queueOf(object client.Object) *queue {
	name := "helmrelease"
	switch object.(type) {
	case *opsv1alpha1.Operation:
		name = "operation"
	case *cattlev1.HelmChart:
		name = "helmchart"
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queues[name]
}

// works returns what the controller does, or is going to do, for an object that was at rest with
// the given state; empty for nothing.
func (b *barrier) works(object client.Object, from work, since time.Time, background bool) string {
	key := client.ObjectKeyFromObject(object)
	q := b.queueOf(object)
	if q == nil {
		return "the controller starts"
	}
	_, is := object.(*helmv2.HelmRelease)
	busy := background && is && b.releases.Busy(key)
	switch now := q.state(key); {
	case now.running:
		return "a reconciliation runs"
	case now.ready:
		return "it is enqueued"
	case now.delayed:
		return "it is enqueued after a delay"
	case busy && now.retries == from.retries:
		return "it works in the background"
	case !now.requeue.IsZero() && now.pause <= quickRequeue:
		return fmt.Sprintf("it is requeued after %s", now.pause)
	case !now.requeue.IsZero() && now.ended == from.ended && now.requeue.Sub(since) <= nextRetry:
		return fmt.Sprintf("it is requeued after %s", now.pause)
	default:
		return ""
	}
}

// quiet waits until nothing is left to do for a HelmRelease or Operation, and reads it: the event
// handlers of its controllers have handled its present version, it is in no queue, and nothing runs
// for it in the foreground or background. A retry with back-off that is due soon is waited for once,
// and the action of a retry is not waited for.
func (w *world) quiet(object client.Object) {
	w.t.Helper()
	w.settled(object, true)
}

// observed waits like quiet, but not for work in the background: it is for a HelmRelease whose action
// goes on.
func (w *world) observed(object client.Object) {
	w.t.Helper()
	w.settled(object, false)
}

// idle waits like quiet, but not until the controller has received the present version: it is for a
// HelmRelease whose watch a test has interrupted.
func (w *world) idle(object client.Object) {
	w.t.Helper()
	since := time.Now()
	for _, b := range suite.barriers.of(object) {
		b.wait(w, object.GetName()+" to be idle", func() string { return b.works(object, work{}, since, true) })
	}
}

func (w *world) settled(object client.Object, background bool) {
	w.t.Helper()
	w.present(object)
	since, all := time.Now(), suite.barriers.of(object)
	from := map[*barrier]work{}
	for _, b := range all {
		if q := b.queueOf(object); q != nil {
			from[b] = q.state(client.ObjectKeyFromObject(object))
		}
	}
	for {
		version := w.present(object)
		why := ""
		for _, b := range all {
			b.wait(w, "quiet of "+object.GetName(), func() string {
				switch {
				case !suite.barriers.runs(b):
					return ""
				case !b.handled(object, version):
					return "version " + version + " is not received"
				default:
					return b.works(object, from[b], since, background)
				}
			})
		}
		// The wait for one controller, or its last write, may have given another one something to do.
		for _, b := range all {
			if suite.barriers.runs(b) {
				why += b.works(object, from[b], since, background)
			}
		}
		if why == "" && w.present(object) == version {
			return
		}
	}
}

// present reads an object, and returns its version; empty if it does not exist.
func (w *world) present(object client.Object) string {
	w.t.Helper()
	err := suite.client.Get(w.t.Context(), client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) {
		return ""
	}
	w.must(err)
	return object.GetResourceVersion()
}

// received waits until the controllers of the world have received the present version of an object,
// and have enqueued what it triggers. They must watch its kind, and the object must match their
// selectors.
func (w *world) received(object client.Object) {
	w.t.Helper()
	version, all := w.present(object), suite.barriers.in(w.namespace)
	if _, is := object.(*helmv2.HelmRelease); is {
		all = suite.barriers.of(object)
	}
	for _, b := range all {
		b.wait(w, "the controller to receive "+typeOf(object)+" "+object.GetName(), func() string {
			if !suite.barriers.runs(b) || b.handled(object, version) {
				return ""
			}
			return "version " + version + " is not received"
		})
	}
}

// noticed waits until the drift detection of the controller of a HelmRelease has received the present
// version of an object of the release, then until the HelmRelease is quiet.
func (w *world) noticed(hr *helmv2.HelmRelease, object client.Object) {
	w.t.Helper()
	version := w.present(object)
	kind, err := apiutil.GVKForObject(object, controller.Scheme())
	w.must(err)
	mapping, err := suite.client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	w.must(err)
	for _, b := range suite.barriers.of(hr) {
		b.wait(w, "the controller to notice "+kind.Kind+" "+object.GetName(), func() string {
			if !suite.barriers.runs(b) || b.releases.Received(mapping.Resource, version) {
				return ""
			}
			return "version " + version + " is not received"
		})
	}
	w.quiet(hr)
}

// recorded waits until a HelmRelease is quiet and the API server has all events about it.
func (w *world) recorded(hr *helmv2.HelmRelease) {
	w.t.Helper()
	w.quiet(hr)
	w.eventsSent(hr)
}

// eventsSent waits until the API server has all events that the controller of a HelmRelease has
// recorded so far. They are sent one after the other.
func (w *world) eventsSent(hr *helmv2.HelmRelease) {
	w.t.Helper()
	for _, b := range suite.barriers.of(hr) {
		// A new object each time: the number of events about one is limited.
		last := &corev1.ObjectReference{Kind: "Barrier", Namespace: metav1.NamespaceDefault, Name: fmt.Sprint("barrier-", fences.Add(1))}
		b.events.Event(last, corev1.EventTypeNormal, "Barrier", "all earlier events are recorded")
		untilTrue(w, "the events of the controller", func() bool {
			var all corev1.EventList
			w.must(suite.client.List(w.t.Context(), &all, client.InNamespace(last.Namespace), client.MatchingFields{"involvedObject.name": last.Name}))
			return len(all.Items) > 0
		}, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: last.Namespace}})
	}
}

// fences counts the calls of recorded.
var fences atomic.Int64

// reconciled returns how many reconciliations of a HelmRelease have ended in its controllers, and the
// longest delay after which one of them repeats the last.
func (w *world) reconciled(hr *helmv2.HelmRelease) (ended int, requeue time.Duration) {
	w.t.Helper()
	for _, b := range suite.barriers.of(hr) {
		now := b.queueOf(hr).state(client.ObjectKeyFromObject(hr))
		ended, requeue = ended+now.ended, max(requeue, now.pause)
	}
	return ended, requeue
}

// known waits until the controllers of the world have received the present version of a policy or
// plan.
func (w *world) known(object client.Object) {
	w.t.Helper()
	version := w.present(object)
	for _, b := range suite.barriers.in(w.namespace) {
		b.wait(w, "the controller to receive "+typeOf(object)+" "+object.GetName(), func() string {
			known := b.releases.Known(object)
			if !suite.barriers.runs(b) || known == version || version != "" && known != "" && !older(known, version) {
				return ""
			}
			return "version " + version + " is not received"
		})
	}
}

// in returns the barriers of the controllers that may reconcile releases of a namespace: the shared
// one and that of the test.
func (b *barriers) in(namespace string) []*barrier {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*barrier
	for _, one := range b.all {
		if one.name == "" || one.name == namespace {
			all = append(all, one)
		}
	}
	return all
}

// wait waits until why returns nothing. It has no limit of its own: that of the suite prints all
// goroutines.
func (b *barrier) wait(w *world, what string, why func() string) {
	w.t.Helper()
	waiting := w.waitsFor(what)
	defer waiting.over()
	for {
		changed := b.changed()
		reason := why()
		if reason == "" {
			return
		}
		waiting.because(reason)
		select {
		case <-changed:
		case <-time.After(50 * time.Millisecond):
			// Work in the background may end without a trigger.
		case <-w.t.Context().Done():
			w.t.Fatalf("waiting for %s: the test has ended: %s", what, reason)
		}
	}
}

// waiting reports a wait that takes long, once.
type waiting struct {
	timer *time.Timer

	mu     sync.Mutex
	reason string
}

// longWait is how long a wait takes that is reported.
const longWait = 30 * time.Second

// waitsFor reports to the output of the suite if the test waits for long. It is there after a panic,
// too.
func (w *world) waitsFor(what string) *waiting {
	wait, name := &waiting{}, w.t.Name()
	begun := time.Now()
	wait.timer = time.AfterFunc(longWait, func() {
		wait.mu.Lock()
		defer wait.mu.Unlock()
		fmt.Fprintf(os.Stderr, "%s waits since %s for %s: %s\n", name, begun.Format(time.TimeOnly), what, wait.reason)
	})
	return wait
}

func (w *waiting) because(reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reason = reason
}

func (w *waiting) over() { w.timer.Stop() }
