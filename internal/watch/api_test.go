// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

func gvr(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: resource}
}

func gvrs(resources ...string) []schema.GroupVersionResource {
	var all []schema.GroupVersionResource
	for _, r := range resources {
		all = append(all, gvr(r))
	}
	return all
}

// server is an API server for metadata. It ignores selectors and keeps all versions.
type server struct {
	mu       sync.Mutex
	version  int
	objects  map[string]map[string]*metav1.PartialObjectMetadata
	watchers map[string][]*watcher
	// errs are the errors of requests, by resource.
	errs map[string]error
	// requests and watches are counts by resource; watches are requests too.
	requests, watches map[string]int
	// lastWatch are the options of the last watch.
	lastWatch  metav1.ListOptions
	selectors  map[string]bool
	namespaces map[string]bool
	// streams is true if lists can be streamed.
	streams bool
}

type watcher struct {
	events chan apiwatch.Event

	mu      sync.Mutex
	stopped bool
}

func (w *watcher) ResultChan() <-chan apiwatch.Event { return w.events }

func (w *watcher) Stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.stopped = true
		close(w.events)
	}
}

func (w *watcher) send(event apiwatch.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.events <- event
	}
}

func (s *server) Resource(r schema.GroupVersionResource) metadata.Getter {
	return &resource{server: s, name: r.Resource}
}

func newServer() *server {
	return &server{
		version: 100, objects: map[string]map[string]*metav1.PartialObjectMetadata{}, watchers: map[string][]*watcher{},
		errs: map[string]error{}, requests: map[string]int{}, watches: map[string]int{}, selectors: map[string]bool{}, namespaces: map[string]bool{},
	}
}

type resource struct {
	metadata.Getter
	server          *server
	name, namespace string
}

func (r *resource) Namespace(ns string) metadata.ResourceInterface {
	return &resource{server: r.server, name: r.name, namespace: ns}
}

func (s *server) request(r *resource, o metav1.ListOptions) error {
	s.requests[r.name]++
	s.selectors[o.LabelSelector], s.namespaces[r.namespace] = true, true
	return s.errs[r.name]
}

func (r *resource) List(_ context.Context, o metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	s := r.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.request(r, o); err != nil {
		return nil, err
	}
	list := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(s.version)}}
	for _, name := range slices.Sorted(maps.Keys(s.objects[r.name])) {
		list.Items = append(list.Items, *s.objects[r.name][name].DeepCopy())
	}
	return list, nil
}

func (r *resource) Watch(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
	s := r.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.request(r, o); err != nil {
		return nil, err
	}
	if err := s.errs["watch "+r.name]; err != nil {
		return nil, err
	}
	initial := o.SendInitialEvents != nil && *o.SendInitialEvents
	if initial && !s.streams {
		return nil, apierrors.NewBadRequest("no streams")
	}
	s.watches[r.name]++
	s.lastWatch = o
	w := &watcher{events: make(chan apiwatch.Event, 10000)}
	if initial {
		for _, object := range s.objects[r.name] {
			w.events <- apiwatch.Event{Type: apiwatch.Added, Object: object.DeepCopy()}
		}
		end := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: strconv.Itoa(s.version), Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
		}}
		w.events <- apiwatch.Event{Type: apiwatch.Bookmark, Object: end}
	}
	s.watchers[r.name] = append(s.watchers[r.name], w)
	return w, ctx.Err()
}

func (s *server) send(resource string, event apiwatch.Event) {
	for _, w := range s.watchers[resource] {
		w.send(event)
	}
}

// put creates or updates an object and returns its version.
func (s *server) put(resource string, o *metav1.PartialObjectMetadata) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	o = o.DeepCopy()
	o.ResourceVersion = strconv.Itoa(s.version)
	if s.objects[resource] == nil {
		s.objects[resource] = map[string]*metav1.PartialObjectMetadata{}
	}
	kind := apiwatch.Modified
	if s.objects[resource][o.Name] == nil {
		kind = apiwatch.Added
	}
	s.objects[resource][o.Name] = o
	s.send(resource, apiwatch.Event{Type: kind, Object: o.DeepCopy()})
	return o.ResourceVersion
}

func (s *server) remove(resource, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	o := s.objects[resource][name]
	delete(s.objects[resource], name)
	o = o.DeepCopy()
	o.ResourceVersion = strconv.Itoa(s.version)
	s.send(resource, apiwatch.Event{Type: apiwatch.Deleted, Object: o})
}

func (s *server) bookmark(resource string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version += 10
	at := strconv.Itoa(s.version)
	s.send(resource, apiwatch.Event{Type: apiwatch.Bookmark, Object: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: at}}})
	return at
}

// cut ends the watches of a resource, with an error event if err is not nil.
func (s *server) cut(resource string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		answer := status.Status()
		s.send(resource, apiwatch.Event{Type: apiwatch.Error, Object: &answer})
	}
	for _, w := range s.watchers[resource] {
		w.Stop()
	}
	s.watchers[resource] = nil
}

// fail sets the error of requests for a resource; nil for none.
func (s *server) fail(resource string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs[resource] = err
}

// answer returns the error of requests for a resource.
func (s *server) answer(resource string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.errs[resource]
}

func (s *server) count(resource string) (requests, watches int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[resource], s.watches[resource]
}

var (
	errForbidden = apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no"))
	errNotFound  = apierrors.NewNotFound(schema.GroupResource{}, "")
	errGone      = apierrors.NewResourceExpired("too old")
	errServer    = &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable}}
)

// fixture is a started registry with one server, in a synctest bubble.
type fixture struct {
	*testing.T
	*Registry
	server *server
	stop   func()

	mu   sync.Mutex
	keys []string
}

var app = types.NamespacedName{Namespace: "apps", Name: "app"}

// withRegistry runs play with a started registry in a synctest bubble.
func withRegistry(t *testing.T, options Options, play func(h *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &fixture{T: t, server: newServer()}
		h.Registry = NewRegistry(func(key types.NamespacedName) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.keys = append(h.keys, key.String())
		}, options)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := h.Start(ctx); err != nil {
				t.Error(err)
			}
		}()
		h.stop = func() {
			cancel()
			<-done
		}
		synctest.Wait()
		play(h)
		h.stop()
	})
}

func (h *fixture) cluster() Cluster {
	return Cluster{ID: "here", Client: func() (metadata.Interface, error) { return h.server, nil }}
}

func (h *fixture) watchKinds(key types.NamespacedName, resources ...string) {
	h.WatchKinds(key, h.cluster(), gvrs(resources...))
	synctest.Wait()
}

// pass advances the clock.
func (h *fixture) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// enqueued returns the keys that were enqueued since its last call.
func (h *fixture) enqueued() []string {
	h.pass(time.Second)
	h.mu.Lock()
	defer h.mu.Unlock()
	keys := h.keys
	h.keys = nil
	return keys
}

func (h *fixture) expectEnqueued(when string, want ...string) {
	h.Helper()
	got := h.enqueued()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		h.Errorf("%s: %v were enqueued, want %v", when, got, want)
	}
}

func (h *fixture) observed(resource, name string) Observation {
	return h.Observed("here", gvr(resource), "apps", name)
}

// made returns an object of a release that the controller applied at second one.
func made(name string, change ...func(*metav1.PartialObjectMetadata)) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "apps", Name: name, UID: types.UID("uid-" + name), Generation: 1,
		Labels:        map[string]string{helmv2.LabelName: app.Name, helmv2.LabelNamespace: app.Namespace},
		ManagedFields: []metav1.ManagedFieldsEntry{entry(helmv2.FieldManager, "", 1)},
	}}
	for _, c := range change {
		c(o)
	}
	return o
}

func entry(manager, subresource string, second int64) metav1.ManagedFieldsEntry {
	at := metav1.Unix(second, 0)
	return metav1.ManagedFieldsEntry{
		Manager: manager, Subresource: subresource, Time: &at, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`),
	}
}

func generation(n int64) func(*metav1.PartialObjectMetadata) {
	return func(o *metav1.PartialObjectMetadata) { o.Generation = n }
}

func entries(all ...metav1.ManagedFieldsEntry) func(*metav1.PartialObjectMetadata) {
	return func(o *metav1.PartialObjectMetadata) { o.ManagedFields = all }
}

func of(name string) func(*metav1.PartialObjectMetadata) {
	return func(o *metav1.PartialObjectMetadata) { o.Labels[helmv2.LabelName] = name }
}
