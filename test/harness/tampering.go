// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const (
	// tamperer is the field manager of the changes.
	tamperer = client.FieldOwner("tamperer")
	// tamperEvery is the interval of writes, independent of their answers: 20 a second.
	tamperEvery = 50 * time.Millisecond
	// shownObjects is the maximum number of objects in an error.
	shownObjects = 5
)

// objectKey identifies an object in one namespace.
type objectKey struct{ kind, name string }

// target is an object that is changed or deleted.
type target struct {
	objectKey
	change

	deleted bool
	// version is the resourceVersion after the change.
	version string
	// answered is the time of the API server's answer to the write; zero before.
	answered time.Time
	// wrong is true once the object was observed in another than the expected state. met is the
	// time since when it is in the expected state again.
	wrong bool
	met   time.Time
}

// Tampering changes objects of releases of chart bench like another client. Of a quarter of the
// releases it changes one object, of another tenth it deletes one, of all kinds in turn. It
// measures how long each object takes to reach the expected state. The methods must be called once,
// in the order of their declaration.
type Tampering struct {
	env       *Environment
	client    client.WithWatch
	namespace string
	releases  map[string]bool
	before    map[objectKey]*unstructured.Unstructured
	revisions []string
	versions  map[string]string
	stop      func()
	progress  chan struct{}

	mu      sync.Mutex
	targets []*target
	watched map[objectKey]*target
	err     error
	ended   time.Time
}

// Corrections returns a Tampering that waits until objects are restored. It starts a watch, which
// Close ends.
func (e *Environment) Corrections(ctx context.Context, namespace string, releases []string) (*Tampering, error) {
	return e.tampering(ctx, namespace, releases, false)
}

// Reports returns a Tampering that waits until releases report drift, which none may do yet. It
// starts a watch, which Close ends.
func (e *Environment) Reports(ctx context.Context, namespace string, releases []string) (*Tampering, error) {
	return e.tampering(ctx, namespace, releases, true)
}

func (e *Environment) tampering(ctx context.Context, namespace string, releases []string, reports bool) (_ *Tampering, err error) {
	ctx, stop := context.WithCancel(ctx)
	t := &Tampering{
		env: e, namespace: namespace, before: map[objectKey]*unstructured.Unstructured{}, versions: map[string]string{}, stop: stop,
		progress: make(chan struct{}, 1), targets: choose(releases), watched: map[objectKey]*target{}, releases: map[string]bool{},
	}
	for _, name := range releases {
		t.releases[name] = true
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	if t.client, err = patient(e); err != nil {
		return nil, err
	}
	if t.revisions, err = t.stored(ctx); err != nil {
		return nil, err
	}
	if err := t.remember(ctx); err != nil {
		return nil, err
	}
	for _, o := range t.targets {
		if t.before[o.objectKey] == nil {
			return nil, fmt.Errorf("there is no %s %s to tamper with", o.objectKey.kind, o.name)
		}
		o.wrong = reports
		if reports {
			t.watched[objectKey{helmv2.HelmReleaseKind, o.name}] = o
		} else {
			t.watched[o.objectKey] = o
		}
	}
	if reports {
		return t, t.watchReleases(ctx)
	}
	for _, c := range changes() {
		if err := t.watch(ctx, listOf(c.kind), t.versions[c.kind.Kind], t.isRestored); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// patient returns a client without request timeout, so that watches do not end early.
func patient(e *Environment) (client.WithWatch, error) {
	config, err := clientcmd.BuildConfigFromFlags("", e.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.UserAgent = -1, UserAgent
	return client.NewWithWatch(config, client.Options{Scheme: e.Client.Scheme(), Mapper: e.Client.RESTMapper()})
}

func listOf(kind schema.GroupVersionKind) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}

// objects calls each for all objects of the releases.
func (t *Tampering) objects(ctx context.Context, each func(objectKey, *unstructured.Unstructured)) error {
	for _, c := range changes() {
		list := listOf(c.kind)
		if err := t.client.List(ctx, list, client.InNamespace(t.namespace)); err != nil {
			return err
		}
		t.versions[c.kind.Kind] = list.GetResourceVersion()
		for i := range list.Items {
			if name := list.Items[i].GetName(); t.releases[name] {
				each(objectKey{c.kind.Kind, name}, &list.Items[i])
			}
		}
	}
	return nil
}

// remember stores the state of all objects to compare with later.
func (t *Tampering) remember(ctx context.Context) error {
	return t.objects(ctx, func(key objectKey, o *unstructured.Unstructured) { t.before[key] = o })
}

// stored returns the names of the stored revisions.
func (t *Tampering) stored(ctx context.Context) ([]string, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "SecretList"})
	if err := t.client.List(ctx, list, client.InNamespace(t.namespace), client.MatchingLabels{"owner": "helm"}); err != nil {
		return nil, err
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	return names, nil
}

// Write makes all changes and returns when they have been answered.
func (t *Tampering) Write(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	tick := time.NewTicker(tamperEvery)
	defer tick.Stop()
	for _, o := range t.targets {
		group.Go(func() error { return t.tamper(ctx, o) })
		select {
		case <-ctx.Done():
			return errors.Join(group.Wait(), context.Cause(ctx))
		case <-tick.C:
		}
	}
	return group.Wait()
}

func (t *Tampering) tamper(ctx context.Context, o *target) error {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(o.change.kind)
	live.SetNamespace(t.namespace)
	live.SetName(o.name)
	var err error
	if o.deleted {
		err = t.client.Delete(ctx, live)
	} else {
		err = t.client.Patch(ctx, live, client.RawPatch(types.JSONPatchType, []byte(o.patch)), tamperer)
	}
	now := time.Now()
	if err != nil {
		return fmt.Errorf("tamper with %s %s: %w", o.objectKey.kind, o.name, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	o.answered, o.version = now, live.GetResourceVersion()
	return nil
}

// Counts returns the number of changed and deleted objects, and of those in the expected state.
func (t *Tampering) Counts() (all, met int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.targets {
		if !o.met.IsZero() {
			met++
		}
	}
	return len(t.targets), met
}

// Wait waits until all objects are in the expected state, at most for patience. Reaching that limit
// is no error.
func (t *Tampering) Wait(ctx context.Context, patience time.Duration) error {
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.ended = time.Now()
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	alive := time.NewTicker(time.Second)
	defer alive.Stop()
	for {
		t.mu.Lock()
		err := t.err
		t.mu.Unlock()
		if all, met := t.Counts(); err != nil || all == met {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			return nil
		case <-t.progress:
		case <-alive.C:
			if err := t.env.Controller.Ended(); err != nil {
				return fmt.Errorf("%w\nthe controller's log ends:\n%s", err, t.env.Controller.LogTail(shownLogLines))
			}
		}
	}
}

// Close ends the watches.
func (t *Tampering) Close() { t.stop() }

// Times returns the durations from the answer to the write until the expected state, for changed
// and for deleted objects.
func (t *Tampering) Times() (changed, deleted Spread) {
	t.mu.Lock()
	defer t.mu.Unlock()
	times, left := map[bool][]time.Duration{}, map[bool][]time.Duration{}
	for _, o := range t.targets {
		if o.met.IsZero() {
			left[o.deleted] = append(left[o.deleted], t.ended.Sub(o.answered))
			continue
		}
		// The state may be observed before the answer arrives.
		times[o.deleted] = append(times[o.deleted], max(0, o.met.Sub(o.answered)))
	}
	return NewSpread(times[false], left[false]), NewSpread(times[true], left[true])
}

// Left describes the objects that are not in the expected state; it is empty if there are none.
func (t *Tampering) Left() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var names []string
	for _, o := range t.targets {
		if o.met.IsZero() {
			names = append(names, o.objectKey.kind+" "+o.name)
		}
	}
	return some(names)
}

func some(names []string) string {
	text := strings.Join(names[:min(len(names), shownObjects)], ", ")
	if len(names) > shownObjects {
		text += fmt.Sprintf(" and %d more", len(names)-shownObjects)
	}
	return text
}

// Unrevised returns an error if revisions were added or removed.
func (t *Tampering) Unrevised(ctx context.Context) error {
	now, err := t.stored(ctx)
	if err != nil {
		return err
	}
	if !slices.Equal(now, t.revisions) {
		isOld := func(name string) bool { return slices.Contains(t.revisions, name) }
		return fmt.Errorf("there were %d stored revisions and are %d now; new: %s",
			len(t.revisions), len(now), some(slices.DeleteFunc(now, isOld)))
	}
	return nil
}

// Unwritten returns an error if another client has written any object: changed objects must have
// the written version, deleted ones must be absent.
func (t *Tampering) Unwritten(ctx context.Context) error {
	want := map[objectKey]string{}
	for key, o := range t.before {
		want[key] = o.GetResourceVersion()
	}
	t.mu.Lock()
	for _, o := range t.targets {
		if want[o.objectKey] = o.version; o.deleted {
			delete(want, o.objectKey)
		}
	}
	t.mu.Unlock()
	var written []string
	err := t.objects(ctx, func(key objectKey, o *unstructured.Unstructured) {
		if want[key] != o.GetResourceVersion() {
			written = append(written, key.kind+" "+key.name)
		}
		delete(want, key)
	})
	for key := range want {
		written = append(written, key.kind+" "+key.name+" (gone)")
	}
	if err == nil && len(written) > 0 {
		slices.Sort(written)
		err = fmt.Errorf("another client has written %s", some(written))
	}
	return err
}
