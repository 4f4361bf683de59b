// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"errors"
	"fmt"
	"slices"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/hookjob"
	"github.com/pintle-dev/pintle/internal/release"
)

// Checks are called when an action stores its new revision: after Helm has rendered and built
// everything, and before it changes any object. That is the time to choose the apply method, and to
// refuse the revision. Each may be nil.
type Checks struct {
	// Next is called with the new revision, and Read with the revisions that Helm reads.
	Next func(next *helmrelease.Release)
	Read func(all ...*helmrelease.Release)
	// Start is called with the newest revision when an uninstall begins or is resumed, before it changes
	// anything. It may refuse that.
	Start func(newest *helmrelease.Release) error
	// Choose is called with the number of the last revision.
	Choose func(last int)
	// Limit may refuse the new revision for the size of its record, and Check for other reasons.
	// Until both have passed, nothing is written except by Enter, which is called between them.
	Limit func(key string, next *helmrelease.Release) error
	Enter func() error
	Check func(next *helmrelease.Release) error
}

// Gate is the storage driver of one action of Helm.
type Gate struct {
	Store
	Checks
	// Hooks are the hooks of the revision that the action works on.
	Hooks *Hooks

	// Skips are the hooks that an upgrade may leave out.
	Skips []release.Skip

	// Newest is the number of the newest revision that Helm has read, 0 if none.
	Newest int
	// Namespace is that of the newest deployed revision that Helm has read, or else of the newest one;
	// empty if it has read none.
	Namespace string
	// Worked is true if a revision was read whose status is or was deployed.
	Worked bool
	// Refused is the reason why the new revision was refused; nil if it was not.
	Refused error

	release string
	action  release.HelmAction
	// current is the number of the revision whose namespace is Namespace, and deployed is true if it
	// is deployed.
	current  int
	deployed bool
	open     bool
	// delayed are the writes that Helm sends before it stores the new revision.
	delayed []func() error
	// interrupted are the records of interrupted revisions after the deployed one.
	interrupted map[string]bool
}

// maxInterrupted is the number of interrupted revisions that are kept beyond the history limit.
const maxInterrupted = 10

// NewGate returns the driver of an action on the release with the given name.
func NewGate(store Store, name string, action release.HelmAction, now func() time.Time) *Gate {
	return &Gate{Store: store, Hooks: &Hooks{store: store, now: now}, release: name, action: action}
}

// resumes returns the number of the pending revision that the action resumes; 0 if there is none.
func (g *Gate) resumes() int { return release.Resumed(g.action) }

// Create stores a new revision if it passes the checks. A resumed action takes over the stored
// revision instead, and Helm goes on with its content.
func (g *Gate) Create(key string, rls *helmrelease.Release) error {
	if g.open {
		return g.Store.Create(key, rls)
	}
	if g.Refused = g.check(key, rls); g.Refused != nil {
		return g.Refused
	}
	g.open = true
	if version := g.resumes(); version != 0 {
		if err := g.takeOver(rls, version); err != nil {
			return err
		}
		return g.makeRoom(rls)
	}
	if err := g.makeRoom(rls); err != nil {
		return err
	}
	if err := g.Store.Create(key, rls); err != nil {
		return err
	}
	a, err := g.AttemptOn(rls.Version)
	if err == nil && a != nil {
		g.Hooks.begin(rls, *a, eventsOf(g.action))
	}
	return err
}

// check returns the reason why a new revision is refused, nil if there is none.
func (g *Gate) check(key string, rls *helmrelease.Release) error {
	if g.Next != nil {
		g.Next(rls)
	}
	g.skip(rls)
	if g.Choose != nil {
		g.Choose(max(rls.Version, g.resumes()) - 1)
	}
	if g.Limit != nil {
		if err := g.Limit(key, rls); err != nil {
			return err
		}
	}
	if g.Enter != nil {
		if err := g.Enter(); err != nil {
			return err
		}
	}
	if g.Check != nil {
		return g.Check(rls)
	}
	return nil
}

// skip leaves out the first pre-upgrade hook of a new revision if an Operation has run it. What an
// Operation ran before another hook would have run in another order.
func (g *Gate) skip(rls *helmrelease.Release) {
	if len(g.Skips) == 0 || g.resumes() != 0 {
		return
	}
	hooks, namespace := hooksOf(rls)
	first := hookjob.First(hooks, namespace, string(helmrelease.HookPreUpgrade))
	if first < 0 {
		return
	}
	digest := hookjob.Digest(hooks[first])
	if i := slices.IndexFunc(g.Skips, func(s release.Skip) bool { return s.Digest == digest }); i >= 0 {
		skip := g.Skips[i]
		skip.Hook = nameOf(rls.Hooks[first])
		g.Skip(skip)
	}
}

// takeOver replaces a new revision by the pending one with the given number.
func (g *Gate) takeOver(rls *helmrelease.Release, version int) error {
	if _, installs := g.action.(release.Install); !installs && rls.Version != version {
		return fmt.Errorf("revision %d of release %s cannot be resumed: the next revision would be %d", version, rls.Name, rls.Version)
	}
	stored, a, err := g.Resume(version)
	if err != nil {
		return err
	}
	*rls = *stored
	g.Hooks.begin(rls, a, eventsOf(g.action))
	return nil
}

func (g *Gate) makeRoom(rls *helmrelease.Release) error {
	for _, write := range g.delayed {
		if err := write(); err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
			return fmt.Errorf("making room for revision %d of release %s: %w", rls.Version, rls.Name, err)
		}
	}
	return nil
}

// Query reads revisions and stores the number of the newest. Helm does not get the revision that is
// resumed: it refuses to act on a pending one.
func (g *Gate) Query(labels map[string]string) ([]*helmrelease.Release, error) {
	all, err := g.Store.Query(labels)
	if err != nil {
		return all, err
	}
	if all, err = g.withoutResumed(all); err != nil {
		return all, err
	}
	if len(labels["status"]) == 0 {
		if err := g.workOn(all); err != nil {
			return nil, err
		}
	}
	g.noteInterrupted(all)
	for _, rls := range all {
		g.noteNamespace(rls)
		g.Newest = max(g.Newest, rls.Version)
		g.Worked = g.Worked || rls.Info.Status == helmrelease.StatusDeployed || rls.Info.Status == helmrelease.StatusSuperseded
	}
	if g.Read != nil {
		g.Read(all...)
	}
	return all, nil
}

// noteNamespace notes the namespace of a revision. Helm takes that of the deployed revision.
func (g *Gate) noteNamespace(rls *helmrelease.Release) {
	deployed := rls.Info.Status == helmrelease.StatusDeployed
	if rls.Namespace == "" || g.deployed && !deployed || g.deployed == deployed && rls.Version < g.current {
		return
	}
	g.Namespace, g.current, g.deployed = rls.Namespace, rls.Version, deployed
}

// noteInterrupted notes the interrupted revisions after the deployed one.
func (g *Gate) noteInterrupted(all []*helmrelease.Release) {
	deployed := 0
	for _, rls := range all {
		if rls.Info.Status == helmrelease.StatusDeployed {
			deployed = max(deployed, rls.Version)
		}
	}
	for _, rls := range all {
		if rls.Version > deployed && rls.Labels[helmv2.LabelInterrupted] == "true" && len(g.interrupted) < maxInterrupted {
			if g.interrupted == nil {
				g.interrupted = map[string]bool{}
			}
			g.interrupted[storage.Key(g.release, rls.Version)] = true
		}
	}
}

// withoutResumed removes the revision that is resumed. For a resumed install, there is no other one
// either.
func (g *Gate) withoutResumed(all []*helmrelease.Release) ([]*helmrelease.Release, error) {
	version := g.resumes()
	if version == 0 || g.open {
		return all, nil
	}
	if _, installs := g.action.(release.Install); installs {
		return nil, driver.ErrReleaseNotFound
	}
	all = slices.DeleteFunc(all, func(rls *helmrelease.Release) bool { return rls.Version == version })
	if len(all) == 0 {
		return nil, driver.ErrReleaseNotFound
	}
	// Only the newest revision of the store and the deployed ones have been read.
	newest := newestOf(all)
	full, err := g.Get(storage.Key(g.release, all[newest].Version))
	all[newest] = full
	return all, err
}

// newestOf returns the index of the newest revision.
func newestOf(all []*helmrelease.Release) int {
	newest := 0
	for i, rls := range all {
		if rls.Version > all[newest].Version {
			newest = i
		}
	}
	return newest
}

// workOn begins or resumes the attempt of an uninstall or of tests on the newest revision. An
// attempt none of whose hooks was started needs no resuming. Tests for another request begin anew.
func (g *Gate) workOn(all []*helmrelease.Release) error {
	events := eventsOf(g.action)
	if len(events) == 0 || creates(g.action) || g.Hooks.version != 0 || len(all) == 0 {
		return nil
	}
	i := newestOf(all)
	if g.Start != nil {
		if err := g.Start(all[i]); err != nil {
			return err
		}
	}
	a, err := g.AttemptOn(all[i].Version)
	if err != nil {
		return err
	}
	if a != nil && a.Action == helmv2.ReleaseAction(release.Name(g.action)) && a.Event != "" && a.Request == requestOf(g.action) {
		resumed, taken, err := g.Resume(all[i].Version)
		if err != nil {
			return err
		}
		all[i] = resumed
		g.Hooks.begin(all[i], taken, events)
		return nil
	}
	begun, err := g.Begin(all[i].Version)
	if err == nil {
		g.Hooks.begin(all[i], begun, events)
	}
	return err
}

// requestOf returns the request that an action answers; empty if there is none.
func requestOf(a release.HelmAction) string {
	test, _ := a.(release.Test)
	return test.Request
}

// delays reports whether writes are delayed until the checks have passed. Helm deletes and updates
// old revisions before it stores the new one.
func (g *Gate) delays() bool { return (g.Check != nil || g.Limit != nil) && !g.open }

// Update stores an existing revision, now or after the checks.
func (g *Gate) Update(key string, rls *helmrelease.Release) error {
	if g.delays() {
		g.delayed = append(g.delayed, func() error { return g.Store.Update(key, rls) })
		return nil
	}
	if g.Hooks.version == rls.Version {
		return g.Hooks.update(key, rls)
	}
	return g.Store.Update(key, rls)
}

// Delete deletes a revision, now or after the checks. Beyond its history limit, Helm deletes the
// oldest revisions before it stores a new one. Interrupted revisions after the deployed one stay:
// until a revision succeeds, they show which objects are deleted then. So does the revision at which
// the release is held: another rollback to it may be necessary.
func (g *Gate) Delete(key string) (*helmrelease.Release, error) {
	back, _ := g.action.(release.Rollback)
	if creates(g.action) && g.interrupted[key] || back.Hold && key == storage.Key(g.release, back.Version) {
		return nil, nil //nolint:nilnil // the only caller drops the deleted revision
	}
	if g.delays() {
		g.delayed = append(g.delayed, func() error { _, err := g.Store.Delete(key); return err })
		return nil, nil //nolint:nilnil // the only caller drops the deleted revision
	}
	return g.Store.Delete(key)
}
