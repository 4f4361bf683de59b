// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

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

// History returns the revisions of a release in Helm storage, newest first, and
// none if there is no such release. Those that recorded holds a snapshot of the
// reference for get its digest computed anew. One record that cannot be read
// fails the whole: nobody knows what it would have said.
//
// It reads only what it has not read before, and of the older revisions only
// those that a decision can depend on; the others come as Unread.
func (r *Runner) History(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, recorded helmv2.Snapshots) ([]release.Revision, error) {
	h, err := r.reader(ctx, getter, target, recorded)
	if err != nil {
		return nil, err
	}
	return h.history()
}

// LiveHistory returns what History returns, and has the API server list the revisions. A
// decision that a release does not exist must not rest on the index, which may be behind.
func (r *Runner) LiveHistory(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, recorded helmv2.Snapshots) ([]release.Revision, error) {
	h, err := r.reader(ctx, getter, target, recorded)
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
	memo  *memo
	index *Index
	way   string
	// ours is true if the index was made by whoever reads.
	ours bool
	// live is true if the API server is asked which revisions there are, and not the index.
	live     bool
	target   release.Target
	recorded helmv2.Snapshots
}

func (r *Runner) reader(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, recorded helmv2.Snapshots) (*historyReader, error) {
	api, err := secretsOf(getter, target.StorageNamespace)
	if err != nil {
		return nil, err
	}
	h := &historyReader{ctx: ctx, api: api, memo: &r.memo, target: target, recorded: recorded}
	var local bool
	if h.way, local, h.ours = wayOf(getter); local {
		h.index = r.index
	}
	return h, nil
}

func (h *historyReader) history() ([]release.Revision, error) {
	all, err := h.revisions()
	if apierrors.IsNotFound(err) {
		// Something was deleted in between, or the index is behind.
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
		known, ok := h.recall(rec)
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

// records returns what there is of the release, newest first. The index may be
// behind what another process did: it is believed only if it fits what is
// recorded.
func (h *historyReader) records() ([]Record, error) {
	if all, ok := h.index.records(h.target.StorageNamespace, h.target.Name); ok && !h.live && h.agrees(all) {
		return all, nil
	}
	all, at, err := h.api.list(h.ctx, records(h.target.Name))
	if err != nil {
		return nil, fmt.Errorf("list Secrets in namespace %s: %w", h.target.StorageNamespace, err)
	}
	h.index.learned(h.target.StorageNamespace, h.target.Name, all, at)
	newestFirst(all)
	return all, nil
}

// agrees reports whether records, newest first, can be all there is of a release
// that is recorded as it is.
func (h *historyReader) agrees(all []Record) bool {
	last := release.Latest(h.recorded)
	switch {
	case len(all) == 0 && last == nil:
		// What is not there cannot be forbidden to be read: whether the release may be
		// looked for has to be asked, unless it is known from making the index. If
		// somebody else makes the first revision meanwhile, ours will be refused.
		return h.ours
	case len(all) == 0:
		return last.Status == helmv2.StatusUninstalled
	case last == nil:
		return false
	}
	return all[0].version() == last.Version
}

// recall returns what was read of a revision earlier.
func (h *historyReader) recall(rec Record) (release.Revision, bool) {
	f, ok := h.memo.recall(h.way, rec)
	if !ok {
		return release.Revision{}, false
	}
	wanted := snapshotOf(f.revision.Name, f.revision.Namespace, f.revision.Version, h.recorded)
	if wanted != nil && wanted.APIVersion == helmv2.SnapshotAPIVersionV2 && f.reference != referenceOf(wanted) {
		return release.Revision{}, false
	}
	return f.revision, true
}

// read reads a revision and remembers it.
func (h *historyReader) read(rec Record) (release.Revision, error) {
	secret, err := h.api.get(h.ctx, rec.Name)
	if err != nil {
		return release.Revision{}, fmt.Errorf("read Secret %s/%s: %w", h.target.StorageNamespace, rec.Name, err)
	}
	f, err := readRevision(secret, h.recorded)
	if err != nil {
		return release.Revision{}, unreadable(h.target.StorageNamespace, secret.Name, err)
	}
	found, _ := recordOf(secret)
	h.memo.note(h.way, found, f)
	h.memo.keep(h.way, h.target.StorageNamespace, secret)
	return f.revision, nil
}

func readRevision(secret *corev1.Secret, recorded helmv2.Snapshots) (fact, error) {
	f, _, err := readRelease(secret, recorded)
	return f, err
}

// readRelease returns a revision, and the release that it was reduced from, without the files
// of the chart.
func readRelease(secret *corev1.Secret, recorded helmv2.Snapshots) (fact, *helmrelease.Release, error) {
	raw, err := unpack(secret.Data[dataKey])
	if err != nil {
		return fact{}, nil, err
	}
	rec, err := parseRecord(raw)
	if err != nil {
		return fact{}, nil, err
	}
	rls, err := rec.release(secret.Labels)
	if err != nil {
		return fact{}, nil, err
	}
	f := fact{revision: toRevision(rls), method: rec.ApplyMethod.String()}
	if s := snapshotOf(rls.Name, rls.Namespace, rls.Version, recorded); s != nil {
		f.reference, f.revision.HelmControllerDigest = referenceOf(s), referenceDigest(rec, s)
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

// toRevision reduces a Helm release to what the other rooms need, all but
// ReferenceDigest. It is the one place where Helm's notion of a release becomes
// ours.
func toRevision(rls *helmrelease.Release) release.Revision {
	rev := release.Revision{
		Name: rls.Name, Namespace: rls.Namespace, Version: rls.Version,
		Owner:        owner(rls.Labels, rls.Version),
		Digest:       observationDigest(rls),
		Interrupted:  rls.Labels[helmv2.LabelInterrupted] == "true",
		Outdated:     rls.Labels[helmv2.LabelOutdated] == "true",
		Applied:      applied(rls.Labels, rls.Version),
		Rollback:     rolledBack(rls.Labels, rls.Version),
		PostInstall:  hasHook(rls, helmrelease.HookPostInstall),
		PostUpgrade:  hasHook(rls, helmrelease.HookPostUpgrade),
		PostRollback: hasHook(rls, helmrelease.HookPostRollback),
		Tests:        testsOf(rls),
		Modified:     modified(rls.Labels),
	}
	if i := rls.Info; i != nil {
		rev.Status = helmv2.ReleaseStatus(i.Status)
		rev.Description = i.Description
		rev.FirstDeployed, rev.LastDeployed, rev.Deleted = i.FirstDeployed.Time, i.LastDeployed.Time, i.Deleted.Time
	}
	if c := rls.Chart; c != nil && c.Metadata != nil {
		rev.ChartName, rev.ChartVersion, rev.AppVersion = c.Metadata.Name, c.Metadata.Version, c.Metadata.AppVersion
	}
	// Values that were stored came from JSON, so they can become JSON again.
	rev.ConfigDigest, _ = values.Digest(rls.Config)
	return rev
}

func hasHook(rls *helmrelease.Release, event helmrelease.HookEvent) bool {
	return slices.ContainsFunc(rls.Hooks, func(h *helmrelease.Hook) bool { return slices.Contains(h.Events, event) })
}

// hookTestSuccess is what a test was called in Helm 2, whose charts are still
// about. Helm 3 writes "test" for it; others may not.
const hookTestSuccess helmrelease.HookEvent = "test-success"

// testsOf returns the tests of a release with their last run, nil if it has none.
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
