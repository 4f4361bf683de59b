// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// Driver is the storage driver of one action on one release. It labels the revisions that it
// creates, and it keeps the revisions that the API server has stored: the only reliable account
// of an action that fails later.
//
// It lists the revisions once, from the index or from the API server, and reads the Secrets that Helm
// needs: the newest revision, the deployed ones, and those that Helm gets by number. The other
// revisions consist of their metadata, which is enough to count and to delete them. They cannot
// be stored again.
//
// It differs from Helm's own driver in two more ways:
//
//   - Fields that only newer versions of Helm know survive when Helm 3 stores a record again.
//   - A record that cannot be read is an error. Helm skips it, so that its predecessor would
//     become the newest revision, and each upgrade would fail because its number is taken.
//
// Writes of others during the action are not seen, but a number that they have taken cannot be
// taken again.
type Driver struct {
	// Chart is the chart of revisions that are staged, prechecked or created later; nil if their
	// releases contain it.
	Chart atomic.Pointer[RawChart]

	access
	// ctx has no cancellation: the result of an action is recorded even if the action is
	// cancelled. Helm's interface passes no context.
	ctx     context.Context //nolint:containedctx // see above
	options Options
	now     func() time.Time
	packer  *packer

	// mu is held during requests.
	mu sync.Mutex
	// stored holds the known revisions, by the names of their Secrets.
	stored map[string]*stored
	// listed is true once stored has every revision.
	listed bool
	// partial are the releases that Helm got without their content.
	partial map[*helmrelease.Release]bool
	method  string
	// attempt is the ID of the attempt; empty if none has begun.
	attempt string
	// failed holds the errors of the last update of revisions, by number.
	failed map[int]error
	// applied is the revision that gets the applied label, 0 for none.
	applied int
	// created is the newest revision that was created, 0 for none.
	created int
	// states are the last stored states of revisions, by number.
	states map[int]cachedRevision
	newest *helmrelease.Release
	// staged is a new revision that is compressed and not yet stored; nil if there is none.
	staged *written
}

var _ driver.Driver = (*Driver)(nil)

func openDriver(ctx context.Context, a access, now func() time.Time) *Driver {
	return &Driver{
		access: a, ctx: context.WithoutCancel(ctx), now: now, packer: &packer{},
		stored: map[string]*stored{}, partial: map[*helmrelease.Release]bool{}, states: map[int]cachedRevision{}, failed: map[int]error{},
	}
}

// Stage labels and compresses a new revision and returns the size of its record. Create stores
// the bytes that were compressed here.
func (d *Driver) Stage(key string, rls *helmrelease.Release) (*release.RecordSize, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.stage(key, rls); err != nil {
		return nil, err
	}
	return d.packer.measure(rls, d.Chart.Load(), d.staged.size())
}

// Precheck returns the size that the record of a revision would have.
func (d *Driver) Precheck(rls *helmrelease.Release, method string) (*release.RecordSize, error) {
	data, err := d.data(rls, applyMethodField(method))
	if err != nil {
		return nil, err
	}
	return d.packer.measure(rls, d.Chart.Load(), len(data))
}

// stage labels and compresses a new revision.
func (d *Driver) stage(key string, rls *helmrelease.Release) error {
	heldAt := 0
	if d.options.Attempt.Hold {
		heldAt = d.options.Attempt.RollbackTo
	}
	rls.Labels = newRevisionLabels(rls, d.options.UID, heldAt)
	k := preserved{
		unknownFields: applyMethodField(d.method), created: d.seconds(), attempt: d.newAttempt(rls.Version), source: d.options.SourceRevision,
		decided: decisionsOf(d.options.Plan), sealed: true, proven: true,
	}
	if to := d.options.Attempt.RollbackTo; to != 0 {
		k.source = ""
		if known := d.stored[Key(d.release, to)]; known != nil {
			k.source = known.kept.source
		}
	}
	w, err := d.secret(key, rls, &stored{kept: k})
	if err == nil {
		d.staged = w
	}
	return err
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

// ListRevisions lists the revisions of the release at the API server, newest first. It reads the newest
// one unless it is uninstalled, and of the others the metadata only: these are Unread.
func (d *Driver) ListRevisions(ctx context.Context) ([]release.Revision, error) {
	all, _, err := d.metadata(ctx)
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
// the action; see release.Proven. Other clients may have changed it since the decision.
func (d *Driver) Proven(version int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.stored[Key(d.release, version)]
	return known != nil && known.kept.proven
}

// Unproven reports whether this driver has read a revision that is not proven. Helm may compare with
// that one, and delete what it contains.
func (d *Driver) Unproven() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
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
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.stored[Key(d.release, version)]
	if known == nil && d.listed {
		return ""
	}
	if known != nil && known.full == nil {
		if f, ok := d.cache.get(d.connection, known.record); ok {
			return f.method
		}
	}
	known, err := d.read(Key(d.release, version))
	if err != nil {
		return ""
	}
	return known.kept.applyMethod()
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
	err := d.storeApplied()
	d.options.stopIfOvertaken(err)
	return err
}

func (d *Driver) storeApplied() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	// Before the patch: a later update would remove the label.
	d.applied = d.created
	if d.applied == 0 {
		return nil
	}
	rec, err := d.label(Key(d.release, d.applied), map[string]string{helmv2.LabelApplied: strconv.Itoa(d.applied)})
	if err != nil {
		return err
	}
	if state, ok := d.states[d.applied]; ok {
		state.revision.Applied = true
		d.setState(d.applied, rec, state)
	}
	return nil
}

func (d *Driver) setState(version int, rec record, state cachedRevision) {
	d.states[version] = state
	d.cache.put(d.connection, rec, state)
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
	for _, state := range d.states {
		all = append(all, state.revision)
	}
	release.SortNewestFirst(all)
	return all
}

// Revision reads one revision of the release in full.
func (d *Driver) Revision(version int) (*helmrelease.Release, error) {
	return d.Get(Key(d.release, version))
}
