// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"
	"slices"

	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/release"
)

// History returns the revisions of a release in Helm storage, newest first, and
// none if there is no such release. Those that recorded holds a snapshot of the
// reference for get its digest computed anew. One record that cannot be read
// fails the whole: nobody knows what it would have said.
func (r *Runner) History(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, recorded helmv2.Snapshots) ([]release.Revision, error) {
	config, err := getter.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	clients, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client for Helm storage: %w", err)
	}
	secrets, err := listRecords(ctx, clients.Secrets(target.StorageNamespace), target.StorageNamespace,
		map[string]string{"name": target.Name, "owner": "helm"})
	if err != nil {
		return nil, fmt.Errorf("history of release %s in namespace %s: %w", target.Name, target.StorageNamespace, err)
	}
	var all []release.Revision
	for i := range secrets {
		rev, err := readRevision(&secrets[i], recorded)
		if err != nil {
			return nil, fmt.Errorf("history of release %s in namespace %s: %w", target.Name, target.StorageNamespace,
				unreadable(target.StorageNamespace, secrets[i].Name, err))
		}
		all = append(all, rev)
	}
	release.SortNewestFirst(all)
	return all, nil
}

func readRevision(secret *corev1.Secret, recorded helmv2.Snapshots) (release.Revision, error) {
	raw, err := unpack(secret.Data[dataKey])
	if err != nil {
		return release.Revision{}, err
	}
	rec, err := parseRecord(raw)
	if err != nil {
		return release.Revision{}, err
	}
	rls, err := rec.release(secret.Labels)
	if err != nil {
		return release.Revision{}, err
	}
	rev := toRevision(rls)
	if s := snapshotOf(rls, recorded); s != nil {
		rev.ReferenceDigest = referenceDigest(rec, s)
	}
	return rev, nil
}

// snapshotOf returns the snapshot of a release, nil if there is none.
func snapshotOf(rls *helmrelease.Release, recorded helmv2.Snapshots) *helmv2.Snapshot {
	for _, s := range recorded {
		if s != nil && s.Name == rls.Name && s.Namespace == rls.Namespace && s.Version == rls.Version {
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
		Superseded:   rls.Labels[helmv2.LabelSuperseded] == "true",
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
	rev.ConfigDigest, _ = chart.ConfigDigest(rls.Config)
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
