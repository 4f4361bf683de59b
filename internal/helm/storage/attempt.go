// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"strings"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/pintle-dev/pintle/internal/release"
)

// Attempt returns the ID of the attempt that the driver works on; empty if it has begun none.
func (d *Driver) Attempt() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.attempt
}

// AttemptPrefix returns the beginning of the IDs of the attempts on a revision that the HelmRelease
// with the given UID has created.
func AttemptPrefix(uid string, version int) string { return revisionLabel(uid, version) + "." }

// newAttempt begins an attempt on a revision; nil if the action has none. Staging the same revision
// again does not change the ID. The caller holds the lock.
func (d *Driver) newAttempt(version int) *release.Attempt {
	a := d.options.Attempt
	if a.Action == "" {
		return nil
	}
	if prefix := AttemptPrefix(d.options.UID, version); !strings.HasPrefix(d.attempt, prefix) {
		d.attempt = prefix + rand.String(idSuffix)
	}
	a.ID, a.Run = d.attempt, 1
	return &a
}

// idSuffix is the length of the random part of an attempt's ID. It differs for a revision of the
// same number that is installed after an uninstall.
const idSuffix = 8

// Skip makes the attempt on the new revision contain the hook that it leaves out. It must be called
// before the revision is staged.
func (d *Driver) Skip(skip release.Skip) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.options.Attempt.Skipped = &skip
}

// Replace makes the attempt on the new revision contain the objects that are deleted and created anew. It
// must be called before the revision is staged.
func (d *Driver) Replace(all []release.Replaced) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.options.Attempt.Replaced = all
}

// AttemptOn returns the attempt in the record of a stored revision; nil if it has none. It reads
// the Secret unless this driver has read it.
func (d *Driver) AttemptOn(version int) (*release.Attempt, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, err := d.read(Key(d.release, version))
	if err != nil || known.kept.attempt == nil {
		return nil, err
	}
	a := *known.kept.attempt
	return &a, nil
}

// Begin makes later updates of a stored revision contain a new attempt, and returns it. The hook that
// the upgrade has left out stays in the record.
func (d *Driver) Begin(version int) (release.Attempt, error) {
	before, err := d.AttemptOn(version)
	if err != nil {
		return release.Attempt{}, err
	}
	d.mu.Lock()
	a := d.newAttempt(version)
	d.mu.Unlock()
	if before != nil {
		a.Skipped = before.Skipped
	}
	return *a, d.SetAttempt(version, *a)
}

// SetAttempt makes later updates of a stored revision contain an attempt.
func (d *Driver) SetAttempt(version int, a release.Attempt) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, err := d.read(Key(d.release, version))
	if err != nil {
		return err
	}
	known.kept.attempt = &a
	if decided := decisionsOf(d.options.Plan); decided != nil {
		known.kept.decided = decided
	}
	return nil
}

// Resume takes over the attempt on a stored revision. It updates the record before all else, so
// that an earlier process cannot write it any more, and returns the revision in full. The caller
// may change it. It is an error if the record has no attempt of the driver's action.
func (d *Driver) Resume(version int) (*helmrelease.Release, release.Attempt, error) {
	key := Key(d.release, version)
	rls, err := d.Get(key)
	if err != nil {
		return nil, release.Attempt{}, fmt.Errorf("revision %d of release %s: %w", version, d.release, err)
	}
	a, err := d.AttemptOn(version)
	if err != nil {
		return nil, release.Attempt{}, err
	}
	if a == nil || a.Action != d.options.Attempt.Action {
		return nil, release.Attempt{}, fmt.Errorf("revision %d of release %s was not left by an interrupted %s", version, d.release, d.options.Attempt.Action)
	}
	a.Run++
	if err := d.SetAttempt(version, *a); err != nil {
		return nil, release.Attempt{}, err
	}
	d.mu.Lock()
	d.attempt = a.ID
	if rls.Info.Status.IsPending() {
		d.created = version
	}
	d.mu.Unlock()
	return rls, *a, d.Update(key, rls)
}
