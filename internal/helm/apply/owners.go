// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/pintle-dev/pintle/internal/helm/kinds"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/release"
)

// OwnerCandidates finds the HelmReleases that may own objects of the Helm release that the
// ownership metadata of an object names, by their spec or their history. It returns the
// HelmReleases of the action's cluster, except the HelmRelease of the action itself. It may be
// called concurrently.
type OwnerCandidates func(ctx context.Context, metadata release.OwnershipMetadata) ([]release.OwnerCandidate, error)

// owners reads other releases, to find out whether they own the objects whose metadata name them.
// Each release is read once in an action, with the identity of the action.
type owners struct {
	getter genericclioptions.RESTClientGetter
	kinds  *kinds.Resolver
	// candidates, if set, finds the HelmReleases of a release.
	candidates OwnerCandidates

	mu    sync.Mutex
	known map[release.OwnershipMetadata]*owner
}

// releaseKey identifies a release.
type releaseKey struct{ namespace, name string }

// owner is another release.
type owner struct {
	candidates []release.OwnerCandidate
	// stored is true if the newest revision is not uninstalled. objects are the objects of the
	// newest and of the deployed revision.
	stored  bool
	objects map[objectKey]bool
	// unread describes the part that could not be read, empty if there is none.
	unread string
}

// facts returns the facts that decide whether the release owns an object.
func (o *owner) facts(object objectKey) release.Owner {
	near := slices.ContainsFunc(o.candidates, func(c release.OwnerCandidate) bool { return c.Near })
	return release.Owner{Stored: o.stored, HasObject: o.objects[object], Requested: near, Unread: o.unread != ""}
}

// get returns the release that ownership metadata names, as far as the HelmRelease that it names may
// own objects.
func (s *owners) get(ctx context.Context, metadata release.OwnershipMetadata) *owner {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := releaseKey{metadata.Namespace, metadata.Name}
	if o, ok := s.known[metadata]; ok {
		return o
	}
	o := &owner{objects: map[objectKey]bool{}}
	if s.known == nil {
		s.known = map[release.OwnershipMetadata]*owner{}
	}
	s.known[metadata] = o
	if s.candidates != nil {
		var err error
		if o.candidates, err = s.candidates(ctx, metadata); err != nil {
			o.unread = "whether a HelmRelease asks for it cannot be found out"
		}
	}
	namespaces := []string{metadata.Namespace}
	for _, c := range o.candidates {
		namespaces = append(namespaces, c.StorageNamespaces...)
	}
	slices.Sort(namespaces)
	for _, namespace := range slices.Compact(namespaces) {
		err := s.read(ctx, o, key, namespace)
		switch {
		case err == nil:
		case namespace == metadata.Namespace:
			o.unread = fmt.Sprintf("whether it is there, and what it has, cannot be read: %s", err)
		case o.unread == "":
			// The message does not contain the storage namespaces of other HelmReleases.
			o.unread = "whether it is there, and what it has, cannot be read"
		}
	}
	return o
}

// read adds to o the objects of the current revisions of a release in a storage namespace.
func (s *owners) read(ctx context.Context, o *owner, key releaseKey, namespace string) error {
	return storage.EachManifest(ctx, s.getter, namespace, key.name, func(m storage.Manifest) error {
		if m.Namespace != key.namespace {
			// The records are of a release of the same name in another namespace.
			return nil
		}
		o.stored = true
		if err := s.addObjects(o, m); err != nil {
			return fmt.Errorf("objects of revision %d: %w", m.Version, err)
		}
		return nil
	})
}

// addObjects adds the objects of a stored revision. Objects of kinds that are gone do not exist.
func (s *owners) addObjects(o *owner, m storage.Manifest) error {
	objects := &builder{getter: s.getter, namespace: m.Namespace, kinds: s.kinds}
	list, err := objects.build(strings.NewReader(m.Text), stored)
	for _, info := range list {
		o.objects[keyOf(info)] = true
	}
	return err
}
