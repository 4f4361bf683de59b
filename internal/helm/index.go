// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

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

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Index knows the metadata of all revisions in the Helm storage of one cluster by
// a single watch, as the controller sees them. It tells which revisions there
// are and whether one has changed; what is in them has to be read by those who
// may. It may be used concurrently. A nil Index knows nothing.
//
// What this process writes it knows at once, and not only when the watch shows it.
type Index struct {
	source    cache.ListerWatcher
	namespace string
	synced    chan struct{}
	once      sync.Once

	mu       sync.Mutex
	releases map[releaseKey]map[string]Record
	// gone are the Secrets that were deleted here and that the watch still shows.
	gone map[types.UID]bool
	// doubted are the releases of which more is stored than the watch has shown, as a
	// write has met.
	doubted map[releaseKey]bool
	// forget, if set, is told of what is gone.
	forget func(types.UID)
}

type releaseKey struct{ namespace, name string }

// NewIndex returns an index of the storage in a namespace, or in all if it is
// empty, that knows nothing before it is started.
func NewIndex(config *rest.Config, namespace string) (*Index, error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client for the metadata of Helm storage: %w", err)
	}
	secrets := client.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(namespace)
	mine := func(o metav1.ListOptions) metav1.ListOptions {
		o.LabelSelector = "owner=helm"
		return o
	}
	return newIndex(namespace, &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return secrets.List(ctx, mine(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			return secrets.Watch(ctx, mine(o))
		},
	}), nil
}

func newIndex(namespace string, source cache.ListerWatcher) *Index {
	return &Index{
		source: source, namespace: namespace, synced: make(chan struct{}),
		releases: map[releaseKey]map[string]Record{}, gone: map[types.UID]bool{}, doubted: map[releaseKey]bool{},
	}
}

// Start watches until ctx ends.
func (x *Index) Start(ctx context.Context) error {
	cache.NewReflectorWithOptions(x.source, &metav1.PartialObjectMetadata{}, x,
		cache.ReflectorOptions{Name: "helm storage", TypeDescription: "Secrets of Helm storage"}).RunWithContext(ctx)
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: whoever becomes
// the leader should know the storage by then.
func (x *Index) NeedLeaderElection() bool { return false }

// Synced is closed when the index knows all there is.
func (x *Index) Synced() <-chan struct{} { return x.synced }

// records returns what is stored of a release, newest first; false if that is not
// known.
func (x *Index) records(namespace, name string) ([]Record, bool) {
	if !x.knows(namespace) {
		return nil, false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	key := releaseKey{namespace, name}
	if x.doubted[key] {
		return nil, false
	}
	all := slices.Collect(maps.Values(x.releases[key]))
	newestFirst(all)
	return all, true
}

// doubt has the storage of a release be listed before the index is asked about it
// again: there is something that the watch has not shown yet.
func (x *Index) doubt(namespace, name string) {
	if !x.knows(namespace) {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.doubted[releaseKey{namespace, name}] = true
}

// knows reports whether the index has what is stored in a namespace. Until then
// nothing is noted either: no watch would ever take it away again.
func (x *Index) knows(namespace string) bool {
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

// wrote takes note of a record that this process has written.
func (x *Index) wrote(namespace string, rec Record) {
	if !x.knows(namespace) || rec.UID == "" {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.put(namespace, rec)
}

// deleted takes note of a record that this process has deleted.
func (x *Index) deleted(namespace string, rec Record) {
	if !x.knows(namespace) || rec.UID == "" {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.drop(namespace, rec)
	x.gone[rec.UID] = true
}

// learned takes note of what a list of a release said, at a resourceVersion.
func (x *Index) learned(namespace, name string, all []Record, at string) {
	if !x.knows(namespace) {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.doubted, releaseKey{namespace, name})
	for secret, rec := range x.releases[releaseKey{namespace, name}] {
		listed := slices.ContainsFunc(all, func(r Record) bool { return r.Name == secret })
		if !listed && !newer(rec.ResourceVersion, at) {
			x.drop(namespace, rec)
		}
	}
	for _, rec := range all {
		x.put(namespace, rec)
	}
}

// put keeps a record unless a newer version of it is known or it is known to be
// gone.
func (x *Index) put(namespace string, rec Record) {
	key := releaseKey{namespace, rec.Labels["name"]}
	if x.gone[rec.UID] {
		return
	}
	if known, ok := x.releases[key][rec.Name]; ok && newer(known.ResourceVersion, rec.ResourceVersion) {
		return
	}
	if x.releases[key] == nil {
		x.releases[key] = map[string]Record{}
	}
	rec.Labels = telling(rec.Labels)
	x.releases[key][rec.Name] = rec
}

// drop forgets a record, but not another one of the same name.
func (x *Index) drop(namespace string, rec Record) {
	key := releaseKey{namespace, rec.Labels["name"]}
	if x.releases[key][rec.Name].UID != rec.UID {
		return
	}
	delete(x.releases[key], rec.Name)
	if len(x.releases[key]) == 0 {
		delete(x.releases, key)
	}
}

// telling returns the labels that Record reads: Helm's users may set others.
func telling(all map[string]string) map[string]string {
	some := make(map[string]string, len(all))
	for key, value := range all {
		switch key {
		case "name", "version", "status", labelCreated, labelModified, helmv2.LabelRevision, helmv2.LabelInterrupted,
			helmv2.LabelOutdated, helmv2.LabelApplied, helmv2.LabelRollback:
			some[key] = value
		}
	}
	return some
}

// newer compares resourceVersions of the same resource.
func newer(a, b string) bool {
	m, errA := strconv.ParseUint(a, 10, 64)
	n, errB := strconv.ParseUint(b, 10, 64)
	return errA == nil && errB == nil && m > n
}

// Add implements cache.ReflectorStore.
func (x *Index) Add(obj any) error {
	x.seen(obj, x.put)
	return nil
}

// Update implements cache.ReflectorStore.
func (x *Index) Update(obj any) error { return x.Add(obj) }

// Delete implements cache.ReflectorStore.
func (x *Index) Delete(obj any) error {
	x.seen(obj, func(namespace string, rec Record) {
		x.drop(namespace, rec)
		delete(x.gone, rec.UID)
		if x.forget != nil {
			x.forget(rec.UID)
		}
	})
	return nil
}

func (x *Index) seen(obj any, do func(namespace string, rec Record)) {
	if namespace, rec, ok := seenRecord(obj); ok {
		x.mu.Lock()
		defer x.mu.Unlock()
		do(namespace, rec)
	}
}

// seenRecord returns the record that an object of the watch is the metadata of, and its
// namespace.
func seenRecord(obj any) (namespace string, rec Record, ok bool) {
	object, ok := obj.(metav1.Object)
	if !ok {
		return "", Record{}, false
	}
	rec, ok = recordOf(object)
	return object.GetNamespace(), rec, ok
}

// Replace implements cache.ReflectorStore. What was written after the list was
// made stays. It holds one lock throughout: to a reader in between, releases would not exist.
func (x *Index) Replace(list []any, at string) error {
	x.replace(list, at)
	x.once.Do(func() { close(x.synced) })
	return nil
}

func (x *Index) replace(list []any, at string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	before, gone := x.releases, x.gone
	x.releases, x.gone = map[releaseKey]map[string]Record{}, map[types.UID]bool{}
	for key, secrets := range before {
		for _, rec := range secrets {
			if newer(rec.ResourceVersion, at) {
				x.put(key.namespace, rec)
			}
		}
	}
	for _, obj := range list {
		if namespace, rec, ok := seenRecord(obj); ok {
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
