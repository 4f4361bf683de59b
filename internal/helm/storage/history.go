// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// History returns the revisions of a release, newest first, and none if there is no such
// release. The reference digest is computed for those that recorded has a snapshot of
// helm-controller for. A record that cannot be read is an error, because any revision could be
// in it.
//
// History reads only Secrets that the read cache does not have. Of the older revisions it reads
// those that a decision can depend on; the others are Unread.
func (s *Store) History(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, recorded helmv2.Snapshots) ([]release.Revision, error) {
	return s.history(ctx, getter, target, recorded, false)
}

// LiveHistory is History with a list from the API server instead of the index. The decision
// that a release does not exist needs it, because the index may be stale.
func (s *Store) LiveHistory(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, recorded helmv2.Snapshots) ([]release.Revision, error) {
	return s.history(ctx, getter, target, recorded, true)
}

func (s *Store) history(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, recorded helmv2.Snapshots, live bool) ([]release.Revision, error) {
	a, err := s.access(getter, target)
	if err != nil {
		return nil, err
	}
	h := &historyReader{access: a, ctx: ctx, live: live, recorded: recorded}
	return h.history()
}

// historyReader reads the revisions of one release once.
type historyReader struct {
	access
	ctx context.Context //nolint:containedctx // lives as long as one call
	// live is true if the records are listed at the API server.
	live     bool
	recorded helmv2.Snapshots
}

func (h *historyReader) history() ([]release.Revision, error) {
	all, err := h.revisions()
	if apierrors.IsNotFound(err) {
		// A revision was deleted in the meantime, or the index is stale.
		h.live = true
		all, err = h.revisions()
	}
	if err != nil {
		return nil, fmt.Errorf("history of release %s in namespace %s: %w", h.release, h.namespace, err)
	}
	return all, nil
}

func (h *historyReader) revisions() ([]release.Revision, error) {
	stored, err := h.records()
	if err != nil || len(stored) == 0 {
		return nil, err
	}
	all := make([]release.Revision, len(stored))
	for i, rec := range stored {
		known, ok := h.cached(rec)
		if !ok && i > 0 {
			known = rec.revision()
		}
		if !ok && i == 0 {
			if known, err = h.read(rec); err != nil {
				return nil, err
			}
		}
		all[i] = known
	}
	for i := range all {
		if all[i].Unread && release.MustRead(h.recorded, all, i) {
			if all[i], err = h.read(stored[i]); err != nil {
				return nil, err
			}
		}
	}
	release.SortNewestFirst(all)
	return all, nil
}

// records returns the records of the release, newest first. It uses the index only if the index
// agrees with the recorded snapshots: another process may have written a revision that the watch
// has not shown yet.
func (h *historyReader) records() ([]record, error) {
	if all, ok := h.index.records(h.namespace, h.release); ok && !h.live && h.agrees(all) {
		return all, nil
	}
	all, at, err := h.metadata(h.ctx)
	if err != nil {
		return nil, err
	}
	h.index.noteList(h.namespace, h.release, all, at)
	return all, nil
}

// agrees reports whether records, newest first, can be all records of a release with the
// recorded snapshots.
func (h *historyReader) agrees(all []record) bool {
	last := release.Latest(h.recorded)
	switch {
	case len(all) == 0 && last == nil:
		// No Secret is read, so the permission to read them would not be checked. The user of
		// the index has it. If another process creates the first revision meanwhile, the
		// creation of ours fails.
		return h.ownIndex
	case len(all) == 0:
		return last.Status == helmv2.StatusUninstalled
	case last == nil:
		return false
	}
	return all[0].version() == last.Version
}

// cached returns the revision in a record from the read cache, unless its reference digest was
// computed for another snapshot.
func (h *historyReader) cached(rec record) (release.Revision, bool) {
	f, ok := h.cache.get(h.connection, rec)
	if !ok {
		return release.Revision{}, false
	}
	wanted := snapshotOf(f.revision.Name, f.revision.Namespace, f.revision.Version, h.recorded)
	if wanted != nil && wanted.APIVersion == helmv2.SnapshotAPIVersionV2 && f.reference != referenceOf(wanted, &f.revision) {
		return release.Revision{}, false
	}
	return f.revision, true
}

// read reads a revision and adds it to the read cache.
func (h *historyReader) read(rec record) (release.Revision, error) {
	c, err := h.content(h.ctx, rec.Name)
	if err != nil {
		return release.Revision{}, err
	}
	found, _ := recordOf(c.secret)
	f := c.revision(h.recorded)
	h.cache.put(h.connection, found, f)
	h.cache.putSecret(h.connection, h.namespace, c.secret)
	return f.revision, nil
}
