// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package capabilities watches which kinds the API server of the controller's own cluster serves.
package capabilities

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"net/http"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
)

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=list;watch
// +kubebuilder:rbac:groups=apiregistration.k8s.io,resources=apiservices,verbs=list;watch

// Observer is called when the capabilities of the API server change.
type Observer struct {
	// Changed is called after each change.
	Changed func()
	// Watched is called with true while changes are observed.
	Watched func(bool)
}

// Watch watches the objects that decide which kinds the API server serves, CRDs and APIServices.
// It is apart from the manager's cache, which ends the process if it may not watch a kind. Watch
// only reports that changes are not observed.
type Watch struct {
	observer Observer
	crds     metadata.ResourceInterface
	others   dynamic.ResourceInterface

	mu sync.Mutex
	// broken are the watches that are not started.
	broken map[string]bool
}

// New returns a Watch, which the manager runs.
func New(config *rest.Config, client *http.Client, observer Observer) (*Watch, error) {
	crds, err := metadata.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	others, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	return &Watch{
		observer: observer,
		crds:     crds.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}),
		others:   others.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}),
		broken:   map[string]bool{"crds": true, "services": true},
	}, nil
}

// Start implements manager.Runnable.
func (w *Watch) Start(ctx context.Context) error {
	// CRDs can be large: only metadata are read. The status of an APIService contains whether
	// its server is available.
	crds := &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return w.crds.List(ctx, o)
		},
		WatchFuncWithContext: w.reporting("crds", w.crds.Watch),
	}
	services := &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return w.others.List(ctx, o)
		},
		WatchFuncWithContext: w.reporting("services", w.others.Watch),
	}
	var running sync.WaitGroup
	for _, r := range []*toolscache.Reflector{
		toolscache.NewReflectorWithOptions(crds, &metav1.PartialObjectMetadata{}, newStore(crdFingerprint, w.observer.Changed),
			toolscache.ReflectorOptions{Name: "crds"}),
		toolscache.NewReflectorWithOptions(services, &unstructured.Unstructured{}, newStore(serviceFingerprint, w.observer.Changed),
			toolscache.ReflectorOptions{Name: "services"}),
	} {
		running.Go(func() { r.RunWithContext(ctx) })
	}
	running.Wait()
	w.observer.Watched(false)
	return nil
}

// reporting returns a function that starts a watch and reports whether all watches are started.
// A watch is started after the list was read.
func (w *Watch) reporting(name string, watch func(context.Context, metav1.ListOptions) (apiwatch.Interface, error)) toolscache.WatchFuncWithContext {
	return func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
		started, err := watch(ctx, o)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.broken[name] = err != nil
		w.observer.Watched(!w.broken["crds"] && !w.broken["services"])
		return started, err
	}
}

// store keeps a fingerprint of each object, and reports changes. Reflectors write into it.
type store struct {
	of      func(obj any) fingerprint
	changed func()

	mu   sync.Mutex
	seen map[string]fingerprint
	// started is true after the first list.
	started bool
}

// fingerprint is kept of an object in its place.
type fingerprint struct {
	// content is a hash of the relevant fields that are read.
	content uint64
	// version is the resourceVersion if relevant fields are not read, and aside a hash of the
	// irrelevant fields that are read. A write that changes the version and not aside has
	// changed a field that is not read.
	version string
	aside   uint64
}

func newStore(of func(any) fingerprint, changed func()) *store {
	return &store{of: of, changed: changed, seen: map[string]fingerprint{}}
}

// crdFingerprint returns the fingerprint of the metadata of a CRD. The status, which contains
// whether the CRD is served, is not among them.
func crdFingerprint(obj any) fingerprint {
	o, ok := obj.(metav1.Object)
	if !ok {
		return fingerprint{}
	}
	return fingerprint{
		content: hash(o.GetUID(), o.GetGeneration(), o.GetDeletionTimestamp() != nil),
		version: o.GetResourceVersion(),
		aside:   hash(o.GetLabels(), o.GetAnnotations(), o.GetFinalizers(), o.GetOwnerReferences()),
	}
}

func serviceFingerprint(obj any) fingerprint {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return fingerprint{}
	}
	available := ""
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok && condition["type"] == "Available" {
			available, _ = condition["status"].(string)
		}
	}
	return fingerprint{content: hash(u.GetUID(), u.Object["spec"], available)}
}

func hash(parts ...any) uint64 {
	h := fnv.New64a()
	// Objects that were decoded from JSON can be encoded.
	_ = json.NewEncoder(h).Encode(parts)
	return h.Sum64()
}

// Add implements ReflectorStore.
func (s *store) Add(obj any) error { return s.Update(obj) }

// Update implements ReflectorStore.
func (s *store) Update(obj any) error {
	name, err := toolscache.MetaNamespaceKeyFunc(obj)
	if err != nil {
		return err
	}
	after := s.of(obj)
	s.mu.Lock()
	before, known := s.seen[name]
	s.seen[name] = after
	s.mu.Unlock()
	hidden := before.version != after.version && before.aside == after.aside
	if !known || before.content != after.content || hidden {
		s.changed()
	}
	return nil
}

// Delete implements ReflectorStore.
func (s *store) Delete(obj any) error {
	name, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.seen, name)
	s.mu.Unlock()
	s.changed()
	return nil
}

// Replace implements ReflectorStore. Any change may have happened since the watch before it
// ended. The first list is no change: Watched is called after it.
func (s *store) Replace(all []any, _ string) error {
	next := make(map[string]fingerprint, len(all))
	for _, obj := range all {
		name, err := toolscache.MetaNamespaceKeyFunc(obj)
		if err != nil {
			return err
		}
		next[name] = s.of(obj)
	}
	s.mu.Lock()
	resumed := s.started
	s.seen, s.started = next, true
	s.mu.Unlock()
	if resumed {
		s.changed()
	}
	return nil
}

// Resync implements ReflectorStore.
func (s *store) Resync() error { return nil }
