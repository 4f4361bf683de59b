// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/controller"
	"github.com/pintle-dev/pintle/internal/controller/optional"
	"github.com/pintle-dev/pintle/internal/inputs"
)

// fileState is what is known about the files that the values of a HelmRelease come from.
type fileState struct {
	// used are the files of the last reconciliation. known is false if it did not read all of them.
	used  []inputs.UsedFiles
	known bool
	// checks is the number of checks for other files that run.
	checks int
}

// firstList is how long reconciliations wait for the first list of a kind: without a wait, each restart
// would report the sources of releases as not ready.
const firstList = 2 * time.Second

// watchedKind is a kind that is listed once it is used.
type watchedKind[T client.Object] struct {
	*optional.Kind[T]
	// used is closed firstList after the first use.
	used  chan struct{}
	first sync.Once
}

// use starts the watch.
func (k *watchedKind[T]) use() {
	k.first.Do(func() {
		k.Use()
		time.AfterFunc(firstList, func() { close(k.used) })
	})
}

// fileWatches reads the sources that values come from, and triggers the HelmReleases whose files differ
// in a new revision. GitRepositories and Buckets provide no charts: they are listed and watched once the
// first HelmRelease takes values from one. It is safe for concurrent use.
type fileWatches struct {
	// Reader reads the sources that provide charts too, and HelmReleases, from the cache.
	client.Reader
	live      client.Reader
	namespace string
	git       *watchedKind[*sourcev1.GitRepository]
	buckets   *watchedKind[*sourcev1.Bucket]

	// load returns the files that a HelmRelease would use. debounce records that a HelmRelease has other
	// files, and enqueue triggers a reconciliation.
	load     func(ctx context.Context, hr *helmv2.HelmRelease, obj client.Object) ([]inputs.UsedFiles, error)
	debounce func(key types.NamespacedName)
	enqueue  func(key types.NamespacedName)
	memory   controller.Memory[fileState]

	mu sync.Mutex
	// ctx ends with the process.
	ctx context.Context //nolint:containedctx // it lives as long as the process
	// states are the last states of watched sources. checking are the sources whose users are checked,
	// with the version to check next; nil if there is none.
	states   map[inputs.FileSource]sourceState
	checking map[inputs.FileSource]client.Object
}

type sourceState struct {
	text  string
	ready bool
}

// watchFiles returns the fileWatches of a controller. The manager runs them.
func watchFiles(mgr ctrl.Manager, o controller.Options, c *Controller) (*fileWatches, error) {
	f := &fileWatches{
		Reader: mgr.GetClient(), live: mgr.GetAPIReader(), namespace: o.WatchedNamespace,
		enqueue: c.queue.Enqueue, memory: controller.Part(c.memory, func(m *memory) *fileState { return &m.files }),
		states: map[inputs.FileSource]sourceState{}, checking: map[inputs.FileSource]client.Object{},
	}
	f.load = o.Inputs.WithFiles(f, f.patterns).LoadFiles
	var errGit, errBuckets error
	f.git, errGit = watchKind(mgr, o, f, helmv2.KindGitRepository, "gitrepositories", func() *sourcev1.GitRepository { return &sourcev1.GitRepository{} })
	f.buckets, errBuckets = watchKind(mgr, o, f, helmv2.KindBucket, "buckets", func() *sourcev1.Bucket { return &sourcev1.Bucket{} })
	return f, errors.Join(errGit, errBuckets)
}

// watchKind returns the objects of a kind that provides files only.
func watchKind[T client.Object](mgr ctrl.Manager, o controller.Options, f *fileWatches, name, resource string, empty func() T) (*watchedKind[T], error) {
	var kind *optional.Kind[T]
	kind, err := optional.New(mgr.GetConfig(), mgr.GetHTTPClient(), optional.Options[T]{
		Resource: sourcev1.GroupVersion.WithResource(resource), New: empty, Namespace: o.WatchedNamespace, Lazy: true,
		Changed: func(key types.NamespacedName) {
			if key.Name != "" {
				object, found := kind.Object(key)
				f.observe(inputs.FileSource{Kind: name, Key: key}, object, found)
				return
			}
			f.enqueueUnready(name)
			for _, object := range kind.Objects() {
				f.observe(inputs.FileSource{Kind: name, Key: client.ObjectKeyFromObject(object)}, object, true)
			}
		},
		Log: mgr.GetLogger().WithName("values"), Now: o.Now,
	})
	return &watchedKind[T]{Kind: kind, used: make(chan struct{})}, err
}

// Start implements manager.Runnable.
func (f *fileWatches) Start(ctx context.Context) error {
	f.mu.Lock()
	f.ctx = ctx
	f.mu.Unlock()
	var both sync.WaitGroup
	var errGit, errBuckets error
	both.Go(func() { errGit = f.git.Start(ctx) })
	both.Go(func() { errBuckets = f.buckets.Start(ctx) })
	both.Wait()
	return errors.Join(errGit, errBuckets)
}

func (f *fileWatches) capabilitiesChanged() {
	f.git.CapabilitiesChanged()
	f.buckets.CapabilitiesChanged()
}

// Get implements client.Reader.
func (f *fileWatches) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	elsewhere := f.namespace != "" && key.Namespace != f.namespace
	switch o := obj.(type) {
	case *sourcev1.GitRepository:
		if !elsewhere {
			return getKind(ctx, f.git, key, func(found *sourcev1.GitRepository) { found.DeepCopyInto(o) })
		}
		return f.live.Get(ctx, key, obj, opts...)
	case *sourcev1.Bucket:
		if !elsewhere {
			return getKind(ctx, f.buckets, key, func(found *sourcev1.Bucket) { found.DeepCopyInto(o) })
		}
		return f.live.Get(ctx, key, obj, opts...)
	}
	return f.Reader.Get(ctx, key, obj, opts...)
}

// getKind reads an object of a lazy kind.
func getKind[T client.Object](ctx context.Context, kind *watchedKind[T], key client.ObjectKey, take func(T)) error {
	kind.use()
	select {
	case <-kind.Known():
	case <-kind.used:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if why := kind.Unknown(); why != "" {
		return errors.New(why)
	}
	object, found := kind.Object(key)
	if !found {
		return apierrors.NewNotFound(schema.GroupResource{Group: kind.Resource.Group, Resource: kind.Resource.Resource}, key.Name)
	}
	take(object)
	return nil
}

// patterns returns the valuesKeys of all HelmReleases that use a source.
func (f *fileWatches) patterns(ctx context.Context, kind string, key types.NamespacedName) []string {
	switch kind {
	case helmv2.KindGitRepository:
		f.git.use()
	case helmv2.KindBucket:
		f.buckets.use()
	}
	source := inputs.FileSource{Kind: kind, Key: key}
	var all []string
	for _, hr := range f.users(ctx, source.String()) {
		all = append(all, inputs.FilePatterns(&hr, source)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (f *fileWatches) users(ctx context.Context, index string) []helmv2.HelmRelease {
	var list helmv2.HelmReleaseList
	if err := f.List(ctx, &list, client.MatchingFields{controller.IndexFiles: index}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the HelmReleases that take values from a source", "source", index)
		return nil
	}
	return list.Items
}

// observe passes the changes of a watched source that trigger.SourceChanged passes of others.
func (f *fileWatches) observe(source inputs.FileSource, obj client.Object, found bool) {
	f.mu.Lock()
	ctx, before := f.ctx, f.states[source]
	now := sourceState{}
	if delete(f.states, source); found {
		now.text, now.ready = inputs.SourceState(obj)
		f.states[source] = now
	}
	f.mu.Unlock()
	switch {
	case !found:
		f.changed(ctx, source, nil)
	case now != before && (now.ready || !before.ready):
		f.changed(ctx, source, obj)
	}
}

// enqueueUnready triggers the HelmReleases that wait for a kind.
func (f *fileWatches) enqueueUnready(kind string) {
	f.mu.Lock()
	ctx := f.ctx
	f.mu.Unlock()
	for _, hr := range f.users(ctx, kind) {
		if !apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.ConditionReady) {
			f.enqueue(client.ObjectKeyFromObject(&hr))
		}
	}
}

// changed triggers the HelmReleases whose files differ in a source; all if it is not ready, or deleted.
// It does not wait for the artifact.
func (f *fileWatches) changed(ctx context.Context, source inputs.FileSource, obj client.Object) {
	users := f.users(ctx, source.String())
	if len(users) == 0 {
		return
	}
	if obj == nil || inputs.CheckSource(obj) != nil {
		for i := range users {
			f.enqueue(client.ObjectKeyFromObject(&users[i]))
		}
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, running := f.checking[source]
	if f.checking[source] = obj; !running {
		f.count(users, 1)
		go f.check(context.WithoutCancel(ctx), source, users)
	}
}

// check compares the files of the users of a source, until no newer version of the source is left.
func (f *fileWatches) check(ctx context.Context, source inputs.FileSource, users []helmv2.HelmRelease) {
	for {
		f.mu.Lock()
		obj := f.checking[source]
		if obj == nil {
			delete(f.checking, source)
		} else {
			f.checking[source] = nil
		}
		f.mu.Unlock()
		if obj == nil {
			f.count(users, -1)
			return
		}
		var failed error
		for _, hr := range f.users(ctx, source.String()) {
			key, differ := client.ObjectKeyFromObject(&hr), true
			if failed == nil {
				// A server that does not answer is not waited for again.
				differ, failed = f.differ(ctx, &hr, source, obj)
			}
			if differ {
				f.debounce(key)
				f.enqueue(key)
			}
		}
	}
}

func (f *fileWatches) count(users []helmv2.HelmRelease, by int) {
	for i := range users {
		f.memory.With(client.ObjectKeyFromObject(&users[i]), func(s *fileState) { s.checks = max(0, s.checks+by) })
	}
}

// differ reports whether the files that a HelmRelease would use of a source differ from those that it has
// used, or cannot be read. The error is the error of the download.
func (f *fileWatches) differ(ctx context.Context, hr *helmv2.HelmRelease, source inputs.FileSource, obj client.Object) (bool, error) {
	var used []string
	known := false
	f.memory.Update(client.ObjectKeyFromObject(hr), func(s *fileState) {
		known = s.known
		for _, u := range s.used {
			if u.Kind == source.Kind && u.Key == source.Key {
				used = append(used, u.Pattern+" "+u.Digest)
			}
		}
	})
	if !known {
		return true, nil
	}
	found, err := f.load(ctx, hr, obj)
	if err != nil {
		return true, err
	}
	return !slices.EqualFunc(found, used, func(f inputs.UsedFiles, u string) bool { return f.Pattern+" "+f.Digest == u }), nil
}
