// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/bounded"
	"github.com/pintle-dev/pintle/internal/helm/apply"
	"github.com/pintle-dev/pintle/internal/helm/planning"
	"github.com/pintle-dev/pintle/internal/helm/redact"
	"github.com/pintle-dev/pintle/internal/helm/revision"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/hookjob"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/values"
)

// History returns the revisions of a release, newest first; see storage.Store.History.
func (r *Runner) History(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, recorded helmv2.Snapshots) ([]release.Revision, error) {
	return r.storage.History(ctx, getter, target, recorded)
}

// LiveHistory is History with a list from the API server; see storage.Store.LiveHistory.
func (r *Runner) LiveHistory(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, recorded helmv2.Snapshots) ([]release.Revision, error) {
	return r.storage.LiveHistory(ctx, getter, target, recorded)
}

// Stray returns a release that a HelmRelease created under another name; see
// storage.Store.Stray.
func (r *Runner) Stray(ctx context.Context, getter genericclioptions.RESTClientGetter, namespace, uid string) (*release.Target, []release.Revision, error) {
	return r.storage.Stray(ctx, getter, namespace, uid)
}

// Revision returns a stored revision as the API server has it; nil if there is none.
func (r *Runner) Revision(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, version int, recorded helmv2.Snapshots) (*release.Revision, error) {
	live, err := r.storage.ReadLive(ctx, getter, target, version, recorded)
	if err != nil || live.Release == nil {
		return nil, err
	}
	found, labelled := live.Revision, live.Labelled
	if found.Name != labelled.Name || found.Version != labelled.Version || found.Status != labelled.Status {
		// No client of Helm writes such a record.
		found = labelled
		found.Unread, found.Namespace, found.Altered = false, target.Namespace, true
	}
	return &found, nil
}

// CacheStats returns the number of revisions in the read cache and their approximate size in
// bytes.
func (r *Runner) CacheStats() (revisions int, bytes int64) { return r.storage.CacheStats() }

// ReadRequest identifies a stored revision whose objects are read.
type ReadRequest struct {
	Target  release.Target
	Version int
	// Spec and Defaults define the readiness checks.
	Spec     helmv2.HelmReleaseSpec
	Defaults helmv2.Defaults
	// Origin is the HelmRelease. UID is its UID, and History its history: a revision that these do not
	// prove is not read. Without a UID, any revision is.
	Origin  Origin
	UID     string
	History helmv2.Snapshots
	// Secrets are texts that are removed from errors and logs.
	Secrets []string
}

// read returns a stored revision, and a client for its objects. A manifest does not change, so that
// it may come from the read cache.
func (r *Runner) read(ctx context.Context, getter genericclioptions.RESTClientGetter, q ReadRequest) (*apply.Client, *helmrelease.Release, error) {
	store, err := r.storage.Open(ctx, getter, q.Target, storage.Options{ReadCache: true, UID: q.UID, History: q.History})
	if err != nil {
		return nil, nil, err
	}
	waits, err := waitOptions(q.Spec, q.Defaults)
	if err != nil {
		return nil, nil, err
	}
	redactor := redact.New(q.Secrets)
	f := &findings{redact: redactor, given: q.Secrets}
	waits.Getter, waits.Watches, waits.Secrets, waits.Now = sharedConnection(getter), &r.watches, f.secrets, r.now
	client, err := apply.New(ctx, apply.Options{
		Getter: getter, Log: redact.NewLog(logr.FromContextOrDiscard(ctx), r.now, redactor).Printf, Target: q.Target, Origin: q.Origin,
		Waits: waits, Reservations: &r.reservations, Record: record{Driver: store, hooks: &revision.Hooks{}}, Findings: f,
		Stored: apply.AllStored,
	})
	if err != nil {
		return nil, nil, err
	}
	rls, err := store.Revision(q.Version)
	if err != nil {
		return nil, nil, fmt.Errorf("revision %d of release %s: %w", q.Version, q.Target.Name, err)
	}
	if q.UID != "" && !store.Proven(q.Version) {
		return nil, nil, fmt.Errorf("another client wrote the record of revision %d of release %s", q.Version, q.Target.Name)
	}
	return client, rls, nil
}

// Health reads the objects of a revision once, hooks excluded, and returns whether they are ready.
// It uses the readiness checks of the revision's action. Health writes nothing.
func (r *Runner) Health(ctx context.Context, getter genericclioptions.RESTClientGetter, q ReadRequest) (release.Health, error) {
	client, rls, err := r.read(ctx, getter, q)
	if err != nil {
		return release.Health{}, err
	}
	list, err := client.Build(strings.NewReader(rls.Manifest), false)
	if err != nil {
		return release.Health{}, fmt.Errorf("objects of revision %d of release %s: %w", q.Version, rls.Name, err)
	}
	return client.Waiter.Health(list, waitsForJobs(q.Spec, storage.ActionOf(rls)))
}

// Objects returns the objects of a stored revision, hooks excluded, in the order and in the form in
// which they are applied. skipped are the objects that the API server would not accept, because it
// no longer serves their kinds. It returns an error together with the objects that could be read.
func (r *Runner) Objects(ctx context.Context, getter genericclioptions.RESTClientGetter, q ReadRequest) (list []*resource.Info, skipped []release.Object, err error) {
	client, rls, err := r.read(ctx, getter, q)
	if err != nil {
		return nil, nil, err
	}
	list, err = client.Objects(rls.Manifest, release.Target{Name: rls.Name, Namespace: rls.Namespace})
	if err != nil {
		err = redact.New(q.Secrets).Error(fmt.Errorf("objects of revision %d of release %s: %w", q.Version, rls.Name, err))
	}
	return list, client.Skipped.List(), err
}

// Inventory returns the objects of a stored revision, hooks excluded, and those in the crds folders
// of its chart.
func (r *Runner) Inventory(ctx context.Context, getter genericclioptions.RESTClientGetter, q ReadRequest) ([]release.Object, error) {
	client, rls, err := r.read(ctx, getter, q)
	if err != nil {
		return nil, err
	}
	if rls.Chart != nil {
		if err := client.CRDs.Read(rls.Chart.CRDObjects()); err != nil {
			return nil, err
		}
	}
	all, err := client.Inventory(rls.Manifest)
	if err != nil {
		return nil, fmt.Errorf("objects of revision %d of release %s: %w", q.Version, rls.Name, err)
	}
	return all, nil
}

// PreservedDigest returns the digest of the values that an upgrade to vals would store if it
// preserves the values of the release. One of the observed revisions is read again. It does not
// change vals.
func (r *Runner) PreservedDigest(ctx context.Context, getter genericclioptions.RESTClientGetter, in release.Input, vals map[string]any) (string, error) {
	target, stored := release.ObservedTarget(in), in.Observed.Revisions
	if len(stored) == 0 {
		return values.Digest(vals)
	}
	store, err := r.storage.Open(ctx, getter, target, storage.Options{ReadCache: true, UID: in.Desired.UID, History: in.Recorded.History})
	if err != nil {
		return "", err
	}
	deployed := slices.IndexFunc(stored, func(r release.Revision) bool { return r.Status == helmv2.StatusDeployed })
	version := stored[max(deployed, 0)].Version
	base, err := store.Revision(version)
	if err != nil {
		return "", fmt.Errorf("values of revision %d of release %s in namespace %s: %w", version, target.Name, target.StorageNamespace, err)
	}
	if !store.Proven(version) {
		return "", errNotPreserved(base)
	}
	return values.Digest(values.Preserve(base.Config, vals))
}

// NextHooks reads the hooks that the next upgrade runs according to its plan, from the Secret of the
// plan, with the identity of the connection. Other clients may have written that Secret: the error is
// release.ErrPlanVoid unless its content has the given digest. The revision of the hooks is not known.
func (r *Runner) NextHooks(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, digest string) (Stored, error) {
	store, err := planning.Open(getter, target)
	if err != nil {
		return Stored{}, err
	}
	content, err := store.Read(ctx, digest)
	if err != nil {
		return Stored{}, err
	}
	if content.Text == nil {
		return Stored{}, fmt.Errorf("%w: it has no hooks", release.ErrPlanVoid)
	}
	next := &helmrelease.Release{Name: target.Name, Namespace: target.Namespace, Manifest: content.Text.Manifest, Hooks: content.Text.Hooks}
	secrets := redact.SecretsOf(next)
	s := Stored{Release: hooksOf(next), Secrets: secrets.Values, SecretNames: secrets.Names}
	s.Release.Next = true
	return s, nil
}

// Stored is the content of Helm's storage that an Operation needs to run a hook.
type Stored struct {
	// Pending describes the action that runs on the newest revision; empty if there is none.
	Pending string
	// Newest is the number of the newest revision; 0 if there is none.
	Newest int
	// Release is the requested revision; nil if there is none.
	Release *hookjob.Release
	// Revision is the content of the record of Release, and Labelled the content of its labels.
	Revision, Labelled release.Revision
	// Secrets are the values in the Secrets of the revision, hooks included. SecretNames are the
	// names of the Secrets in its namespace.
	Secrets     []string
	SecretNames []string
}

// Hooks reads a revision of a release, 0 being the deployed one. It reads from the API server with
// the identity of the connection, not from memory, so that the permissions of the identity apply.
// For a version below 0 it only returns whether the newest revision is pending. The digests of the
// revision can be compared with the digests in recorded.
func (r *Runner) Hooks(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, version int, recorded helmv2.Snapshots) (Stored, error) {
	live, err := r.storage.ReadLive(ctx, getter, target, version, recorded)
	if err != nil {
		return Stored{}, err
	}
	s := Stored{Pending: pending(live.Newest)}
	if live.Newest != nil {
		s.Newest = live.Newest.Version
	}
	if live.Release != nil {
		s.Revision, s.Labelled = live.Revision, live.Labelled
		secrets := redact.SecretsOf(live.Release)
		s.Release, s.Secrets, s.SecretNames = hooksOf(live.Release), secrets.Values, secrets.Names
	}
	return s, nil
}

// pending describes the action that runs on a release according to its newest revision; empty if
// there is none.
func pending(newest *release.Revision) string {
	if newest == nil || !newest.Pending() && newest.Status != helmv2.StatusUninstalling {
		return ""
	}
	return fmt.Sprintf("revision %d of the release is %s", newest.Version, newest.Status)
}

// hooksOf returns the hooks of a revision, and the objects whose selectors may match their Pods.
func hooksOf(rls *helmrelease.Release) *hookjob.Release {
	r := &hookjob.Release{Name: rls.Name, Namespace: rls.Namespace, Revision: rls.Version}
	for _, h := range rls.Hooks {
		hook := hookjob.Hook{Name: h.Name, Kind: h.Kind, Path: h.Path, Weight: h.Weight, Manifest: h.Manifest}
		for _, e := range h.Events {
			hook.Events = append(hook.Events, e.String())
		}
		for _, p := range h.DeletePolicies {
			hook.DeletePolicies = append(hook.DeletePolicies, p.String())
		}
		r.Hooks = append(r.Hooks, hook)
	}
	for _, text := range releaseutil.SplitManifests(rls.Manifest) {
		var o struct {
			Kind     string `json:"kind"`
			Metadata struct {
				Name      string `json:"name"`
				Namespace string `json:"namespace"`
			} `json:"metadata"`
		}
		// A document that cannot be parsed has not been applied.
		if bounded.Manifest().Unmarshal([]byte(text), &o) == nil && hookjob.Selects(o.Kind) {
			r.Selecting = append(r.Selecting, hookjob.Object{Kind: o.Kind, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, Manifest: text})
		}
	}
	return r
}
