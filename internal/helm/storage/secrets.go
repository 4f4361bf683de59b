// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// Name implements driver.Driver.
func (d *Driver) Name() string { return driver.SecretsDriverName }

// Get implements driver.Driver.
func (d *Driver) Get(key string) (*helmrelease.Release, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, err := d.read(key)
	if err != nil {
		return nil, err
	}
	return detached(known.full), nil
}

// Query implements driver.Driver. Only the status in the selector counts, since there is only
// one release.
func (d *Driver) Query(selector map[string]string) ([]*helmrelease.Release, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	all, err := d.query(selector["status"])
	if errors.Is(err, driver.ErrReleaseNotFound) && d.index != nil {
		// The index is stale: one of its revisions was deleted.
		d.index, d.listed, d.stored = nil, false, map[string]*stored{}
		all, err = d.query(selector["status"])
	}
	if err == nil && len(all) == 0 {
		err = driver.ErrReleaseNotFound
	}
	return all, err
}

func (d *Driver) query(status string) ([]*helmrelease.Release, error) {
	if err := d.list(); err != nil {
		return nil, err
	}
	var all []*helmrelease.Release
	for i, rec := range d.records() {
		if status != "" && status != rec.status().String() {
			continue
		}
		if i > 0 && rec.status() != helmrelease.StatusDeployed {
			all = append(all, d.known(rec))
			continue
		}
		known, err := d.read(rec.Name)
		if err != nil {
			return nil, err
		}
		all = append(all, detached(known.full))
	}
	return all, nil
}

// known returns a revision without a request, in full if it was read before.
func (d *Driver) known(rec record) *helmrelease.Release {
	if known := d.stored[rec.Name]; known.full != nil {
		return detached(known.full)
	}
	rls := &helmrelease.Release{
		Name: d.release, Version: rec.version(), Info: &helmrelease.Info{Status: rec.status()}, Labels: ownLabels(rec.Labels),
	}
	d.partial[rls] = true
	return rls
}

// list fills stored with the records of all revisions.
func (d *Driver) list() error {
	if d.listed {
		return nil
	}
	all, ok := d.index.records(d.namespace, d.release)
	if !ok {
		var err error
		if all, _, err = d.metadata(d.ctx); err != nil {
			return err
		}
	}
	for _, rec := range all {
		if d.stored[rec.Name] == nil {
			d.stored[rec.Name] = &stored{record: rec}
		}
	}
	d.listed = true
	return nil
}

// ListLive lists the revisions at the API server instead of the index. An action calls it
// before all other methods.
func (d *Driver) ListLive() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	index := d.index
	d.index = nil
	err := d.list()
	d.index = index
	return err
}

// records returns the known records, newest first.
func (d *Driver) records() []record {
	all := make([]record, 0, len(d.stored))
	for _, known := range d.stored {
		all = append(all, known.record)
	}
	sortNewestFirst(all)
	return all
}

// List implements driver.Driver.
func (d *Driver) List(filter func(*helmrelease.Release) bool) ([]*helmrelease.Release, error) {
	all, err := d.Query(nil)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil
	}
	return slices.DeleteFunc(all, func(rls *helmrelease.Release) bool { return !filter(rls) }), err
}

// Delete implements driver.Driver. Revisions no longer returns the revision. The returned release may have only name and number. If a
// known revision no longer exists, Delete succeeds: the answer to an earlier request may
// have been lost.
func (d *Driver) Delete(key string) (*helmrelease.Release, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.stored[key]
	err := d.api.delete(d.ctx, key)
	if err == nil || apierrors.IsNotFound(err) {
		gone := record{Name: key}
		delete(d.stored, key)
		delete(d.states, gone.version())
		if known != nil {
			d.index.noteDelete(d.namespace, known.record)
			// The event of a watch would come later, and there may be no watch.
			d.cache.remove(known.record.UID)
		}
	}
	if apierrors.IsNotFound(err) && known == nil {
		return nil, driver.ErrReleaseNotFound
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("delete Secret %s/%s: %w", d.namespace, key, err)
	}
	if known != nil && known.full != nil {
		return known.full, nil
	}
	gone := record{Name: key}
	return &helmrelease.Release{Name: d.release, Namespace: d.namespace, Version: gone.version()}, nil
}

// Create labels and stores a new revision.
func (d *Driver) Create(key string, rls *helmrelease.Release) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.staged
	if d.staged = nil; w == nil || w.release != rls {
		if err := d.stage(key, rls); err != nil {
			return err
		}
		w, d.staged = d.staged, nil
	}
	d.seal(w)
	rec, err := d.api.create(d.ctx, w.secret)
	if apierrors.IsAlreadyExists(err) {
		d.index.markStale(d.namespace, d.release)
		return fmt.Errorf("%w: another client has created revision %d in the meantime", driver.ErrReleaseExists, rls.Version)
	}
	if err != nil {
		return d.refused("create", w.secret, err)
	}
	d.noteWrite(w, rec)
	d.created = max(d.created, rls.Version)
	return nil
}

// Update stores an existing revision again. It returns an error that wraps ErrOvertaken if another
// client has written the record since it was read.
func (d *Driver) Update(key string, rls *helmrelease.Release) error {
	err := d.update(key, rls)
	d.options.stopIfOvertaken(err)
	return err
}

func (d *Driver) update(key string, rls *helmrelease.Release) (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.relabel(key, rls)
	defer func() {
		if err == nil {
			delete(d.failed, rls.Version)
		} else {
			d.failed[rls.Version] = err
		}
	}()
	if d.partial[rls] {
		return fmt.Errorf("revision %d of release %s was not read and cannot be stored again", rls.Version, rls.Name)
	}
	known, err := d.read(key)
	if err != nil {
		return err
	}
	if status := rls.Info.Status; known.record.status().IsPending() && (status == helmrelease.StatusDeployed || status == helmrelease.StatusFailed) {
		known.kept.ended = d.now().UTC().Format(time.RFC3339)
	}
	w, err := d.secret(key, rls, known)
	if err == nil && w.size() > corev1.MaxSecretSize && len(rls.Info.Description) > briefDescription {
		// The new status is more important than the whole description.
		rls.Info.Description = strings.ToValidUTF8(rls.Info.Description[:briefDescription], "") + "..."
		w, err = d.secret(key, rls, known)
	}
	if err != nil {
		return err
	}
	w.secret.Labels[labelModified] = d.seconds()
	d.seal(w)
	rec, err := conditional(d.ctx, d.api, w.secret, func() (record, error) { return d.api.update(d.ctx, w.secret) })
	if err != nil {
		return d.refused("update", w.secret, err)
	}
	d.noteWrite(w, rec)
	return nil
}

// relabel adds to an existing revision what Helm does not know.
func (d *Driver) relabel(key string, rls *helmrelease.Release) {
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
		if oldest := d.undeployedSince(key); oldest > 0 {
			rls.Labels = withLabel(rls.Labels, helmv2.LabelUndeployed, undeployedLabel(rls.Version, oldest))
		}
	}
	if d.applied == rls.Version {
		rls.Labels = withLabel(rls.Labels, helmv2.LabelApplied, strconv.Itoa(d.applied))
	}
	if d.options.Redact != nil {
		// After a restart, the description of a failure becomes the message of a condition.
		rls.Info.Description = d.options.Redact(rls.Info.Description)
	}
}

// noteWrite keeps a revision that the API server has stored.
func (d *Driver) noteWrite(w *written, rec record) {
	known := &stored{full: detached(w.release), kept: w.kept, digest: w.digest}
	if rec.Name == "" {
		// The answer could not be parsed. The next update reads the record again.
		known.full = nil
	}
	rec.Name, rec.Labels = w.secret.Name, maps.Clone(w.secret.Labels)
	known.record = rec
	d.stored[rec.Name] = known
	d.index.noteWrite(d.namespace, rec)
	state := cachedRevision{revision: toRevision(w.read, w.secret.Annotations), method: w.kept.applyMethod()}
	state.revision.Sealed = w.kept.sealed
	d.setState(w.release.Version, rec, state)
	if d.newest == nil || w.release.Version >= d.newest.Version {
		d.newest = w.release
	}
}

// label adds labels to the Secret of a revision that was written by this store, and changes nothing
// else.
func (d *Driver) label(key string, more map[string]string) (record, error) {
	known := d.stored[key]
	if known == nil {
		return record{}, driver.ErrReleaseNotFound
	}
	want := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: key, Labels: maps.Clone(known.record.Labels), ResourceVersion: known.record.ResourceVersion}}
	maps.Copy(want.Labels, more)
	var err error
	if want.Annotations, err = known.kept.annotations(); err != nil {
		return record{}, err
	}
	changes := map[string]any{"labels": more, "resourceVersion": known.record.ResourceVersion}
	if d.sealRecord(want, known.kept, known.digest) {
		changes["annotations"] = map[string]string{helmv2.AnnotationSeal: want.Annotations[helmv2.AnnotationSeal]}
	}
	patch, err := json.Marshal(map[string]any{"metadata": changes})
	if err != nil {
		return record{}, err
	}
	rec, err := conditional(d.ctx, d.api, want, func() (record, error) { return d.api.merge(d.ctx, key, patch) })
	if err != nil {
		return record{}, fmt.Errorf("label Secret %s/%s: %w", d.namespace, key, err)
	}
	d.index.noteWrite(d.namespace, rec)
	known.record = rec
	return rec, nil
}

// read returns a revision in full. It sends a request only for a revision that was not read
// before.
func (d *Driver) read(key string) (*stored, error) {
	if known := d.stored[key]; known != nil && known.full != nil {
		return known, nil
	}
	var secret *corev1.Secret
	if d.options.ReadCache {
		secret = d.cache.secret(d.connection, d.namespace, key)
	}
	var err error
	if secret == nil {
		secret, err = d.api.get(d.ctx, key)
	}
	if apierrors.IsNotFound(err) {
		return nil, driver.ErrReleaseNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s/%s: %w", d.namespace, key, err)
	}
	c, err := decode(d.key, d.namespace, secret)
	if err != nil {
		return nil, err
	}
	rec, _ := recordOf(secret)
	rls := *c.release
	rls.Labels = ownLabels(secret.Labels)
	d.stored[key] = &stored{record: rec, full: &rls, kept: d.preserve(c), digest: sha256.Sum256(secret.Data[dataKey])}
	return d.stored[key], nil
}

// preserve returns the content of a record that Helm's release does not have. An attempt that nothing
// proves is dropped.
func (d *Driver) preserve(c *content) preserved {
	kept, rls := preservedOf(c), c.release
	if !kept.sealed {
		kept.attempt = nil
	}
	r := release.Revision{
		Name: rls.Name, Namespace: rls.Namespace, Version: rls.Version, Status: helmv2.ReleaseStatus(rls.Info.Status),
		Owner: owner(rls.Labels, rls.Version), Sealed: kept.sealed, FirstDeployed: rls.Info.FirstDeployed.Time,
	}
	kept.proven = release.Proven(&r, d.options.UID, d.options.History)
	if kept.proven || snapshotOf(rls.Name, rls.Namespace, rls.Version, d.options.History) == nil {
		return kept
	}
	// The digests are computed only for a record without a seal.
	r = c.revision(d.options.History).revision
	kept.proven = release.Proven(&r, d.options.UID, d.options.History)
	kept.sealed = kept.sealed || kept.proven
	return kept
}

func (d *Driver) seconds() string { return strconv.FormatInt(d.now().Unix(), 10) }
