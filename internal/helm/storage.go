// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"strconv"
	"sync"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// recorder is a storage driver for one release that stamps the revisions it
// creates and remembers what storage really took, which is the only account of
// an action that holds even if the action fails later.
type recorder struct {
	*secretStore
	uid string
	// mark returns the label of a revision that fails now because it was cut off,
	// empty if it failed of itself.
	mark   func() string
	redact redactor
	// prepare, if set, changes new revisions before anything else is done to them.
	prepare func(*helmrelease.Release) error
	// memo remembers what was stored, for whoever reads it by the same way.
	memo *memo
	way  string

	mu     sync.Mutex
	method string
	// failed holds why storage did not take the last state of revisions, by number.
	failed map[int]error
	// applied is the revision that is stamped as applied, 0 if none is.
	applied int
	// created is the newest revision that was created, 0 if none was.
	created int
	// taken are the revisions that storage took, by number.
	taken  map[int]took
	newest *helmrelease.Release
	// staged is the revision that is about to be stored; nil if none is.
	staged *staged
}

var _ driver.Driver = (*recorder)(nil)

// took is a revision in the state that storage took last.
type took struct {
	record Record
	fact   fact
}

// stage stamps a new revision and packs its record, and returns how many bytes that
// takes in a Secret. What it packed is what Create stores.
func (d *recorder) stage(key string, rls *helmrelease.Release) (int, error) {
	if d.prepare != nil {
		if err := d.prepare(rls); err != nil {
			return 0, err
		}
	}
	rls.Labels = stampedLabels(rls, d.uid)
	s, err := d.secretStore.stage(key, rls, d.currentMethod())
	if err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.staged = s
	return s.size(), nil
}

func (d *recorder) currentMethod() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.method
}

// takeStaged returns what was staged for a revision, once; nil if nothing was.
func (d *recorder) takeStaged(rls *helmrelease.Release) *staged {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.staged
	if d.staged = nil; s == nil || s.release != rls {
		return nil
	}
	return s
}

// Create stamps and stores a new revision.
func (d *recorder) Create(key string, rls *helmrelease.Release) error {
	s := d.takeStaged(rls)
	if s == nil {
		if _, err := d.stage(key, rls); err != nil {
			return err
		}
		s = d.takeStaged(rls)
	}
	stored, err := d.create(s)
	if err != nil {
		return err
	}
	d.remember(rls, stored)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.created = max(d.created, rls.Version)
	return nil
}

// Update stores a revision that exists already.
func (d *recorder) Update(key string, rls *helmrelease.Release) error {
	if label := d.mark(); label != "" && rls.Info.Status == helmrelease.StatusFailed {
		rls.Labels = withLabel(rls.Labels, label, "true")
	}
	d.mu.Lock()
	applied := d.applied
	d.mu.Unlock()
	if applied == rls.Version {
		rls.Labels = withLabel(rls.Labels, helmv2.LabelApplied, strconv.Itoa(applied))
	}
	// The description of a failure becomes a condition when the failure is found
	// by a process that did not see it.
	rls.Info.Description = d.redact.text(rls.Info.Description)
	stored, err := d.update(key, rls)
	d.noteFailure(rls.Version, err)
	if err != nil {
		return err
	}
	d.remember(rls, stored)
	return nil
}

// noteFailure notes whether storage took the last state of a revision.
func (d *recorder) noteFailure(version int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		delete(d.failed, version)
		return
	}
	if d.failed == nil {
		d.failed = map[int]error{}
	}
	d.failed[version] = err
}

// attempt identifies what the action does to the newest revision, as the revision label
// does.
func (d *recorder) attempt() string {
	d.secretStore.mu.Lock()
	defer d.secretStore.mu.Unlock()
	version := 0
	if all := d.records(); len(all) > 0 {
		version = all[0].version()
	}
	return stamp(d.uid, version)
}

// Delete removes a revision, which then is no longer part of what is stored.
func (d *recorder) Delete(key string) (*helmrelease.Release, error) {
	rec, _ := d.recordOf(key)
	rls, err := d.secretStore.Delete(key)
	if err == nil {
		// Not only when the watch shows it: there may be none.
		d.memo.forget(rec.UID)
		d.mu.Lock()
		delete(d.taken, rls.Version)
		d.mu.Unlock()
	}
	return rls, err
}

// setApplyMethod says how the objects of the revisions that are created from now
// on are applied: "ssa" or "csa", as Helm 4 calls it.
func (d *recorder) setApplyMethod(method string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.method = method
}

// applyMethod returns how the objects of a stored revision were applied, empty if
// its record does not say or cannot be read. It asks the server only for a record
// that nobody has read yet.
func (d *recorder) applyMethod(version int) string {
	key := recordName(d.release, version)
	if rec, unread := d.unread(key); unread {
		if f, ok := d.memo.recall(d.way, rec); ok {
			return f.method
		}
	}
	if !d.exists(key) {
		return ""
	}
	return d.appliedBy(key)
}

// noteApplied makes every record of the revision that this action created say, if
// it is stored from now on, that it was applied in full.
func (d *recorder) noteApplied() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.applied = d.created
}

// stampApplied marks the revision that this action created as applied in full. It
// does nothing if the action created none.
func (d *recorder) stampApplied() error {
	// Before the patch: an update that comes between would take the label away.
	d.noteApplied()
	d.mu.Lock()
	version := d.applied
	d.mu.Unlock()
	if version == 0 {
		return nil
	}
	rec, err := d.label(recordName(d.release, version), map[string]string{helmv2.LabelApplied: strconv.Itoa(version)})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if t, ok := d.taken[version]; ok {
		t.record, t.fact.revision.Applied = rec, true
		d.take(version, t)
	}
	return nil
}

// remember takes note of a release that was stored, in the form in which it will
// be read again: numbers and times may look different after that.
func (d *recorder) remember(rls *helmrelease.Release, w written) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.take(rls.Version, took{record: w.record, fact: fact{revision: toRevision(w.release), method: w.method}})
	if d.newest == nil || rls.Version >= d.newest.Version {
		d.newest = rls
	}
}

func (d *recorder) take(version int, t took) {
	if d.taken == nil {
		d.taken = map[int]took{}
	}
	d.taken[version] = t
	d.memo.note(d.way, t.record, t.fact)
}

// newestManifest returns the manifest of the newest revision that was stored.
func (d *recorder) newestManifest() (string, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.newest == nil {
		return "", false
	}
	return d.newest.Manifest, true
}

// revisions returns what was stored, newest first.
func (d *recorder) revisions() []release.Revision {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []release.Revision
	for _, t := range d.taken {
		all = append(all, t.fact.revision)
	}
	release.SortNewestFirst(all)
	return all
}
