// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"io"
	"maps"
	"strconv"
	"strings"
	"sync"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// recorder is a storage driver that stamps the revisions it creates and
// remembers what storage really took, which is the only account of an action
// that holds even if the action fails later.
type recorder struct {
	driver.Driver
	uid string
	// interrupted reports whether a revision that fails now was cut off.
	interrupted func() bool
	redact      redactor

	mu     sync.Mutex
	stored map[int]release.Revision
	newest *helmrelease.Release
}

// Create stamps and stores a new revision.
func (d *recorder) Create(key string, rls *helmrelease.Release) error {
	// Helm hands the labels of the previous revision on in the same map.
	labels := maps.Clone(rls.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[helmv2.LabelRevision] = stamp(d.uid, rls.Version)
	delete(labels, helmv2.LabelInterrupted)
	rls.Labels = labels
	if err := d.Driver.Create(key, rls); err != nil {
		return err
	}
	d.remember(rls)
	return nil
}

// Update stores a revision that exists already.
func (d *recorder) Update(key string, rls *helmrelease.Release) error {
	if rls.Info.Status == helmrelease.StatusFailed && d.interrupted() {
		rls.Labels = maps.Clone(rls.Labels)
		if rls.Labels == nil {
			rls.Labels = map[string]string{}
		}
		rls.Labels[helmv2.LabelInterrupted] = "true"
	}
	// The description of a failure becomes a condition when the failure is found
	// by a process that did not see it.
	rls.Info.Description = d.redact.text(rls.Info.Description)
	if err := d.Driver.Update(key, rls); err != nil {
		return err
	}
	d.remember(rls)
	return nil
}

// Delete removes a revision, which then is no longer part of what is stored.
func (d *recorder) Delete(key string) (*helmrelease.Release, error) {
	rls, err := d.Driver.Delete(key)
	if err == nil {
		d.mu.Lock()
		delete(d.stored, rls.Version)
		d.mu.Unlock()
	}
	return rls, err
}

func (d *recorder) remember(rls *helmrelease.Release) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stored == nil {
		d.stored = map[int]release.Revision{}
	}
	d.stored[rls.Version] = toRevision(rls)
	if d.newest == nil || rls.Version >= d.newest.Version {
		d.newest = rls
	}
}

// newestManifest returns the manifest of the newest revision that was stored.
func (d *recorder) newestManifest() (io.Reader, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.newest == nil {
		return nil, false
	}
	return strings.NewReader(d.newest.Manifest), true
}

// revisions returns what was stored, newest first.
func (d *recorder) revisions() []release.Revision {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []release.Revision
	for _, r := range d.stored {
		all = append(all, r)
	}
	release.SortNewestFirst(all)
	return all
}

// stamp is the value of the own-revision label.
func stamp(uid string, version int) string { return uid + "." + strconv.Itoa(version) }

// owner returns the UID a revision was stamped with, empty if the stamp was
// copied from another revision.
func owner(labels map[string]string, version int) string {
	uid, n, ok := strings.Cut(labels[helmv2.LabelRevision], ".")
	if !ok || n != strconv.Itoa(version) {
		return ""
	}
	return uid
}
