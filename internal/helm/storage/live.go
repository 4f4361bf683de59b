// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"maps"
	"slices"

	helmrelease "helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// Live is a revision as the API server has it.
type Live struct {
	// Newest is the metadata of the newest revision; nil if there is none.
	Newest *release.Revision
	// Release is the requested revision; nil if there is none.
	Release *helmrelease.Release
	// Revision is derived from the content of Release, Labelled from its labels.
	Revision, Labelled release.Revision
}

// ReadLive reads a revision of a release without index and read cache, so that the identity of
// the getter needs permission to read it. Version 0 stands for the deployed revision; with a
// version below 0 only Newest is returned. The digests can be compared with those in recorded.
func (s *Store) ReadLive(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, version int, recorded helmv2.Snapshots) (Live, error) {
	a, err := s.access(getter, target)
	if err != nil {
		return Live{}, err
	}
	all, _, err := a.metadata(ctx)
	if err != nil {
		return Live{}, err
	}
	var live Live
	if len(all) > 0 {
		newest := all[0].revision()
		live.Newest = &newest
	}
	if rec := requested(all, version); rec != nil {
		err = live.read(ctx, a, rec.Name, recorded)
	}
	return live, err
}

// ReadOne reads a revision of a release with one request, by the name of its record. Newest is not
// set, and the seal is not verified.
func ReadOne(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, version int) (Live, error) {
	a, err := liveAccess(getter, target.StorageNamespace, target.Name)
	if err != nil {
		return Live{}, err
	}
	var live Live
	err = live.read(ctx, a, Key(target.Name, version), nil)
	return live, err
}

// read reads a record, if it exists.
func (l *Live) read(ctx context.Context, a access, name string, recorded helmv2.Snapshots) error {
	c, err := a.content(ctx, name)
	if err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	found, _ := recordOf(c.secret)
	l.Release, l.Revision, l.Labelled = c.release, c.revision(recorded).revision, found.revision()
	return nil
}

// requested returns the record of a revision, or of the newest deployed one for version 0; nil
// if there is none.
func requested(all []record, version int) *record {
	i := slices.IndexFunc(all, func(r record) bool {
		return r.version() == version || version == 0 && r.status() == helmrelease.StatusDeployed
	})
	if i < 0 || version < 0 {
		return nil
	}
	return &all[i]
}

// Manifest is the manifest of a stored revision.
type Manifest struct {
	// Namespace is that of the release.
	Namespace string
	Version   int
	Text      string
}

// EachManifest reads the current revisions of a release from the API server and calls do for
// the manifest of each. An error of do ends the reading. If a revision is deleted in the
// meantime, all are read once more.
func EachManifest(ctx context.Context, getter genericclioptions.RESTClientGetter, namespace, name string, do func(Manifest) error) error {
	a, err := liveAccess(getter, namespace, name)
	if err != nil {
		return err
	}
	err = a.eachManifest(ctx, do)
	if apierrors.IsNotFound(err) {
		// Another revision is the newest now.
		err = a.eachManifest(ctx, do)
	}
	return err
}

func (a *access) eachManifest(ctx context.Context, do func(Manifest) error) error {
	all, _, err := a.metadata(ctx)
	if err != nil {
		return err
	}
	for _, rec := range currentRecords(all) {
		c, err := a.content(ctx, rec.Name)
		if err != nil {
			return err
		}
		if err := do(manifestOf(c.release)); err != nil {
			return err
		}
	}
	return nil
}

// currentRecords returns the newest record of a release and the deployed ones: the objects that
// an upgrade drops exist until it has ended. It returns none if the newest revision is
// uninstalled, because the others are history that was kept.
func currentRecords(all []record) []record {
	if len(all) > 0 && all[0].status() == helmrelease.StatusUninstalled {
		return nil
	}
	var some []record
	for i, rec := range all {
		if i == 0 || rec.status() == helmrelease.StatusDeployed {
			some = append(some, rec)
		}
	}
	return some
}

// Stray returns a release in the storage of a namespace whose newest revision was created by
// the HelmRelease with the given UID, under any name, with its revisions, newest first; nil if
// there is none. It lists the records at the API server once. Only a record with a seal is that of
// the HelmRelease.
func (s *Store) Stray(ctx context.Context, getter genericclioptions.RESTClientGetter, namespace, uid string) (*release.Target, []release.Revision, error) {
	api, err := secretsOf(getter, namespace)
	if err != nil {
		return nil, nil, err
	}
	all, _, err := api.list(ctx, labels.Set{"owner": "helm"})
	if err != nil {
		return nil, nil, fmt.Errorf("list Secrets in namespace %s: %w", namespace, err)
	}
	newest := map[string]release.Revision{}
	for i := range all {
		next := all[i].revision()
		if last, found := newest[next.Name]; !found || next.Version > last.Version {
			newest[next.Name] = next
		}
	}
	for _, name := range slices.Sorted(maps.Keys(newest)) {
		if found := newest[name]; !release.Stray(&found, uid) {
			continue
		}
		target := release.Target{Name: name, StorageNamespace: namespace}
		a, err := s.access(getter, target)
		if err != nil {
			return nil, nil, err
		}
		// The index may be stale.
		a.index = nil
		reader := historyReader{access: a, ctx: ctx}
		stored, err := reader.revisions()
		if err != nil {
			return nil, nil, fmt.Errorf("history of release %s in namespace %s: %w", name, namespace, err)
		}
		if len(stored) > 0 && stored[0].Sealed && release.Stray(&stored[0], uid) {
			target.Namespace = stored[0].Namespace
			return &target, stored, nil
		}
	}
	return nil, nil, nil
}
