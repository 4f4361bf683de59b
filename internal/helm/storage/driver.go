// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// Driver is the storage driver of one action on one release. It labels the revisions that it
// creates, and it keeps the revisions that the API server has stored: the only reliable account
// of an action that fails later.
type Driver struct {
	*secretStore
	options Options
	// cache receives the revisions that were stored, for readers with the same connection.
	cache      *readCache
	connection string

	mu     sync.Mutex
	method string
	// attempt is the ID of the attempt; empty if none has begun.
	attempt string
	// failed holds the errors of the last update of revisions, by number.
	failed map[int]error
	// applied is the revision that gets the applied label, 0 for none.
	applied int
	// created is the newest revision that was created, 0 for none.
	created int
	// states are the last stored states of revisions, by number.
	states map[int]writtenState
	newest *helmrelease.Release
	// staged is a new revision that is compressed and not yet stored; nil if there is none.
	staged *staged
}

var _ driver.Driver = (*Driver)(nil)

// writtenState is the last stored state of a revision.
type writtenState struct {
	record record
	cached cachedRevision
}

// Stage labels and compresses a new revision and returns the size of its record. Create stores
// the bytes that were compressed here.
func (d *Driver) Stage(key string, rls *helmrelease.Release) (*release.RecordSize, error) {
	bytes, err := d.stage(key, rls)
	if err != nil {
		return nil, err
	}
	return d.packer.measure(rls, d.Chart.Load(), bytes)
}

// Precheck returns the size that the record of a revision would have.
func (d *Driver) Precheck(rls *helmrelease.Release, method string) (*release.RecordSize, error) {
	bytes, err := d.precheck(rls, method)
	if err != nil {
		return nil, err
	}
	return d.packer.measure(rls, d.Chart.Load(), bytes)
}

// stage labels and compresses a new revision and returns the number of bytes in its Secret.
func (d *Driver) stage(key string, rls *helmrelease.Release) (int, error) {
	heldAt := 0
	if d.options.Attempt.Hold {
		heldAt = d.options.Attempt.RollbackTo
	}
	rls.Labels = newRevisionLabels(rls, d.options.UID, heldAt)
	d.mu.Lock()
	method := d.method
	d.mu.Unlock()
	source := d.options.SourceRevision
	if to := d.options.Attempt.RollbackTo; to != 0 {
		source = sourceOf(d.secretStore, Key(d.release, to))
	}
	s, err := d.secretStore.stage(key, rls, preserved{
		unknownFields: applyMethodField(method), attempt: d.newAttempt(rls.Version), source: source,
		approvedBy: d.options.ApprovedBy, sealed: true, proven: true,
	})
	if err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.staged = s
	return s.size(), nil
}

// takeStaged returns the staged revision once; nil if another revision or none is staged.
func (d *Driver) takeStaged(rls *helmrelease.Release) *staged {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.staged
	if d.staged = nil; s == nil || s.release != rls {
		return nil
	}
	return s
}

// Create labels and stores a new revision.
func (d *Driver) Create(key string, rls *helmrelease.Release) error {
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
	d.noteStored(rls, stored)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.created = max(d.created, rls.Version)
	return nil
}

// Update stores an existing revision again. It returns an error that wraps ErrOvertaken if another
// client has written the record since it was read.
func (d *Driver) Update(key string, rls *helmrelease.Release) error {
	if d.options.FailureLabel != nil && rls.Info.Status == helmrelease.StatusFailed {
		if label := d.options.FailureLabel(); label != "" {
			rls.Labels = withLabel(rls.Labels, label, "true")
		}
	}
	if rls.Info.Status == helmrelease.StatusSuperseded && endedEarly(rls.Labels) {
		// Helm would make a revision that never worked a target of rollbacks.
		rls.Info.Status = helmrelease.StatusFailed
	}
	if status := rls.Info.Status; status == helmrelease.StatusUninstalling || status == helmrelease.StatusSuperseded {
		if oldest := undeployedSince(d.secretStore, key); oldest > 0 {
			rls.Labels = withLabel(rls.Labels, helmv2.LabelUndeployed, undeployedLabel(rls.Version, oldest))
		}
	}
	d.mu.Lock()
	applied := d.applied
	d.mu.Unlock()
	if applied == rls.Version {
		rls.Labels = withLabel(rls.Labels, helmv2.LabelApplied, strconv.Itoa(applied))
	}
	if d.options.Redact != nil {
		// After a restart, the description of a failure becomes the message of a condition.
		rls.Info.Description = d.options.Redact(rls.Info.Description)
	}
	stored, err := d.update(key, rls)
	d.noteFailure(rls.Version, err)
	d.options.stopIfOvertaken(err)
	if err != nil {
		return err
	}
	d.noteStored(rls, stored)
	return nil
}

// noteFailure keeps the error of the last update of a revision.
func (d *Driver) noteFailure(version int, err error) {
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

// errUnrecorded is the failure of an action that succeeded in everything but its last update.
var errUnrecorded = errors.New("the result could not be recorded")

// UpdateError returns an error if the last update of a revision failed. Helm only logs such
// errors.
func (d *Driver) UpdateError() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for version, err := range d.failed {
		return fmt.Errorf("%w: revision %d: %w", errUnrecorded, version, err)
	}
	return nil
}

// Delete removes a revision. Revisions no longer returns it.
func (d *Driver) Delete(key string) (*helmrelease.Release, error) {
	rec, _ := d.recordOf(key)
	rls, err := d.secretStore.Delete(key)
	if err == nil {
		// The event of a watch would come later, and there may be no watch.
		d.cache.remove(rec.UID)
		d.mu.Lock()
		delete(d.states, rls.Version)
		d.mu.Unlock()
	}
	return rls, err
}

// ListRevisions lists the revisions of the release at the API server, newest first. It reads the newest
// one unless it is uninstalled, and of the others the metadata only: these are Unread.
func (d *Driver) ListRevisions(ctx context.Context) ([]release.Revision, error) {
	all, _, err := listRecords(ctx, d.api, d.namespace, d.release)
	if err != nil {
		return nil, err
	}
	revisions := make([]release.Revision, len(all))
	for i := range all {
		revisions[i] = all[i].revision()
	}
	if len(all) == 0 || all[0].status() == helmrelease.StatusUninstalled {
		return revisions, nil
	}
	secret, err := d.api.get(ctx, all[0].Name)
	if apierrors.IsNotFound(err) {
		return revisions, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s/%s: %w", d.namespace, all[0].Name, err)
	}
	// A record that cannot be read proves nothing.
	if c, unreadable := decode(d.key, d.namespace, secret); unreadable == nil {
		revisions[0] = c.revision(nil).revision
	}
	return revisions, nil
}

// Proven reports whether a revision that this driver has read or written comes from the HelmRelease of
// the action. Other clients may have changed it since the decision.
func (d *Driver) Proven(version int) bool { return d.proven(Key(d.release, version)) }

// Unproven reports whether this driver has read a revision that is not proven. Helm may compare with
// that one, and delete what it contains.
func (d *Driver) Unproven() bool {
	d.secretStore.mu.Lock()
	defer d.secretStore.mu.Unlock()
	for _, known := range d.stored {
		if known.full != nil && !known.kept.proven {
			return true
		}
	}
	return false
}

// SetApplyMethod sets the apply method of revisions that are created later: ServerSide or
// ClientSide.
func (d *Driver) SetApplyMethod(method string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.method = method
}

// ApplyMethod returns the apply method in the record of a stored revision, empty if the record
// has none or cannot be read. It reads the Secret unless this driver or the read cache has the
// revision.
func (d *Driver) ApplyMethod(version int) string {
	key := Key(d.release, version)
	if rec, unread := d.unread(key); unread {
		if f, ok := d.cache.get(d.connection, rec); ok {
			return f.method
		}
	}
	if !d.exists(key) {
		return ""
	}
	return d.applyMethodOf(key)
}

// SetApplied adds the applied label to all later updates of the revision that this action
// created. It sends no request.
func (d *Driver) SetApplied() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.applied = d.created
}

// StoreApplied patches the applied label into the record of the revision that this action
// created. It sends no request if the action created none.
func (d *Driver) StoreApplied() error {
	// Before the patch: a concurrent update would remove the label.
	d.SetApplied()
	d.mu.Lock()
	version := d.applied
	d.mu.Unlock()
	if version == 0 {
		return nil
	}
	rec, err := d.label(Key(d.release, version), map[string]string{helmv2.LabelApplied: strconv.Itoa(version)})
	if err != nil {
		d.options.stopIfOvertaken(err)
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if t, ok := d.states[version]; ok {
		t.record, t.cached.revision.Applied = rec, true
		d.setState(version, t)
	}
	return nil
}

// noteStored keeps a revision that was stored, in the form in which it is read later: numbers
// and times may differ from those in memory.
func (d *Driver) noteStored(rls *helmrelease.Release, w written) {
	d.mu.Lock()
	defer d.mu.Unlock()
	cached := cachedRevision{revision: toRevision(w.release, w.secret.Annotations), method: w.method}
	cached.revision.Sealed = w.sealed
	d.setState(rls.Version, writtenState{record: w.record, cached: cached})
	if d.newest == nil || rls.Version >= d.newest.Version {
		d.newest = rls
	}
}

func (d *Driver) setState(version int, s writtenState) {
	if d.states == nil {
		d.states = map[int]writtenState{}
	}
	d.states[version] = s
	d.cache.put(d.connection, s.record, s.cached)
}

// NewestManifest returns the manifest of the newest revision that this action stored.
func (d *Driver) NewestManifest() (string, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.newest == nil {
		return "", false
	}
	return d.newest.Manifest, true
}

// Revisions returns the revisions that this action stored, newest first.
func (d *Driver) Revisions() []release.Revision {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []release.Revision
	for _, s := range d.states {
		all = append(all, s.cached.revision)
	}
	release.SortNewestFirst(all)
	return all
}

// Revision reads one revision of the release in full.
func (d *Driver) Revision(version int) (*helmrelease.Release, error) {
	return d.Get(Key(d.release, version))
}
