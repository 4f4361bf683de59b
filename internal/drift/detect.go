// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/parallel"
	"github.com/pintle-dev/pintle/internal/redaction"
	"github.com/pintle-dev/pintle/internal/release"
)

const (
	// concurrency is the number of objects of a release that are compared, or corrected, at the
	// same time.
	concurrency = 8
	// assumeUnchanged is how long an unwatched object counts as unchanged after a comparison.
	// Reconciliations often follow each other, or an action, within seconds.
	assumeUnchanged = 5 * time.Second
)

// Change is whether an object has changed, in a relevant way, since its last comparison.
type Change int

const (
	// Unknown is the change of an object that is not watched.
	Unknown Change = iota
	// Unchanged is the change of an object of which no newer version is known.
	Unchanged
	// Changed is the change of an object of which a newer version is known.
	Changed
)

// Request is the input of Detect and Correct for one release.
type Request struct {
	// Release is the HelmRelease.
	Release types.NamespacedName
	// Revision identifies the release's revision and the set of ignore rules. Results for another
	// value of Revision are discarded.
	Revision string
	// Rules exclude fields and objects from the comparison; nil excludes nothing.
	Rules *Rules
	// Override are the field managers whose additions are drift.
	Override []string
	// Redact removes secrets from field values and errors; nil removes nothing. It must be safe for
	// concurrent use.
	Redact func(string) string
	// Objects returns the objects of the revision as they are applied, in the order in which they
	// are applied. It may return a part of them together with an error about the rest. Skipped are
	// those whose kinds the API server no longer serves. It is called only if an object has
	// to be compared.
	Objects func(ctx context.Context) (list []*resource.Info, skipped []release.Object, err error)
	// Watch, if set, is called with the resources of the objects before any of them is compared.
	Watch func([]schema.GroupVersionResource)
	// Changed returns whether an object has changed since the given UID and resourceVersion.
	Changed func(resource schema.GroupVersionResource, namespace, name, uid, version string) Change
	// Retrier repeats the requests that correct objects; nil sends each once.
	Retrier     *apiretry.Retrier
	autoscalers *autoscalers
}

// RequestFor returns a request for a HelmRelease, with the rules of its spec, and without the functions
// that read and watch objects. The error is for a user: a rule is not valid.
func RequestFor(hr *helmv2.HelmRelease, override, secrets []string) (Request, error) {
	rules, err := CompileRules(IgnoreRules(hr))
	if err != nil {
		return Request{}, fmt.Errorf("spec.driftDetection: %w", err)
	}
	return Request{
		Release: types.NamespacedName{Namespace: hr.Namespace, Name: hr.Name},
		Rules:   rules, Override: override, Redact: redaction.New(secrets).Text,
	}, nil
}

// Detector compares live objects with revisions, and corrects them. It stores the version at which
// an object was in sync, and compares the object again only after that version has changed. It is
// safe for concurrent use by different releases, but not for concurrent calls about one release.
type Detector struct {
	now func() time.Time

	mu       sync.Mutex
	releases map[types.NamespacedName]*releaseState
}

// NewDetector returns a detector without stored results.
func NewDetector(now func() time.Time) *Detector {
	return &Detector{now: now, releases: map[types.NamespacedName]*releaseState{}}
}

// releaseState stores the results for the objects of one release. It is used by one reconciliation
// at a time.
type releaseState struct {
	revision string
	// objects are the objects of the revision, in the order in which they are applied once arrange
	// has sorted them. If complete is false, the revision may have more objects.
	objects  []*objectState
	complete bool
	// unserved are the objects of the revision whose kinds the API server no longer serves.
	// The revision is not complete then: the API server may serve them again.
	unserved []release.Object
	limit    correctionLimit
}

// Detect compares the objects of a revision that may have changed since their last comparison.
// Errors of single objects are part of the returned Drift; the returned error means that no object
// could be compared.
func (d *Detector) Detect(ctx context.Context, request Request) (*release.Drift, error) {
	m := d.stateOf(request.Release, request.Revision)
	request.autoscalers = &autoscalers{}
	m.forgetMoved(ctx, request, d.now())
	var all error
	if stale := m.stale(request, d.now()); len(stale) > 0 || !m.complete {
		infos, unserved, err := request.Objects(ctx)
		if err != nil && len(infos) == 0 {
			return nil, err
		}
		all = err
		m.arrange(infos, err == nil && len(unserved) == 0)
		m.unserved = unserved
		if request.Watch != nil {
			request.Watch(m.resources())
		}
		d.compareAll(ctx, m.stale(request, d.now()), infos, request)
	}
	return m.drift(all, d.now()), ctx.Err()
}

func (d *Detector) stateOf(key types.NamespacedName, revision string) *releaseState {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.releases[key]
	if m == nil {
		m = &releaseState{revision: revision}
		d.releases[key] = m
	}
	if m.revision != revision {
		// The correction limit survives a new revision.
		m.revision, m.objects, m.complete, m.unserved = revision, nil, false, nil
	}
	return m
}

// Forget drops the stored results of a release.
func (d *Detector) Forget(key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.releases, key)
}

// Resources returns the resources of a release's objects, each once.
func (d *Detector) Resources(key types.NamespacedName) []schema.GroupVersionResource {
	d.mu.Lock()
	m := d.releases[key]
	d.mu.Unlock()
	if m == nil {
		return nil
	}
	return m.resources()
}

func (m *releaseState) resources() []schema.GroupVersionResource {
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

// stale returns the objects that must be compared.
func (m *releaseState) stale(request Request, now time.Time) []*objectState {
	var all []*objectState
	for _, k := range m.objects {
		if k.stale(request, now) {
			all = append(all, k)
		}
	}
	return all
}

// arrange replaces the list of objects by the objects of the revision, and keeps stored results.
func (m *releaseState) arrange(infos []*resource.Info, complete bool) {
	before := make(map[objectKey]*objectState, len(m.objects))
	for _, k := range m.objects {
		before[k.objectKey] = k
	}
	m.objects = make([]*objectState, 0, len(infos))
	listed := make(map[objectKey]bool, len(infos))
	for _, info := range infos {
		at := keyOf(info)
		if listed[at] {
			continue
		}
		listed[at] = true
		k := before[at]
		if k == nil {
			k = &objectState{objectKey: at, object: objectOf(info)}
		}
		m.objects = append(m.objects, k)
	}
	m.complete = complete
}

func (d *Detector) compareAll(ctx context.Context, stale []*objectState, infos []*resource.Info, request Request) {
	by := make(map[objectKey]*resource.Info, len(infos))
	for _, info := range infos {
		if at := keyOf(info); by[at] == nil {
			by[at] = info
		}
	}
	for i, err := range parallel.Do(ctx, len(stale), concurrency, func(i int) error {
		stale[i].refresh(ctx, by[stale[i].objectKey], request, d.now())
		return nil
	}) {
		if err != nil {
			stale[i].setPanic(err)
		}
	}
}

// drift returns the stored results of all objects as one Drift.
func (m *releaseState) drift(all error, now time.Time) *release.Drift {
	d := &release.Drift{Pause: m.limit.wait(now), Excluded: slices.Clone(m.unserved)}
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
			d.Ceded = append(d.Ceded, release.DriftedObject{Object: k.object, Fields: k.ceded, Autoscaler: k.scaling.autoscaler.Name})
		}
	}
	d.Objects = append(d.Objects, changed...)
	if all != nil {
		why, transient := apiretry.Describe(all)
		d.Errors = append(d.Errors, release.ObjectError{Err: why, Transient: transient})
	}
	return d
}
