// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Index holds the metadata of all records of one cluster from a single watch, with the identity
// of the controller. It returns which revisions exist and at which resourceVersion; their
// content has to be read by an identity with permission. It may be used concurrently. A nil
// Index is empty and never synced.
//
// Writes of this process are in the index at once, before the event of the watch arrives.
type Index struct {
	source    cache.ListerWatcher
	namespace string
	synced    chan struct{}
	once      sync.Once

	mu       sync.Mutex
	releases map[releaseKey]map[string]record
	// gone are the Secrets that this process has deleted and whose DELETED event has not
	// arrived.
	gone map[types.UID]bool
	// stale are the releases with a revision that a write has met and the watch has not shown.
	stale map[releaseKey]bool
	// onDelete, if set, is called for each deleted Secret.
	onDelete func(types.UID)
}

type releaseKey struct{ namespace, name string }

// NewIndex returns an index of the records in a namespace, or in all namespaces if it is empty.
// Start fills it.
func NewIndex(config *rest.Config, namespace string) (*Index, error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client for the metadata of Helm storage: %w", err)
	}
	secrets := client.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(namespace)
	selected := func(o metav1.ListOptions) metav1.ListOptions {
		o.LabelSelector = "owner=helm"
		return o
	}
	return newIndex(namespace, &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return secrets.List(ctx, selected(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			return secrets.Watch(ctx, selected(o))
		},
	}), nil
}

func newIndex(namespace string, source cache.ListerWatcher) *Index {
	return &Index{
		source: source, namespace: namespace, synced: make(chan struct{}),
		releases: map[releaseKey]map[string]record{}, gone: map[types.UID]bool{}, stale: map[releaseKey]bool{},
	}
}

// Start lists and watches until ctx ends.
func (x *Index) Start(ctx context.Context) error {
	cache.NewReflectorWithOptions(x.source, &metav1.PartialObjectMetadata{}, x,
		cache.ReflectorOptions{Name: "helm storage", TypeDescription: "Secrets of Helm storage"}).RunWithContext(ctx)
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. The index of a replica that
// becomes the leader is already filled.
func (x *Index) NeedLeaderElection() bool { return false }

// Synced returns a channel that is closed when the first list is in the index.
func (x *Index) Synced() <-chan struct{} { return x.synced }

// records returns the records of a release, newest first; false if the index cannot tell.
func (x *Index) records(namespace, name string) ([]record, bool) {
	if !x.covers(namespace) {
		return nil, false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	key := releaseKey{namespace, name}
	if x.stale[key] {
		return nil, false
	}
	all := slices.Collect(maps.Values(x.releases[key]))
	sortNewestFirst(all)
	return all, true
}

// markStale makes records return false for a release until noteList is called for it.
func (x *Index) markStale(namespace, name string) {
	if !x.covers(namespace) {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stale[releaseKey{namespace, name}] = true
}

// covers reports whether the index is synced and has the records of a namespace. Before that,
// writes are not noted either: no event of the watch would remove them again.
func (x *Index) covers(namespace string) bool {
	if x == nil || x.namespace != "" && x.namespace != namespace {
		return false
	}
	select {
	case <-x.synced:
		return true
	default:
		return false
	}
}

// noteWrite adds a record that this process has written.
func (x *Index) noteWrite(namespace string, rec record) {
	if !x.covers(namespace) || rec.UID == "" {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.put(namespace, rec)
}

// noteDelete removes a record that this process has deleted.
func (x *Index) noteDelete(namespace string, rec record) {
	if !x.covers(namespace) || rec.UID == "" {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.drop(namespace, rec)
	x.gone[rec.UID] = true
}

// noteList merges a list of the records of a release at a resourceVersion.
func (x *Index) noteList(namespace, name string, all []record, at string) {
	if !x.covers(namespace) {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.stale, releaseKey{namespace, name})
	for secret, rec := range x.releases[releaseKey{namespace, name}] {
		listed := slices.ContainsFunc(all, func(r record) bool { return r.Name == secret })
		if !listed && !newer(rec.ResourceVersion, at) {
			x.drop(namespace, rec)
		}
	}
	for _, rec := range all {
		x.put(namespace, rec)
	}
}

// put adds a record unless the index has a newer version of it or it was deleted.
func (x *Index) put(namespace string, rec record) {
	key := releaseKey{namespace, rec.Labels["name"]}
	if x.gone[rec.UID] {
		return
	}
	if known, ok := x.releases[key][rec.Name]; ok && newer(known.ResourceVersion, rec.ResourceVersion) {
		return
	}
	if x.releases[key] == nil {
		x.releases[key] = map[string]record{}
	}
	rec.Labels = indexedLabels(rec.Labels)
	x.releases[key][rec.Name] = rec
}

// drop removes a record, but not another Secret of the same name.
func (x *Index) drop(namespace string, rec record) {
	key := releaseKey{namespace, rec.Labels["name"]}
	if x.releases[key][rec.Name].UID != rec.UID {
		return
	}
	delete(x.releases[key], rec.Name)
	if len(x.releases[key]) == 0 {
		delete(x.releases, key)
	}
}

// newer compares resourceVersions of the same resource.
func newer(a, b string) bool {
	m, errA := strconv.ParseUint(a, 10, 64)
	n, errB := strconv.ParseUint(b, 10, 64)
	return errA == nil && errB == nil && m > n
}

// Add implements cache.ReflectorStore.
func (x *Index) Add(obj any) error {
	x.observe(obj, x.put)
	return nil
}

// Update implements cache.ReflectorStore.
func (x *Index) Update(obj any) error { return x.Add(obj) }

// Delete implements cache.ReflectorStore.
func (x *Index) Delete(obj any) error {
	x.observe(obj, func(namespace string, rec record) {
		x.drop(namespace, rec)
		delete(x.gone, rec.UID)
		if x.onDelete != nil {
			x.onDelete(rec.UID)
		}
	})
	return nil
}

// observe calls do with the record in an event, with the lock held.
func (x *Index) observe(obj any, do func(namespace string, rec record)) {
	if namespace, rec, ok := metadataRecord(obj); ok {
		x.mu.Lock()
		defer x.mu.Unlock()
		do(namespace, rec)
	}
}

// metadataRecord returns the record that an object of the watch describes, and its namespace.
func metadataRecord(obj any) (namespace string, rec record, ok bool) {
	object, ok := obj.(metav1.Object)
	if !ok {
		return "", record{}, false
	}
	rec, ok = recordOf(object)
	return object.GetNamespace(), rec, ok
}

// Replace implements cache.ReflectorStore. Records that were written after the list stay. It
// holds the lock throughout: a reader in between would find no releases.
func (x *Index) Replace(list []any, at string) error {
	x.replace(list, at)
	x.once.Do(func() { close(x.synced) })
	return nil
}

func (x *Index) replace(list []any, at string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	before, gone := x.releases, x.gone
	x.releases, x.gone = map[releaseKey]map[string]record{}, map[types.UID]bool{}
	for key, secrets := range before {
		for _, rec := range secrets {
			if newer(rec.ResourceVersion, at) {
				x.put(key.namespace, rec)
			}
		}
	}
	for _, obj := range list {
		if namespace, rec, ok := metadataRecord(obj); ok {
			if gone[rec.UID] {
				x.gone[rec.UID] = true
			}
			x.put(namespace, rec)
		}
	}
}

// Resync implements cache.ReflectorStore.
func (x *Index) Resync() error { return nil }

var _ cache.ReflectorStore = (*Index)(nil)
