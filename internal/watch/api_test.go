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

// server is an API server that knows metadata, selects by nothing and forgets
// nothing.
type server struct {
	mu       sync.Mutex
	version  int
	objects  map[string]map[string]*metav1.PartialObjectMetadata
	watchers map[string][]*watcher
	// errs are what requests for a resource are answered with.
	errs map[string]error
	// requests by resource, and of those, watches; options of the last watch.
	requests, watches map[string]int
	asked             metav1.ListOptions
	selectors         map[string]bool
	namespaces        map[string]bool
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
	s.asked = o
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

// put creates or changes an object, and returns its version.
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

// cut ends the streams of a resource; with an error if there is one.
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

// fail answers requests for a resource with an error; nil is the end of it.
func (s *server) fail(resource string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs[resource] = err
}

// answer is what requests for a resource are answered with.
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

// house is a registry with one server, started, in a bubble of its own time.
type house struct {
	*testing.T
	*Registry
	server *server
	stop   func()

	mu    sync.Mutex
	wakes []string
}

var app = types.NamespacedName{Namespace: "apps", Name: "app"}

// inBubble plays with a registry whose releases are in one cluster. Time passes only
// when nothing else can happen.
func inBubble(t *testing.T, options Options, play func(h *house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &house{T: t, server: newServer()}
		h.Registry = NewRegistry(func(key types.NamespacedName) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.wakes = append(h.wakes, key.String())
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

func (h *house) cluster() Cluster {
	return Cluster{ID: "here", Client: func() (metadata.Interface, error) { return h.server, nil }}
}

func (h *house) follow(key types.NamespacedName, resources ...string) {
	h.WatchKinds(key, h.cluster(), gvrs(resources...))
	synctest.Wait()
}

// pass lets time pass.
func (h *house) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// woken returns who was woken since the last time it was asked, after all has settled.
func (h *house) woken() []string {
	h.pass(time.Second)
	h.mu.Lock()
	defer h.mu.Unlock()
	wakes := h.wakes
	h.wakes = nil
	return wakes
}

func (h *house) expectWoken(why string, want ...string) {
	h.Helper()
	got := h.woken()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		h.Errorf("%s: %v were woken, want %v", why, got, want)
	}
}

func (h *house) moved(resource, name string) Observation {
	return h.Observed("here", gvr(resource), "apps", name)
}

// made is an object of a release with an entry of ours, made at second one.
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
