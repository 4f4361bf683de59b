// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"slices"

	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/values"
)

// History returns the revisions of a release, newest first, and none if there is no such
// release. The reference digest is computed for those that recorded has a snapshot of
// helm-controller for. A record that cannot be read is an error, because any revision could be
// in it.
//
// History reads only Secrets that the read cache does not have. Of the older revisions it reads
// those that a decision can depend on; the others are Unread.
func (s *Store) History(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, recorded helmv2.Snapshots) ([]release.Revision, error) {
	h, err := s.reader(ctx, getter, target, recorded)
	if err != nil {
		return nil, err
	}
	return h.history()
}

// LiveHistory is History with a list from the API server instead of the index. The decision
// that a release does not exist needs it, because the index may be stale.
func (s *Store) LiveHistory(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, recorded helmv2.Snapshots) ([]release.Revision, error) {
	h, err := s.reader(ctx, getter, target, recorded)
	if err != nil {
		return nil, err
	}
	h.live = true
	return h.history()
}

// historyReader reads the revisions of one release once.
type historyReader struct {
	ctx   context.Context //nolint:containedctx // lives as long as one call
	api   secretReader
	cache *readCache
	index *Index
	key   *SealKey
	// connection is the ID of the connection.
	connection string
	// ownIndex is true if the watch of the index has the same user as the connection.
	ownIndex bool
	// live is true if the records are listed at the API server.
	live     bool
	target   release.Target
	recorded helmv2.Snapshots
}

func (s *Store) reader(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, recorded helmv2.Snapshots) (*historyReader, error) {
	api, err := secretsOf(getter, target.StorageNamespace)
	if err != nil {
		return nil, err
	}
	h := &historyReader{ctx: ctx, api: api, cache: &s.cache, key: s.key, target: target, recorded: recorded}
	var local bool
	if h.connection, local, h.ownIndex = connectionOf(getter); local {
		h.index = s.index
	}
	return h, nil
}

func (h *historyReader) history() ([]release.Revision, error) {
	all, err := h.revisions()
	if apierrors.IsNotFound(err) {
		// A revision was deleted in the meantime, or the index is stale.
		h.live = true
		all, err = h.revisions()
	}
	if err != nil {
		return nil, fmt.Errorf("history of release %s in namespace %s: %w", h.target.Name, h.target.StorageNamespace, err)
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
	if all, ok := h.index.records(h.target.StorageNamespace, h.target.Name); ok && !h.live && h.agrees(all) {
		return all, nil
	}
	all, at, err := listRecords(h.ctx, h.api, h.target.StorageNamespace, h.target.Name)
	if err != nil {
		return nil, err
	}
	h.index.noteList(h.target.StorageNamespace, h.target.Name, all, at)
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
	secret, err := h.api.get(h.ctx, rec.Name)
	if err != nil {
		return release.Revision{}, fmt.Errorf("read Secret %s/%s: %w", h.target.StorageNamespace, rec.Name, err)
	}
	f, _, err := readRelease(secret, h.recorded)
	if err != nil {
		return release.Revision{}, unreadable(h.target.StorageNamespace, secret.Name, err)
	}
	f.revision.Sealed = h.key.verifies(h.target.StorageNamespace, secret)
	found, _ := recordOf(secret)
	h.cache.put(h.connection, found, f)
	h.cache.putSecret(h.connection, h.target.StorageNamespace, secret)
	return f.revision, nil
}

// readRelease returns the revision in a Secret, whose seal is not verified, and the release of Helm
// without the files of the chart.
func readRelease(secret *corev1.Secret, recorded helmv2.Snapshots) (cachedRevision, *helmrelease.Release, error) {
	raw, err := unpack(secret.Data[dataKey])
	if err != nil {
		return cachedRevision{}, nil, err
	}
	body, err := parseRecord(raw)
	if err != nil {
		return cachedRevision{}, nil, err
	}
	rls, err := body.release(secret.Labels)
	if err != nil {
		return cachedRevision{}, nil, err
	}
	f := cachedRevision{revision: toRevision(rls, secret.Annotations), method: body.ApplyMethod.String()}
	if s := snapshotOf(rls.Name, rls.Namespace, rls.Version, recorded); s != nil {
		f.reference, f.revision.HelmControllerDigest = referenceOf(s, &f.revision), referenceDigest(body, s)
	}
	return f, rls, nil
}

// snapshotOf returns the snapshot of a revision, nil if there is none.
func snapshotOf(name, namespace string, version int, recorded helmv2.Snapshots) *helmv2.Snapshot {
	for _, s := range recorded {
		if s != nil && s.Name == name && s.Namespace == namespace && s.Version == version {
			return s
		}
	}
	return nil
}

// toRevision converts a release of Helm and the annotations of its record, which may be nil, to a
// release.Revision without ReferenceDigest. All other packages use the result. Only a revision whose
// action goes on or has ended early has an attempt.
func toRevision(rls *helmrelease.Release, annotations map[string]string) release.Revision {
	attempt := attemptOf(annotations)
	rev := release.Revision{
		Name: rls.Name, Namespace: rls.Namespace, Version: rls.Version,
		Owner:        owner(rls.Labels, rls.Version),
		Digest:       observationDigest(rls),
		Interrupted:  rls.Labels[helmv2.LabelInterrupted] == "true",
		Outdated:     rls.Labels[helmv2.LabelOutdated] == "true",
		Applied:      applied(rls.Labels, rls.Version),
		Rollback:     rolledBack(rls.Labels, rls.Version),
		RolledBackTo: rolledBackTo(rls.Labels, rls.Version),
		Undeployed:   undeployed(rls.Labels, rls.Version) > 0,
		PostInstall:  hasHook(rls, helmrelease.HookPostInstall),
		PostUpgrade:  hasHook(rls, helmrelease.HookPostUpgrade),
		PostRollback: hasHook(rls, helmrelease.HookPostRollback),
		Tests:        testsOf(rls),
		Modified:     modified(rls.Labels),

		InstallHooksLeft: installHooksLeft(rls),
		SourceRevision:   annotations[helmv2.AnnotationSourceRevision],
	}
	if i := rls.Info; i != nil {
		rev.Status = helmv2.ReleaseStatus(i.Status)
		rev.Description = i.Description
		rev.FirstDeployed, rev.LastDeployed, rev.Deleted = i.FirstDeployed.Time, i.LastDeployed.Time, i.Deleted.Time
	}
	if rev.Status == helmv2.StatusSuperseded {
		rev.DeployedDigest = deployedDigest(rls)
	}
	if c := rls.Chart; c != nil && c.Metadata != nil {
		rev.ChartName, rev.ChartVersion, rev.AppVersion = c.Metadata.Name, c.Metadata.Version, c.Metadata.AppVersion
	}
	if rev.Pending() || rev.Status == helmv2.StatusUninstalling || rev.EndedEarly() {
		rev.Attempt = attempt
	}
	switch {
	case attempt == nil:
	case attempt.Action == helmv2.ActionTest:
		rev.TestRequest = attempt.Request
	case attempt.Action == helmv2.ActionInstall, attempt.Action == helmv2.ActionUpgrade, attempt.Action == helmv2.ActionRollback:
		rev.Plan = attempt.Plan
	}
	// Stored values came from JSON, so they can become JSON again.
	rev.ConfigDigest, _ = values.Digest(rls.Config)
	return rev
}

func hasHook(rls *helmrelease.Release, event helmrelease.HookEvent) bool {
	return slices.ContainsFunc(rls.Hooks, func(h *helmrelease.Hook) bool { return slices.Contains(h.Events, event) })
}

// installHooksLeft reports whether hooks of an install have not succeeded.
func installHooksLeft(rls *helmrelease.Release) bool {
	return slices.ContainsFunc(rls.Hooks, func(h *helmrelease.Hook) bool {
		installs := slices.Contains(h.Events, helmrelease.HookPreInstall) || slices.Contains(h.Events, helmrelease.HookPostInstall)
		return installs && h.LastRun.Phase != helmrelease.HookPhaseSucceeded
	})
}

// hookTestSuccess is the event of tests in charts for Helm 2. Helm 3 stores "test" for it; other
// tools may not.
const hookTestSuccess helmrelease.HookEvent = "test-success"

// testsOf returns the tests of a release with their last runs, nil if it has none.
func testsOf(rls *helmrelease.Release) map[string]release.TestRun {
	var tests map[string]release.TestRun
	for _, h := range rls.Hooks {
		if !isTestHook(h) && !slices.Contains(h.Events, hookTestSuccess) {
			continue
		}
		if tests == nil {
			tests = map[string]release.TestRun{}
		}
		tests[h.Name] = release.TestRun{
			Started: h.LastRun.StartedAt.Time, Completed: h.LastRun.CompletedAt.Time, Phase: helmv2.TestPhase(h.LastRun.Phase),
		}
	}
	return tests
}
