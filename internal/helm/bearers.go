// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
)

// bearers finds out about other releases what decides whether an object that bears
// their marks is theirs. Each is looked up once in a job, as who the job acts as.
type bearers struct {
	getter genericclioptions.RESTClientGetter

	mu    sync.Mutex
	known map[releaseKey]*bearer
}

// releaseKey names a release.
type releaseKey struct{ namespace, name string }

// bearer is another release, as it was found.
type bearer struct {
	claimants []release.OwnerCandidate
	// stored is true if its newest revision is not uninstalled, and holds are the objects of those that count.
	stored bool
	holds  map[objectKey]bool
	// unread says what could not be read; empty if all could.
	unread string
}

func (b *bearer) found(object objectKey) release.Owner {
	return release.Owner{Stored: b.stored, HasObject: b.holds[object], Requested: len(b.claimants) > 0, Unread: b.unread != ""}
}

// of returns the release that marks name.
func (s *bearers) of(ctx context.Context, marks release.OwnershipMetadata, claimants Claimants) *bearer {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := releaseKey{marks.Namespace, marks.Name}
	if b, ok := s.known[key]; ok {
		return b
	}
	b := &bearer{holds: map[objectKey]bool{}}
	if s.known == nil {
		s.known = map[releaseKey]*bearer{}
	}
	s.known[key] = b
	if claimants != nil {
		var err error
		if b.claimants, err = claimants(ctx, marks); err != nil {
			b.unread = "whether a HelmRelease asks for it cannot be found out"
		}
	}
	places := []string{marks.Namespace}
	for _, c := range b.claimants {
		places = append(places, c.StorageNamespaces...)
	}
	slices.Sort(places)
	for _, namespace := range slices.Compact(places) {
		err := s.read(ctx, b, key, namespace)
		switch {
		case err == nil:
		case namespace == marks.Namespace:
			b.unread = fmt.Sprintf("whether it is there, and what it has, cannot be read: %s", err)
		case b.unread == "":
			// Where others keep their records is not said.
			b.unread = "whether it is there, and what it has, cannot be read"
		}
	}
	return b
}

// read adds to b the objects of the current revisions of a release in a storage namespace.
func (s *bearers) read(ctx context.Context, b *bearer, key releaseKey, namespace string) error {
	return storage.EachManifest(ctx, s.getter, namespace, key.name, func(m storage.Manifest) error {
		if m.Namespace != key.namespace {
			// The records are of a release of the same name in another namespace.
			return nil
		}
		b.stored = true
		if err := s.hold(b, m); err != nil {
			return fmt.Errorf("objects of revision %d: %w", m.Version, err)
		}
		return nil
	})
}

// hold adds the objects of a stored revision. Kinds that are not there any more are
// those of no object.
func (s *bearers) hold(b *bearer, m storage.Manifest) error {
	objects := &builder{getter: s.getter, namespace: m.Namespace}
	list, err := objects.build(strings.NewReader(m.Text))
	for _, info := range list {
		b.holds[keyOfInfo(info)] = true
	}
	if err != nil && strings.Contains(err.Error(), "resource mapping not found") {
		return nil
	}
	return err
}
