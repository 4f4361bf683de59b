// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	helmrelease "helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/pintle-dev/pintle/internal/release"
)

// bearers finds out about other releases what decides whether an object that bears
// their marks is theirs. Each is looked up once in a job, as who the job acts as.
type bearers struct {
	getter genericclioptions.RESTClientGetter

	mu    sync.Mutex
	known map[releaseKey]*bearer
}

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
	storage := []string{marks.Namespace}
	for _, c := range b.claimants {
		storage = append(storage, c.StorageNamespaces...)
	}
	slices.Sort(storage)
	for _, namespace := range slices.Compact(storage) {
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

// read adds to b what the storage in a namespace has of a release.
func (s *bearers) read(ctx context.Context, b *bearer, key releaseKey, namespace string) error {
	api, err := secretsOf(s.getter, namespace)
	if err != nil {
		return err
	}
	err = s.readRecords(ctx, b, key, namespace, api)
	if apierrors.IsNotFound(err) {
		// Something was deleted in between: another revision is the newest by now.
		err = s.readRecords(ctx, b, key, namespace, api)
	}
	return err
}

func (s *bearers) readRecords(ctx context.Context, b *bearer, key releaseKey, namespace string, api secretReader) error {
	all, _, err := api.list(ctx, records(key.name))
	if err != nil {
		return err
	}
	for _, rec := range living(all) {
		secret, err := api.get(ctx, rec.Name)
		if err != nil {
			return err
		}
		raw, err := unpack(secret.Data[dataKey])
		if err != nil {
			return unreadable(namespace, rec.Name, err)
		}
		stored, err := parseRecord(raw)
		if err != nil {
			return unreadable(namespace, rec.Name, err)
		}
		if stored.Namespace != key.namespace {
			// The records are of a release of the same name that is somewhere else.
			continue
		}
		b.stored = true
		if err := s.hold(b, stored); err != nil {
			return fmt.Errorf("objects of revision %d: %w", stored.Version, err)
		}
	}
	return nil
}

// living returns of the records of a release the newest, and those that are deployed:
// until an upgrade has ended, what it drops is there. It returns none if the newest
// is uninstalled: the others are history that was kept.
func living(all []Record) []Record {
	newestFirst(all)
	if len(all) > 0 && all[0].status() == helmrelease.StatusUninstalled {
		return nil
	}
	var some []Record
	for i, rec := range all {
		if i == 0 || rec.status() == helmrelease.StatusDeployed {
			some = append(some, rec)
		}
	}
	return some
}

// hold adds the objects of a stored revision. Kinds that are not there any more are
// those of no object.
func (s *bearers) hold(b *bearer, stored *record) error {
	objects := &builder{getter: s.getter, namespace: stored.Namespace}
	list, err := objects.build(strings.NewReader(stored.Manifest))
	for _, info := range list {
		b.holds[keyOfInfo(info)] = true
	}
	if err != nil && strings.Contains(err.Error(), "resource mapping not found") {
		return nil
	}
	return err
}
