// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// secretStore reads and writes the Secrets of one release during one action. It lists the
// revisions once, from the index or from the API server, and reads the Secrets that Helm needs:
// the newest revision, the deployed ones, and those that Helm gets by number. The other
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
type secretStore struct {
	// Chart is that of revisions that are staged, prechecked or created later; nil if their releases
	// contain it.
	Chart atomic.Pointer[RawChart]

	// ctx has no cancellation: the result of an action is recorded even if the action is
	// cancelled. Helm's interface passes no context.
	ctx       context.Context //nolint:containedctx // see above
	api       secretAPI
	namespace string
	release   string
	now       func() time.Time
	packer    *packer
	// index replaces lists; nil if there is none for the cluster.
	index *Index
	// readCached, if set, returns the Secret of a revision from the read cache, or nil.
	readCached func(key string) *corev1.Secret
	// key seals records. uid and recorded are the HelmRelease that revisions must come from.
	key      *SealKey
	uid      string
	recorded helmv2.Snapshots

	mu sync.Mutex
	// stored holds the known revisions, by the names of their Secrets.
	stored map[string]*stored
	// listed is true once stored has every revision.
	listed bool
	// partial are the releases that Helm got without their content.
	partial map[*helmrelease.Release]bool
}

func newSecretStore(ctx context.Context, api secretAPI, namespace, release string, now func() time.Time) *secretStore {
	return &secretStore{
		ctx: context.WithoutCancel(ctx), api: api, namespace: namespace, release: release, now: now,
		packer: &packer{}, stored: map[string]*stored{}, partial: map[*helmrelease.Release]bool{},
	}
}

// Name implements driver.Driver.
func (s *secretStore) Name() string { return driver.SecretsDriverName }

// Get implements driver.Driver.
func (s *secretStore) Get(key string) (*helmrelease.Release, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, err := s.read(key)
	if err != nil {
		return nil, err
	}
	return detached(known.full), nil
}

// Query implements driver.Driver. Only the status in the selector counts, since there is only
// one release.
func (s *secretStore) Query(selector map[string]string) ([]*helmrelease.Release, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.query(selector["status"])
	if errors.Is(err, driver.ErrReleaseNotFound) && s.index != nil {
		// The index is stale: one of its revisions was deleted.
		s.index, s.listed, s.stored = nil, false, map[string]*stored{}
		all, err = s.query(selector["status"])
	}
	if err == nil && len(all) == 0 {
		err = driver.ErrReleaseNotFound
	}
	return all, err
}

func (s *secretStore) query(status string) ([]*helmrelease.Release, error) {
	if err := s.list(); err != nil {
		return nil, err
	}
	var all []*helmrelease.Release
	for i, rec := range s.records() {
		if status != "" && status != rec.status().String() {
			continue
		}
		if i > 0 && rec.status() != helmrelease.StatusDeployed {
			all = append(all, s.known(rec))
			continue
		}
		known, err := s.read(rec.Name)
		if err != nil {
			return nil, err
		}
		all = append(all, detached(known.full))
	}
	return all, nil
}

// known returns a revision without a request, in full if it was read before.
func (s *secretStore) known(rec record) *helmrelease.Release {
	if known := s.stored[rec.Name]; known.full != nil {
		return detached(known.full)
	}
	rls := &helmrelease.Release{
		Name: s.release, Version: rec.version(), Info: &helmrelease.Info{Status: rec.status()}, Labels: ownLabels(rec.Labels),
	}
	s.partial[rls] = true
	return rls
}

// list fills stored with the records of all revisions.
func (s *secretStore) list() error {
	if s.listed {
		return nil
	}
	all, ok := s.index.records(s.namespace, s.release)
	if !ok {
		var err error
		if all, _, err = listRecords(s.ctx, s.api, s.namespace, s.release); err != nil {
			return err
		}
	}
	for _, rec := range all {
		if s.stored[rec.Name] == nil {
			s.stored[rec.Name] = &stored{record: rec}
		}
	}
	s.listed = true
	return nil
}

// ListLive lists the revisions at the API server instead of the index. An action calls it
// before all other methods.
func (s *secretStore) ListLive() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	index := s.index
	s.index = nil
	err := s.list()
	s.index = index
	return err
}

// records returns the known records, newest first.
func (s *secretStore) records() []record {
	all := make([]record, 0, len(s.stored))
	for _, known := range s.stored {
		all = append(all, known.record)
	}
	sortNewestFirst(all)
	return all
}

// List implements driver.Driver.
func (s *secretStore) List(filter func(*helmrelease.Release) bool) ([]*helmrelease.Release, error) {
	all, err := s.Query(nil)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil
	}
	return slices.DeleteFunc(all, func(rls *helmrelease.Release) bool { return !filter(rls) }), err
}

// Delete implements driver.Driver. The returned release may have only name and number. If a
// known revision no longer exists, Delete succeeds: the answer to an earlier request may
// have been lost.
func (s *secretStore) Delete(key string) (*helmrelease.Release, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.stored[key]
	err := s.api.delete(s.ctx, key)
	if err == nil || apierrors.IsNotFound(err) {
		delete(s.stored, key)
		if known != nil {
			s.index.noteDelete(s.namespace, known.record)
		}
	}
	if apierrors.IsNotFound(err) && known == nil {
		return nil, driver.ErrReleaseNotFound
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("delete Secret %s/%s: %w", s.namespace, key, err)
	}
	if known != nil && known.full != nil {
		return known.full, nil
	}
	gone := record{Name: key}
	return &helmrelease.Release{Name: s.release, Namespace: s.namespace, Version: gone.version()}, nil
}

// create stores a staged revision, and returns it as it can be read now.
func (s *secretStore) create(st *staged) (written, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, rls, k := st.written, st.release, st.kept
	w.seal(s, k)
	rec, err := s.api.create(s.ctx, w.secret)
	if apierrors.IsAlreadyExists(err) {
		s.index.markStale(s.namespace, s.release)
		return written{}, fmt.Errorf("%w: another client has created revision %d in the meantime", driver.ErrReleaseExists, rls.Version)
	}
	if err != nil {
		return written{}, s.refused("create", w.secret, err)
	}
	return s.noteWrite(w, rec, rls, k), nil
}

// update stores a revision again, and returns it as it can be read now.
func (s *secretStore) update(key string, rls *helmrelease.Release) (written, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.partial[rls] {
		return written{}, fmt.Errorf("revision %d of release %s was not read and cannot be stored again", rls.Version, rls.Name)
	}
	known, err := s.read(key)
	if err != nil {
		return written{}, err
	}
	w, err := s.secret(key, rls, known)
	if err == nil && len(w.secret.Data[dataKey]) > corev1.MaxSecretSize && len(rls.Info.Description) > briefDescription {
		// The new status is more important than the whole description.
		rls.Info.Description = strings.ToValidUTF8(rls.Info.Description[:briefDescription], "") + "..."
		w, err = s.secret(key, rls, known)
	}
	if err != nil {
		return written{}, err
	}
	w.secret.Labels[labelModified] = s.seconds()
	w.seal(s, known.kept)
	rec, err := conditional(s.ctx, s.api, w.secret, func() (record, error) { return s.api.update(s.ctx, w.secret) })
	if err != nil {
		return written{}, s.refused("update", w.secret, err)
	}
	return s.noteWrite(w, rec, rls, known.kept), nil
}

// noteWrite keeps a Secret that the API server has stored.
func (s *secretStore) noteWrite(w written, rec record, rls *helmrelease.Release, k preserved) written {
	known := &stored{record: rec, full: detached(rls), kept: k, digest: w.digest}
	if rec.Name == "" {
		// The answer could not be parsed. The next update reads the record again.
		known.full = nil
	}
	rec.Name, rec.Labels = w.secret.Name, maps.Clone(w.secret.Labels)
	known.record = rec
	s.stored[rec.Name] = known
	s.index.noteWrite(s.namespace, rec)
	w.record, w.method, w.sealed = rec, applyMethod(k.top[keyApplyMethod]), k.sealed
	return w
}

// label adds labels to the Secret of a revision that was written by this store, and changes nothing
// else.
func (s *secretStore) label(key string, more map[string]string) (record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.stored[key]
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
	if sealRecord(s, want, known.kept, known.digest) {
		changes["annotations"] = map[string]string{helmv2.AnnotationSeal: want.Annotations[helmv2.AnnotationSeal]}
	}
	patch, err := json.Marshal(map[string]any{"metadata": changes})
	if err != nil {
		return record{}, err
	}
	rec, err := conditional(s.ctx, s.api, want, func() (record, error) { return s.api.merge(s.ctx, key, patch) })
	if err != nil {
		return record{}, fmt.Errorf("label Secret %s/%s: %w", s.namespace, key, err)
	}
	s.index.noteWrite(s.namespace, rec)
	known.record = rec
	return rec, nil
}

// read returns a revision in full. It sends a request only for a revision that was not read
// before.
func (s *secretStore) read(key string) (*stored, error) {
	if known := s.stored[key]; known != nil && known.full != nil {
		return known, nil
	}
	secret, err := s.secretOf(key)
	if apierrors.IsNotFound(err) {
		return nil, driver.ErrReleaseNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s/%s: %w", s.namespace, key, err)
	}
	c, err := decode(s.key, s.namespace, secret)
	if err != nil {
		return nil, err
	}
	rec, _ := recordOf(secret)
	rls := *c.release
	rls.Labels = ownLabels(secret.Labels)
	s.stored[key] = &stored{record: rec, full: &rls, kept: s.preserve(c), digest: sha256.Sum256(secret.Data[dataKey])}
	return s.stored[key], nil
}

// preserve returns the content of a record that Helm's release does not have. An attempt that nothing
// proves is dropped.
func (s *secretStore) preserve(c *content) preserved {
	kept, rls := preservedOf(c), c.release
	if !kept.sealed {
		kept.attempt = nil
	}
	r := release.Revision{
		Name: rls.Name, Namespace: rls.Namespace, Version: rls.Version, Status: helmv2.ReleaseStatus(rls.Info.Status),
		Owner: owner(rls.Labels, rls.Version), Sealed: kept.sealed, FirstDeployed: rls.Info.FirstDeployed.Time,
	}
	kept.proven = release.Proven(&r, s.uid, s.recorded)
	if kept.proven || snapshotOf(rls.Name, rls.Namespace, rls.Version, s.recorded) == nil {
		return kept
	}
	// The digests are computed only for a record without a seal.
	r = c.revision(s.recorded).revision
	kept.proven = release.Proven(&r, s.uid, s.recorded)
	kept.sealed = kept.sealed || kept.proven
	return kept
}

// proven reports whether a revision that was read or written comes from the HelmRelease; see
// release.Proven.
func (s *secretStore) proven(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.stored[key]
	return known != nil && known.kept.proven
}

// secretOf returns the Secret of a revision, which must not be changed.
func (s *secretStore) secretOf(key string) (*corev1.Secret, error) {
	if s.readCached != nil {
		if secret := s.readCached(key); secret != nil {
			return secret, nil
		}
	}
	return s.api.get(s.ctx, key)
}

// applyMethodOf returns the apply method in the record of a stored revision, empty if the
// record has none or cannot be read.
func (s *secretStore) applyMethodOf(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, err := s.read(key)
	if err != nil {
		return ""
	}
	return applyMethod(known.kept.top[keyApplyMethod])
}

// unread returns the record of a revision of which only the metadata is known.
func (s *secretStore) unread(key string) (record, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.stored[key]
	if known == nil || known.full != nil {
		return record{}, false
	}
	return known.record, true
}

// recordOf returns the record of a known revision.
func (s *secretStore) recordOf(key string) (record, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.stored[key]
	if known == nil {
		return record{}, false
	}
	return known.record, true
}

// exists returns false if a revision is known not to exist.
func (s *secretStore) exists(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.listed || s.stored[key] != nil
}

func (s *secretStore) seconds() string { return strconv.FormatInt(s.now().Unix(), 10) }
