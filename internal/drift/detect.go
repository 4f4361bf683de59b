// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/release"
)

const (
	// parallel is how many objects of a release are looked at, or corrected, at a time.
	parallel = 8
	// fresh is how long a look is good for where nobody can tell whether the object
	// has moved since: a visit often comes right after another, or after an action.
	fresh = 5 * time.Second
)

// Movement says whether an object has changed, in a way that matters, since it was
// looked at.
type Movement int

const (
	// Unknown is what nobody can tell, because nobody watches.
	Unknown Movement = iota
	// Still is an object that has not changed, or of which nothing newer is known.
	Still
	// Moved is one that has.
	Moved
)

// Look is what a comparison needs to know.
type Look struct {
	// Release is the HelmRelease.
	Release types.NamespacedName
	// Revision differs between any two revisions of the release, and between any two
	// sets of rules: what was found of another one does not count.
	Revision string
	// Rules say what is not compared; nil is nothing.
	Rules *Rules
	// Override are the field managers whose fields are not theirs to have.
	Override []string
	// Redact takes out of what is told of objects, and of errors, what is secret; nil
	// takes out nothing. It is called concurrently.
	Redact func(string) string
	// Objects returns the objects of the revision, as they are applied and in the order
	// in which they are. What could be read comes with the error about the rest. It is
	// called only if one of them has to be looked at.
	Objects func(ctx context.Context) ([]*resource.Info, error)
	// Follow, if set, is told of which resources there are objects, before any of them
	// is looked at.
	Follow func([]schema.GroupVersionResource)
	// Moved says whether an object has changed since it was seen at a UID and
	// resourceVersion.
	Moved func(resource schema.GroupVersionResource, namespace, name, uid, version string) Movement
	// Retrier repeats the requests that correct objects; nil sends each once.
	Retrier *apiretry.Retrier
}

// Detector compares live objects with revisions, and corrects them. It remembers at
// which version an object was as it should be, so that it is not looked at again
// before it has changed. It may be used concurrently, for one release at a time.
type Detector struct {
	now func() time.Time

	mu       sync.Mutex
	releases map[types.NamespacedName]*memory
}

// NewDetector returns a detector that remembers nothing yet.
func NewDetector(now func() time.Time) *Detector {
	return &Detector{now: now, releases: map[types.NamespacedName]*memory{}}
}

// memory is what is known of the objects of one release. It belongs to whoever
// visits the release.
type memory struct {
	revision string
	// objects are those of the revision, in the order in which they are applied if
	// ordered. If complete is false, there may be others.
	objects  []*known
	complete bool
	fuse     fuse
}

// place says where an object is.
type place struct {
	resource  schema.GroupVersionResource
	namespace string
	name      string
}

// known is what is known of one object.
type known struct {
	place
	object release.Object
	// uid and version are what it was looked at. An empty version means that it has to
	// be looked at, unless it is settled: then nothing that happens to it matters.
	uid, version string
	looked       time.Time
	settled      bool
	exempt       bool
	ceded        []release.DriftedField
	// found is what is wrong with it; nil if nothing is.
	found *finding
	// err is why it could not be compared; empty if it could. It is transient if the
	// infrastructure failed.
	err       string
	transient bool
}

// finding is how an object differs, and what corrects it.
type finding struct {
	info *resource.Info
	// body is what is to be applied.
	body *unstructured.Unstructured
	// patch, unless nil, is to be sent instead of body, which is what it leads to.
	patch []operation
	// disown, unless nil, is to be written to managedFields before.
	disown  []metav1.ManagedFieldsEntry
	removed bool
	fields  []release.DriftedField
}

// Detect compares the objects of a revision that may have changed since they were
// compared last. Trouble with one of them is part of what it returns; an error is
// trouble with all.
func (d *Detector) Detect(ctx context.Context, look Look) (*release.Drift, error) {
	m := d.memoryOf(look.Release, look.Revision)
	var all error
	if stale := m.stale(look, d.now()); len(stale) > 0 || !m.complete {
		infos, err := look.Objects(ctx)
		if err != nil && len(infos) == 0 {
			return nil, err
		}
		all = err
		m.arrange(infos, err == nil)
		if look.Follow != nil {
			look.Follow(m.resources())
		}
		d.lookAt(ctx, m.stale(look, d.now()), infos, look)
	}
	return m.drift(all, d.now()), ctx.Err()
}

func (d *Detector) memoryOf(key types.NamespacedName, revision string) *memory {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.releases[key]
	if m == nil {
		m = &memory{revision: revision}
		d.releases[key] = m
	}
	if m.revision != revision {
		// How often something was corrected is not forgotten with what was.
		m.revision, m.objects, m.complete = revision, nil, false
	}
	return m
}

// Forget drops what is known of a release.
func (d *Detector) Forget(key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.releases, key)
}

// Resources returns the resources of which a release has objects, each once.
func (d *Detector) Resources(key types.NamespacedName) []schema.GroupVersionResource {
	d.mu.Lock()
	m := d.releases[key]
	d.mu.Unlock()
	if m == nil {
		return nil
	}
	return m.resources()
}

func (m *memory) resources() []schema.GroupVersionResource {
	var all []schema.GroupVersionResource
	seen := map[schema.GroupVersionResource]bool{}
	for _, k := range m.objects {
		if !seen[k.resource] {
			seen[k.resource] = true
			all = append(all, k.resource)
		}
	}
	return all
}

// stale returns the objects that have to be looked at.
func (m *memory) stale(look Look, now time.Time) []*known {
	var all []*known
	for _, k := range m.objects {
		if k.stale(look, now) {
			all = append(all, k)
		}
	}
	return all
}

func (k *known) stale(look Look, now time.Time) bool {
	switch {
	case k.settled:
		return false
	case k.version == "" || k.err != "":
		return true
	}
	switch look.Moved(k.resource, k.namespace, k.name, k.uid, k.version) {
	case Still:
		return false
	case Unknown:
		return now.Sub(k.looked) >= fresh
	case Moved:
	}
	return true
}

// arrange makes the list of objects that of the revision, and keeps what is known
// of them.
func (m *memory) arrange(infos []*resource.Info, complete bool) {
	before := make(map[place]*known, len(m.objects))
	for _, k := range m.objects {
		before[k.place] = k
	}
	m.objects = make([]*known, 0, len(infos))
	listed := make(map[place]bool, len(infos))
	for _, info := range infos {
		at := placeOf(info)
		if listed[at] {
			continue
		}
		listed[at] = true
		k := before[at]
		if k == nil {
			k = &known{place: at, object: objectOf(info)}
		}
		m.objects = append(m.objects, k)
	}
	m.complete = complete
}

func placeOf(info *resource.Info) place {
	at := place{resource: info.Mapping.Resource, name: info.Name}
	if info.Namespaced() {
		at.namespace = info.Namespace
	}
	return at
}

func objectOf(info *resource.Info) release.Object {
	kind, at := info.Mapping.GroupVersionKind, placeOf(info)
	return release.Object{Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Namespace: at.namespace, Name: at.name}
}

func (d *Detector) lookAt(ctx context.Context, stale []*known, infos []*resource.Info, look Look) {
	by := make(map[place]*resource.Info, len(infos))
	for _, info := range infos {
		if at := placeOf(info); by[at] == nil {
			by[at] = info
		}
	}
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, k := range stale {
		group.Go(func() error {
			k.lookAt(ctx, by[k.place], look, d.now())
			return nil
		})
	}
	_ = group.Wait()
}

// lookAt finds out how an object differs.
func (k *known) lookAt(ctx context.Context, info *resource.Info, look Look, now time.Time) {
	*k = known{place: k.place, object: k.object, looked: now}
	desired, ok := info.Object.(*unstructured.Unstructured)
	if !ok {
		k.settled = true
		return
	}
	desired = Normalize(desired)
	ignored, exempt := look.Rules.For(desired)
	if exempt || Exempt(desired) {
		k.settled, k.exempt = true, true
		return
	}
	server := server{ctx: ctx, info: info, redact: look.Redact}
	live, err := server.get()
	switch {
	case err != nil:
		k.failed(server, err)
		return
	case live == nil:
		k.found = &finding{info: info, body: desired, removed: true}
		return
	}
	k.uid, k.version = string(live.GetUID()), live.GetResourceVersion()
	switch {
	case Exempt(live):
		k.exempt = true
		return
	case live.GetDeletionTimestamp() != nil:
		// Nothing can be done about it before it is gone, which will be noticed.
		return
	case len(look.Override) == 0 && Contains(live.Object, desired.Object):
		return
	}
	c := Case{Desired: desired, Live: live, Ignore: ignored, Override: look.Override, Redact: look.Redact}
	c.Tried, err = server.apply(desired, true)
	switch {
	case apierrors.IsInvalid(err):
		k.refused(info, c, server.explain(err))
	case err != nil:
		k.failed(server, err)
	default:
		k.compare(info, c)
	}
}

// failed notes why an object could not be compared. After a concurrent write, the same
// requests may succeed.
func (k *known) failed(s server, err error) {
	k.err, k.transient = s.explain(err), apiretry.IsTransient(err) || apierrors.IsConflict(err)
}

// refused is compare where the dry run was refused, for a reason that is told if
// nothing else can be.
func (k *known) refused(info *resource.Info, c Case, why string) {
	patch, fields, err := compareRefused(c)
	if err != nil || len(fields) == 0 {
		k.err = why
		return
	}
	k.found = &finding{info: info, body: c.Desired, patch: patch, fields: fields}
}

func (k *known) compare(info *resource.Info, c Case) {
	difference, err := Compare(c)
	if err != nil {
		k.err = err.Error()
		return
	}
	k.ceded = difference.Ceded
	if len(difference.Fields) > 0 {
		k.found = &finding{info: info, body: difference.Body, disown: difference.Disown, fields: difference.Fields}
	}
}

// drift puts together what is known.
func (m *memory) drift(all error, now time.Time) *release.Drift {
	d := &release.Drift{Pause: m.fuse.wait(now)}
	var changed []release.DriftedObject
	for _, k := range m.objects {
		switch {
		case k.err != "":
			d.Errors = append(d.Errors, release.ObjectError{Object: k.object, Err: k.err, Transient: k.transient})
		case k.exempt:
			d.Excluded = append(d.Excluded, k.object)
		case k.found == nil:
		case k.found.removed:
			d.Objects = append(d.Objects, release.DriftedObject{Object: k.object, Removed: true})
		default:
			changed = append(changed, release.DriftedObject{Object: k.object, Fields: k.found.fields})
		}
		if len(k.ceded) > 0 {
			d.Ceded = append(d.Ceded, release.DriftedObject{Object: k.object, Fields: k.ceded})
		}
	}
	d.Objects = append(d.Objects, changed...)
	if all != nil {
		why, transient := apiretry.Describe(all)
		d.Errors = append(d.Errors, release.ObjectError{Err: why, Transient: transient})
	}
	return d
}
