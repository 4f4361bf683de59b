// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package controller

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

	"github.com/pintle-dev/pintle/internal/cluster"
)

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=list;watch
// +kubebuilder:rbac:groups=apiregistration.k8s.io,resources=apiservices,verbs=list;watch

// definitions hears of changes of what the API server offers.
type definitions interface {
	APIsChanged()
	SetAPIsWatched(watched bool)
}

// offers tells all who want to know what the API server of the controller's own
// cluster offers.
type offers struct {
	*cluster.Connections
	changed func()
}

// APIsChanged implements definitions.
func (o offers) APIsChanged() {
	o.Connections.APIsChanged()
	o.changed()
}

// definitionsWatch watches, for as long as it runs, what makes the API server
// offer kinds: CustomResourceDefinitions and APIServices. It is no part of the
// manager's cache, for which a watch that is forbidden is the end. Here it means
// that nobody watches.
type definitionsWatch struct {
	tell   definitions
	crds   metadata.ResourceInterface
	others dynamic.ResourceInterface

	mu sync.Mutex
	// broken are the watches that do not stand.
	broken map[string]bool
}

func newDefinitionsWatch(config *rest.Config, client *http.Client, tell definitions) (*definitionsWatch, error) {
	crds, err := metadata.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	others, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	return &definitionsWatch{
		tell:   tell,
		crds:   crds.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}),
		others: others.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}),
		broken: map[string]bool{"definitions": true, "services": true},
	}, nil
}

// Start implements manager.Runnable.
func (d *definitionsWatch) Start(ctx context.Context) error {
	// Of definitions, which can be large, only the metadata. Services say in their
	// status whether anybody serves.
	crds := &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return d.crds.List(ctx, o)
		},
		WatchFuncWithContext: d.noting("definitions", d.crds.Watch),
	}
	services := &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return d.others.List(ctx, o)
		},
		WatchFuncWithContext: d.noting("services", d.others.Watch),
	}
	var running sync.WaitGroup
	for _, r := range []*toolscache.Reflector{
		toolscache.NewReflectorWithOptions(crds, &metav1.PartialObjectMetadata{}, newMarks(markDefinition, d.tell.APIsChanged),
			toolscache.ReflectorOptions{Name: "definitions"}),
		toolscache.NewReflectorWithOptions(services, &unstructured.Unstructured{}, newMarks(markService, d.tell.APIsChanged),
			toolscache.ReflectorOptions{Name: "services"}),
	} {
		running.Go(func() { r.RunWithContext(ctx) })
	}
	running.Wait()
	d.tell.SetAPIsWatched(false)
	return nil
}

// noting keeps account of whether a watch stands. It begins after the list, so it
// stands only if that could be read too.
func (d *definitionsWatch) noting(what string, begin func(context.Context, metav1.ListOptions) (apiwatch.Interface, error)) toolscache.WatchFuncWithContext {
	return func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
		w, err := begin(ctx, o)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.broken[what] = err != nil
		d.tell.SetAPIsWatched(!d.broken["definitions"] && !d.broken["services"])
		return w, err
	}
}

// marks tells by little more than a hash per object whether it has changed in what
// matters. It is what reflectors write into.
type marks struct {
	of      func(obj any) mark
	changed func()

	mu   sync.Mutex
	seen map[string]mark
	// begun is true once there was a list.
	begun bool
}

// mark is what is kept of an object.
type mark struct {
	// content is a hash of what matters, as far as it can be seen.
	content uint64
	// version is the resourceVersion if something that matters cannot be seen, and
	// aside a hash of what does not matter and can be seen. One write changes either
	// that or what cannot be seen.
	version string
	aside   uint64
}

func newMarks(of func(any) mark, changed func()) *marks {
	return &marks{of: of, changed: changed, seen: map[string]mark{}}
}

// markDefinition sees no status, which says whether a definition is served.
func markDefinition(obj any) mark {
	o, ok := obj.(metav1.Object)
	if !ok {
		return mark{}
	}
	return mark{
		content: hash(o.GetUID(), o.GetGeneration(), o.GetDeletionTimestamp() != nil),
		version: o.GetResourceVersion(),
		aside:   hash(o.GetLabels(), o.GetAnnotations(), o.GetFinalizers(), o.GetOwnerReferences()),
	}
}

func markService(obj any) mark {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return mark{}
	}
	available := ""
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok && condition["type"] == "Available" {
			available, _ = condition["status"].(string)
		}
	}
	return mark{content: hash(u.GetUID(), u.Object["spec"], available)}
}

func hash(parts ...any) uint64 {
	h := fnv.New64a()
	// What came as JSON can become JSON again.
	_ = json.NewEncoder(h).Encode(parts)
	return h.Sum64()
}

// Add implements ReflectorStore.
func (m *marks) Add(obj any) error { return m.Update(obj) }

// Update implements ReflectorStore.
func (m *marks) Update(obj any) error {
	name, err := toolscache.MetaNamespaceKeyFunc(obj)
	if err != nil {
		return err
	}
	after := m.of(obj)
	m.mu.Lock()
	before, known := m.seen[name]
	m.seen[name] = after
	m.mu.Unlock()
	hidden := before.version != after.version && before.aside == after.aside
	if !known || before.content != after.content || hidden {
		m.changed()
	}
	return nil
}

// Delete implements ReflectorStore.
func (m *marks) Delete(obj any) error {
	name, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return err
	}
	m.mu.Lock()
	delete(m.seen, name)
	m.mu.Unlock()
	m.changed()
	return nil
}

// Replace implements ReflectorStore. It resumes a watch, since whose end anything
// may have happened. For the first, whoever is told that the watch has begun knows.
func (m *marks) Replace(all []any, _ string) error {
	next := make(map[string]mark, len(all))
	for _, obj := range all {
		name, err := toolscache.MetaNamespaceKeyFunc(obj)
		if err != nil {
			return err
		}
		next[name] = m.of(obj)
	}
	m.mu.Lock()
	resumed := m.begun
	m.seen, m.begun = next, true
	m.mu.Unlock()
	if resumed {
		m.changed()
	}
	return nil
}

// Resync implements ReflectorStore.
func (m *marks) Resync() error { return nil }
