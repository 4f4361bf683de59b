// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// secretStore is Helm's storage of one release, in the Secrets of a namespace. It
// asks the API server once which revisions there are, or the index, and reads
// those that Helm looks into: the newest, the deployed, and those it is asked for
// by number. Of the others Helm gets what the metadata tells, which is enough to
// count and to delete them; storing one of these again is refused.
//
// There are two more differences to Helm's own driver: what newer Helms put into a
// record survives that Helm 3 writes it again, and a record that cannot be read is
// an error. Passing over it, as Helm does, would make its predecessor look like
// the newest revision, to be upgraded to a number that is taken, for ever.
//
// It lives as long as one action. What others write meanwhile it does not see; a
// number that they have taken cannot be taken once more.
type secretStore struct {
	// ctx carries no cancellation: what Helm has done is recorded even if the job
	// is ended. Helm's interface has no room for it.
	ctx       context.Context //nolint:containedctx // see above
	api       secretAPI
	namespace string
	release   string
	now       func() time.Time
	packer    *packer
	// index, nil if there is none for the cluster, knows the revisions already.
	index *Index
	// lately, if set, returns the Secret of a revision if it was read already, nil
	// otherwise.
	lately func(key string) *corev1.Secret

	mu sync.Mutex
	// stored is what is known of the revisions, by the names of their Secrets.
	stored map[string]*stored
	// listed is true once stored has every revision.
	listed bool
	// foreseen is what was packed of a revision that is yet to be made.
	foreseen foreseen
	// partial are the releases that Helm was given without having been read.
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

// Query implements driver.Driver. Of the selector only the status counts: there is
// but one release.
func (s *secretStore) Query(selector map[string]string) ([]*helmrelease.Release, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := s.query(selector["status"])
	if errors.Is(err, driver.ErrReleaseNotFound) && s.index != nil {
		// The index is behind: what it knows is gone.
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

// known returns what is known of a revision without reading it.
func (s *secretStore) known(rec Record) *helmrelease.Release {
	if known := s.stored[rec.Name]; known.full != nil {
		return detached(known.full)
	}
	rls := &helmrelease.Release{
		Name: s.release, Version: rec.version(), Info: &helmrelease.Info{Status: rec.status()}, Labels: ownLabels(rec.Labels),
	}
	s.partial[rls] = true
	return rls
}

// list finds out which revisions there are.
func (s *secretStore) list() error {
	if s.listed {
		return nil
	}
	all, ok := s.index.records(s.namespace, s.release)
	if !ok {
		var err error
		if all, _, err = s.api.list(s.ctx, records(s.release)); err != nil {
			return fmt.Errorf("list Secrets in namespace %s: %w", s.namespace, err)
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

// records returns what is known, newest first.
func (s *secretStore) records() []Record {
	all := make([]Record, 0, len(s.stored))
	for _, known := range s.stored {
		all = append(all, known.record)
	}
	newestFirst(all)
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

// Delete implements driver.Driver. The release it returns may be no more than its
// name and number. A revision that is known and does not exist any more is deleted: the
// answer to an earlier request may have been lost.
func (s *secretStore) Delete(key string) (*helmrelease.Release, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.stored[key]
	err := s.api.delete(s.ctx, key)
	if err == nil || apierrors.IsNotFound(err) {
		delete(s.stored, key)
		if known != nil {
			s.index.deleted(s.namespace, known.record)
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
	gone := Record{Name: key}
	return &helmrelease.Release{Name: s.release, Namespace: s.namespace, Version: gone.version()}, nil
}

// staged is a new revision that is packed and not stored yet.
type staged struct {
	release *helmrelease.Release
	written written
	kept    kept
}

// size is how many bytes the record takes in a Secret.
func (s *staged) size() int { return len(s.written.secret.Data[dataKey]) }

// stage packs a new revision, whose objects are applied by the given method.
func (s *secretStore) stage(key string, rls *helmrelease.Release, method string) (*staged, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := kept{created: s.seconds(), keepsake: methodKept(method)}
	w, err := s.secret(key, rls, &stored{kept: k})
	return &staged{release: rls, written: w, kept: k}, err
}

// foresee packs a revision that may be made, and returns how many bytes that takes.
// If the one that is made consists of the same, it is not compressed once more.
func (s *secretStore) foresee(rls *helmrelease.Release, method string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keep := methodKept(method)
	raw, err := encodeFixed(rls, keep)
	if err != nil {
		return 0, err
	}
	moving, err := encodeMoving(rls, keep)
	if err != nil {
		return 0, err
	}
	data, first, err := s.packer.pack(pressed{}, func() ([]byte, error) { return raw, nil }, moving)
	s.foreseen = foreseen{raw: raw, first: first}
	return len(data), err
}

// create stores a revision that was staged, and returns it as it can be read now.
func (s *secretStore) create(st *staged) (written, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, rls, k := st.written, st.release, st.kept
	rec, err := s.api.create(s.ctx, w.secret)
	if apierrors.IsAlreadyExists(err) {
		s.index.doubt(s.namespace, s.release)
		return written{}, fmt.Errorf("%w: somebody else has made revision %d in the meantime", driver.ErrReleaseExists, rls.Version)
	}
	if err != nil {
		return written{}, s.refused("create", w.secret, err)
	}
	return s.wrote(w, rec, rls, k), nil
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
		// That the action has ended matters more than all that can be said about it.
		rls.Info.Description = strings.ToValidUTF8(rls.Info.Description[:briefDescription], "") + "..."
		w, err = s.secret(key, rls, known)
	}
	if err != nil {
		return written{}, err
	}
	w.secret.Labels[labelModified] = s.seconds()
	rec, err := s.api.update(s.ctx, w.secret)
	if err != nil {
		return written{}, s.refused("update", w.secret, err)
	}
	return s.wrote(w, rec, rls, known.kept), nil
}

// wrote takes note of what the API server has taken.
func (s *secretStore) wrote(w written, rec Record, rls *helmrelease.Release, k kept) written {
	// The answer may say nothing, of a server that could not be understood.
	rec.Name, rec.Labels = w.secret.Name, maps.Clone(w.secret.Labels)
	s.stored[rec.Name] = &stored{record: rec, full: detached(rls), kept: k, first: w.first}
	s.index.wrote(s.namespace, rec)
	w.record, w.method = rec, k.applyMethod()
	return w
}

// label adds labels to the Secret of a revision and touches nothing else.
func (s *secretStore) label(key string, more map[string]string) (Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": more}})
	if err != nil {
		return Record{}, err
	}
	rec, err := s.api.merge(s.ctx, key, patch)
	if err != nil {
		return Record{}, fmt.Errorf("label Secret %s/%s: %w", s.namespace, key, err)
	}
	s.index.wrote(s.namespace, rec)
	if known := s.stored[key]; known != nil {
		known.record = rec
	}
	return rec, nil
}

// read returns a revision in full; it asks the server only for what nobody has
// read yet.
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
	raw, err := unpack(secret.Data[dataKey])
	if err != nil {
		return nil, s.unreadable(key, err)
	}
	rls, keep, err := decode(raw)
	if err != nil {
		return nil, s.unreadable(key, err)
	}
	rls.Labels = ownLabels(secret.Labels)
	rec, _ := recordOf(secret)
	s.stored[key] = &stored{
		record: rec, full: rls, kept: kept{keepsake: keep, created: secret.Labels[labelCreated]},
		data: secret.Data[dataKey], raw: raw,
	}
	return s.stored[key], nil
}

// appliedBy returns how the objects of a stored revision were applied, empty if its
// record does not say or cannot be read.
func (s *secretStore) appliedBy(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, err := s.read(key)
	if err != nil {
		return ""
	}
	return known.kept.applyMethod()
}

// unread returns what is known of a revision that was not read; false if it was, or
// if nothing is known of it.
func (s *secretStore) unread(key string) (Record, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.stored[key]
	if known == nil || known.full != nil {
		return Record{}, false
	}
	return known.record, true
}

// recordOf returns what is known of a revision, if anything is.
func (s *secretStore) recordOf(key string) (Record, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.stored[key]
	if known == nil {
		return Record{}, false
	}
	return known.record, true
}

// exists reports whether there may be a revision.
func (s *secretStore) exists(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.listed || s.stored[key] != nil
}

func (s *secretStore) seconds() string { return strconv.FormatInt(s.now().Unix(), 10) }

func (s *secretStore) unreadable(key string, err error) error {
	return unreadable(s.namespace, key, err)
}

func unreadable(namespace, key string, err error) error {
	return fmt.Errorf("no revision can be read from Secret %s/%s: %w; restore or delete it", namespace, key, err)
}
