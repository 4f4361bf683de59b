// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// storage is the Helm storage of one release, with Helm's rules about the order of actions.
type storage struct {
	// revisions are sorted oldest first.
	revisions []*release.Revision
	ran       *hooksRun
	options
}

// options are the Helm options in a spec.
type options struct {
	replace     bool
	keepHistory bool
	maxHistory  int
	// tests is true if charts have a test. postHooks is true if they have hooks after the wait, and
	// hooks if they have one before and after each action. random is true if they render otherwise
	// each time.
	tests     bool
	postHooks bool
	hooks     bool
	random    bool
}

// has reports whether charts have a hook of an event.
func (o options) has(event string) bool {
	switch event {
	case "":
		return false
	case "test":
		return o.tests
	case "post-install", "post-upgrade":
		return o.hooks || o.postHooks
	}
	return o.hooks
}

// hooksRun is the memory of all hooks of a release, which no client can change.
type hooksRun struct {
	// attempts counts the attempts of this HelmRelease. rendered counts renderings.
	attempts, rendered int
	// finished counts the successes of each hook of each attempt, by "<ID> <event>".
	finished map[string]int
	// sealed are the records that Pintle has written, as they were written: those with a valid seal.
	sealed map[string]bool
	// recorded are the attempts whose revisions have entered the history. uninstalling is true from
	// the beginning to the end of an uninstall by this HelmRelease.
	recorded     map[string]bool
	uninstalling bool
	// lines are the lines that are not printed yet.
	lines []string
}

// observed returns the revisions, newest first.
func (s *storage) observed() []release.Revision {
	var all []release.Revision
	for _, r := range s.revisions {
		all = append(all, s.read(r))
	}
	release.SortNewestFirst(all)
	return all
}

// read returns a copy of a revision as it is read from its record.
func (s *storage) read(r *release.Revision) release.Revision {
	c := digested(r)
	c.Sealed = s.ran.sealed[recordOf(r)]
	return c
}

// recordOf stands for the record of a revision: everything that a seal covers.
func recordOf(r *release.Revision) string {
	raw, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// seal seals the record of a revision that Pintle writes.
func (s *storage) seal(r *release.Revision) { s.ran.sealed[recordOf(r)] = true }

// read reduces revisions to the known fields of unread ones, as the controller would. all is sorted
// newest first.
func read(recorded helmv2.Snapshots, all []release.Revision) []release.Revision {
	seen := slices.Clone(all)
	for i := 1; i < len(all); i++ {
		if r := all[i]; !release.MustRead(recorded, all, i) {
			seen[i] = release.Revision{
				Unread: true, Name: r.Name, Version: r.Version, Status: r.Status, Owner: r.Owner,
				Interrupted: r.Interrupted, Outdated: r.Outdated, Applied: r.Applied, Rollback: r.Rollback, Modified: r.Modified,
				RolledBackTo: r.RolledBackTo,
			}
		}
	}
	return seen
}

// digested returns a copy of a revision with its digests. As in Helm storage, a digest does not cover
// labels, owner, tests and modification time.
func digested(r *release.Revision) release.Revision {
	c := *r
	c.Tests = maps.Clone(r.Tests)
	if r.Attempt != nil {
		attempt := *r.Attempt
		attempt.Finished = slices.Clone(attempt.Finished)
		c.Attempt = &attempt
	}
	c.Digest = digestAs(r, r.Status)
	if r.Status == helmv2.StatusSuperseded {
		c.DeployedDigest = digestAs(r, helmv2.StatusDeployed)
	}
	if c.HelmControllerDigest != "" {
		c.HelmControllerDigest = helmControllerDigest(r)
	}
	return c
}

// digestAs returns the digest of a revision if it had the given status.
func digestAs(r *release.Revision, status helmv2.ReleaseStatus) string {
	c := *r
	c.Status = status
	c.Digest, c.HelmControllerDigest, c.Owner, c.Modified, c.Tests = "", "", "", time.Time{}, nil
	c.Interrupted, c.Outdated, c.Applied, c.Rollback = false, false, false, false
	c.Attempt, c.InstallHooksLeft, c.RolledBackTo, c.TestRequest, c.SourceRevision = nil, false, 0, "", ""
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v", c))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// helmControllerDigest stands for the digest of another scheme, which covers the status: that in the
// snapshot of a revision that was superseded since.
func helmControllerDigest(r *release.Revision) string {
	status := r.Status
	if status == helmv2.StatusSuperseded {
		status = helmv2.StatusDeployed
	}
	return "sha256:helm-controller-" + string(status) + r.AppVersion
}

func (s *storage) newest() *release.Revision {
	if len(s.revisions) == 0 {
		return nil
	}
	return s.revisions[len(s.revisions)-1]
}

func (s *storage) version(n int) *release.Revision {
	for _, r := range s.revisions {
		if r.Version == n {
			return r
		}
	}
	return nil
}

func (s *storage) deployed() *release.Revision {
	for _, r := range slices.Backward(s.revisions) {
		if r.Status == helmv2.StatusDeployed {
			return r
		}
	}
	return nil
}

// create stores a new revision and drops the oldest ones beyond the limit. The revision that a hold
// rolls back to stays, although Helm counts it as dropped.
func (s *storage) create(r *release.Revision) {
	if limit := s.maxHistory; limit > 0 && len(s.revisions) >= limit {
		keep, surplus := s.deployed(), len(s.revisions)-limit+1
		s.revisions = slices.DeleteFunc(s.revisions, func(old *release.Revision) bool {
			if surplus == 0 || old == keep {
				return false
			}
			surplus--
			return old.Version != r.RolledBackTo
		})
	}
	s.revisions = append(s.revisions, r)
}

// action is one run of Helm.
type action struct {
	kind    release.HelmAction
	want    release.Desired
	started time.Time
	store   *storage
	// owner is the UID of the HelmRelease that acts; empty for the Helm CLI.
	owner string
	// run is the run of the attempt. waits is the hook that it found running.
	run   int
	waits string
	// told is true if the action was told that its inputs are outdated, and waits for its hooks.
	told bool
	// found is the revision that is taken over.
	found *release.Revision
	// size is the size of the new record; nil if it is small.
	size *release.RecordSize
	// refused is the reason why Helm rejected the action.
	refused error
	// made is the revision that the action created or changes. replaced is the one that a success
	// supersedes.
	made, replaced *release.Revision
	// proven are the stored revisions that were proven when the action began. The action seals those
	// and its own when it writes them.
	proven map[*release.Revision]bool
}

// wrote seals what the action has written.
func (a *action) wrote() {
	for _, r := range []*release.Revision{a.made, a.replaced} {
		if r != nil && a.owner != "" && a.proven[r] {
			a.store.seal(r)
		}
	}
}

// begin performs an action up to and including Helm's first write. recorded is the history of the
// HelmRelease.
func (s *storage) begin(kind release.HelmAction, want release.Desired, owner string, now time.Time, recorded helmv2.Snapshots) *action {
	a := &action{kind: kind, want: want, started: now, store: s, owner: owner, proven: map[*release.Revision]bool{}}
	for _, r := range s.revisions {
		stored := s.read(r)
		a.proven[r] = stored.Sealed || release.Proven(&stored, owner, recorded)
	}
	defer a.wrote()
	if version := release.Resumed(kind); version > 0 {
		a.resume(version)
		a.work()
		return a
	}
	switch w := kind.(type) {
	case release.Install:
		a.install(owner, now)
	case release.Upgrade:
		a.upgrade(owner, now)
	case release.Uninstall:
		a.uninstall()
	case release.Unlock:
		a.unlock(w)
	case release.Test:
		a.made = s.newest()
	case release.Rollback:
		a.rollback(w, owner, now)
	case release.Recheck:
		a.made = s.version(w.Version)
	case release.FailBake, release.CorrectDrift:
		// Drift corrections do not use Helm.
	}
	if a.event("pre") != "" {
		a.work()
	}
	return a
}

func (a *action) install(owner string, now time.Time) {
	version, first := 1, now
	if last := a.store.newest(); last != nil {
		over := last.Status == helmv2.StatusUninstalled || last.Status == helmv2.StatusFailed
		if !a.store.replace || !over {
			a.refused = errors.New("cannot re-use a name that is still in use")
			return
		}
		version = last.Version + 1
		if last.Status == helmv2.StatusUninstalled {
			last.Status, last.Description = helmv2.StatusSuperseded, "superseded by new release"
		}
	}
	a.create(version, first, owner, now, helmv2.StatusPendingInstall, "Initial install underway", 0)
}

func (a *action) upgrade(owner string, now time.Time) {
	last := a.store.newest()
	switch {
	case last == nil:
		a.refused = fmt.Errorf("%q has no deployed releases", a.want.Target.Name)
		return
	case last.Pending():
		a.refused = errors.New("another operation (install/upgrade/rollback) is in progress")
		return
	}
	a.replaced = a.store.deployed()
	if a.replaced == nil && (last.Status == helmv2.StatusFailed || last.Status == helmv2.StatusSuperseded) {
		a.replaced = last
	}
	if a.replaced == nil {
		a.refused = fmt.Errorf("%q has no deployed releases", a.want.Target.Name)
		return
	}
	a.create(last.Version+1, last.FirstDeployed, owner, now, helmv2.StatusPendingUpgrade, "Preparing upgrade", 0)
}

func (a *action) create(version int, first time.Time, owner string, now time.Time, status helmv2.ReleaseStatus, description string, held int) {
	a.made = &release.Revision{
		Name: a.want.Target.Name, Namespace: a.want.Target.Namespace, Version: version,
		Status: status, Description: description,
		ChartName: a.want.Chart.Name, ChartVersion: a.want.Chart.Version, ConfigDigest: a.want.ConfigDigest,
		FirstDeployed: first, LastDeployed: now, Modified: now, Owner: owner, RolledBackTo: held,
		PostInstall: a.store.has("post-install"), PostUpgrade: a.store.has("post-upgrade"), PostRollback: a.store.has("post-rollback"),
		InstallHooksLeft: a.store.has("pre-install") || a.store.has("post-install"),
		SourceRevision:   a.want.SourceRevision,
	}
	a.store.ran.rendered++
	if a.store.random {
		a.made.AppVersion = fmt.Sprintf("rendering-%d", a.store.ran.rendered)
	}
	if a.store.tests {
		a.made.Tests = map[string]release.TestRun{testName: {}}
	}
	a.store.create(a.made)
	a.proven[a.made] = true
}

func (a *action) uninstall() {
	last := a.store.newest()
	switch {
	case last == nil:
		return
	case last.Status == helmv2.StatusUninstalled && a.store.keepHistory:
		a.refused = fmt.Errorf("the release named %q is already deleted", last.Name)
		return
	}
	a.made = last
	a.store.ran.uninstalling = a.owner == uid
	last.Status, last.Description = helmv2.StatusUninstalling, "Deletion in progress (or silently failed)"
}

func (a *action) unlock(u release.Unlock) {
	last := a.store.newest()
	if last == nil || last.Version != u.Version {
		a.refused = errors.New("release: not found")
		return
	}
	if last.Status == u.Status {
		a.made = last
	}
}

func (a *action) rollback(r release.Rollback, owner string, now time.Time) {
	last, target := a.store.newest(), a.store.version(r.Version)
	if target == nil {
		a.refused = errors.New("release: not found")
		return
	}
	if !a.proven[target] {
		a.refused = errors.New("another client changed the record")
		return
	}
	a.replaced = a.store.deployed()
	want := a.want
	a.want.Chart = release.Chart{Name: target.ChartName, Version: target.ChartVersion}
	a.want.ConfigDigest, a.want.SourceRevision = target.ConfigDigest, target.SourceRevision
	held := 0
	if r.Hold {
		held = r.Version
	}
	a.create(last.Version+1, last.FirstDeployed, owner, now, helmv2.StatusPendingRollback, fmt.Sprintf("Rollback to %d", r.Version), held)
	a.want, a.made.Rollback = want, true
}

// store returns the storage of a release.
func (w *World) store(t release.Target) *storage {
	key := t.StorageNamespace + "/" + t.Name
	if w.stores[key] == nil {
		w.stores[key] = &storage{ran: &hooksRun{finished: map[string]int{}, sealed: map[string]bool{}, recorded: map[string]bool{}}}
	}
	w.stores[key].options = w.options
	return w.stores[key]
}
