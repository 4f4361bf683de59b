// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"crypto/sha256"
	"encoding/hex"
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
	options
}

// options are the Helm options in a spec.
type options struct {
	replace     bool
	keepHistory bool
	maxHistory  int
	// tests is true if charts have a test. postHooks is true if they have hooks after the wait.
	tests     bool
	postHooks bool
}

// observed returns the revisions, newest first.
func (s *storage) observed() []release.Revision {
	var all []release.Revision
	for _, r := range s.revisions {
		all = append(all, seal(r))
	}
	release.SortNewestFirst(all)
	return all
}

// read reduces revisions to the known fields of unread ones, as the controller would. all is sorted
// newest first.
func read(recorded helmv2.Snapshots, all []release.Revision) []release.Revision {
	seen := slices.Clone(all)
	for i := 1; i < len(all); i++ {
		if r := all[i]; !release.MustRead(recorded, all, i) {
			seen[i] = release.Revision{
				Unread: true, Name: r.Name, Version: r.Version, Status: r.Status, Owner: r.Owner,
				Interrupted: r.Interrupted, Outdated: r.Outdated, Applied: r.Applied, Rollback: r.Rollback, Modified: r.Modified,
			}
		}
	}
	return seen
}

// seal returns a copy of a revision with its digest. As in Helm storage, the digest does not cover
// labels, owner, tests and modification time.
func seal(r *release.Revision) release.Revision {
	c := *r
	c.Digest, c.HelmControllerDigest, c.Owner, c.Modified, c.Tests = "", "", "", time.Time{}, nil
	c.Interrupted, c.Outdated, c.Applied, c.Rollback = false, false, false, false
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v", c))
	c = *r
	c.Tests = maps.Clone(r.Tests)
	c.Digest = "sha256:" + hex.EncodeToString(sum[:])
	if c.HelmControllerDigest != "" {
		c.HelmControllerDigest = helmControllerDigest(r)
	}
	return c
}

// helmControllerDigest stands for the digest of another scheme, which covers the status.
func helmControllerDigest(r *release.Revision) string {
	return "sha256:helm-controller-" + string(r.Status)
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

// create stores a new revision and drops the oldest ones beyond the limit.
func (s *storage) create(r *release.Revision) {
	if limit := s.maxHistory; limit > 0 && len(s.revisions) >= limit {
		keep, surplus := s.deployed(), len(s.revisions)-limit+1
		s.revisions = slices.DeleteFunc(s.revisions, func(old *release.Revision) bool {
			if surplus == 0 || old == keep {
				return false
			}
			surplus--
			return true
		})
	}
	s.revisions = append(s.revisions, r)
}

// action is one run of Helm.
type action struct {
	kind    release.Action
	want    release.Desired
	started time.Time
	store   *storage
	// found is the revision that is taken over.
	found *release.Revision
	// size is the size of the new record; nil if it is small.
	size *release.RecordSize
	// refused is the reason why Helm rejected the action.
	refused error
	// made is the revision that the action created or changes. replaced is the one that a success
	// supersedes.
	made, replaced *release.Revision
}

// begin performs an action up to and including Helm's first write.
func (s *storage) begin(kind release.Action, want release.Desired, owner string, now time.Time) *action {
	a := &action{kind: kind, want: want, started: now, store: s}
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
	case release.CorrectDrift:
		// Drift corrections do not use Helm.
	case release.Finalize, release.Adopt, release.Forget, release.Settle, release.Wait, release.Stall:
		a.refused = fmt.Errorf("%s is not an action of Helm", release.Name(kind))
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
	a.create(version, first, owner, now, helmv2.StatusPendingInstall, "Initial install underway")
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
	a.create(last.Version+1, last.FirstDeployed, owner, now, helmv2.StatusPendingUpgrade, "Preparing upgrade")
}

func (a *action) create(version int, first time.Time, owner string, now time.Time, status helmv2.ReleaseStatus, description string) {
	a.made = &release.Revision{
		Name: a.want.Target.Name, Namespace: a.want.Target.Namespace, Version: version,
		Status: status, Description: description,
		ChartName: a.want.Chart.Name, ChartVersion: a.want.Chart.Version, ConfigDigest: a.want.ConfigDigest,
		FirstDeployed: first, LastDeployed: now, Modified: now, Owner: owner,
		PostInstall: a.store.postHooks, PostUpgrade: a.store.postHooks,
	}
	if a.store.tests {
		a.made.Tests = map[string]release.TestRun{testName: {}}
	}
	a.store.create(a.made)
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
	a.replaced = a.store.deployed()
	want := a.want
	a.want.Chart = release.Chart{Name: target.ChartName, Version: target.ChartVersion}
	a.want.ConfigDigest = target.ConfigDigest
	a.create(last.Version+1, last.FirstDeployed, owner, now, helmv2.StatusPendingRollback, fmt.Sprintf("Rollback to %d", r.Version))
	a.want, a.made.Rollback = want, true
}

// ending is the end of an action.
type ending struct {
	// cause is nil on success.
	cause error
	// waiting is true if all objects were applied.
	waiting bool
	// cancelled is true if the action was cancelled, and outdated if newer inputs were the reason.
	cancelled bool
	outdated  bool
	// outage is the reason why a server did not answer; empty if it did. server names it if it is
	// not the API server.
	outage, server string
	// unstored is true if the final update of the record was not stored. unanswered is true if the
	// action succeeded and the response to the final update was lost.
	unstored   bool
	unanswered bool
	// diagnosis and logs are the results of a diagnosis after a failure.
	diagnosis *release.Diagnosis
	logs      []string
}

// end completes the action and returns its outcome.
func (a *action) end(e ending, now time.Time) release.Outcome {
	o := release.Outcome{Action: a.kind, Desired: a.want, Started: a.started, Ended: now}
	if a.refused != nil {
		e.cause = a.refused
	}
	cause := e.cause
	o.Err, o.Cancelled, o.Outdated = cause, cause != nil && e.cancelled, cause != nil && e.outdated
	o.Interrupted, o.Diagnosis, o.Logs = e.interruption(a.started), e.diagnosis, e.logs
	if a.made == nil {
		return o
	}
	if o.Interrupted != nil {
		return a.interrupt(e, o, now)
	}
	a.made.Modified = now
	switch a.kind.(type) {
	case release.Install, release.Upgrade, release.Rollback:
		a.endRelease(e)
		o.Inventory = []release.Object{{Version: "v1", Kind: "ConfigMap", Namespace: a.made.Namespace, Name: a.made.Name}}
	case release.Uninstall:
		if cause == nil {
			a.endUninstall(now)
		}
	case release.Unlock:
		// The label prevents that the failure is counted after a crash.
		a.made.Status, a.made.Interrupted = helmv2.StatusFailed, true
		a.made.Outdated = false
		a.made.Description = fmt.Sprintf("Release unlocked from stale '%s' state", a.kind.(release.Unlock).Status)
	case release.Test:
		a.endTest(e)
	case release.Recheck:
		a.endRecheck(e)
	case release.CorrectDrift, release.Finalize, release.Adopt, release.Forget, release.Settle, release.Wait, release.Stall:
	}
	o.Revisions = append(o.Revisions, seal(a.made))
	if a.replaced != nil && cause == nil {
		o.Revisions = append(o.Revisions, seal(a.replaced))
	}
	return o
}

func (a *action) endRelease(e ending) {
	verb, done := "Release", "Install complete"
	if _, ok := a.kind.(release.Upgrade); ok {
		verb, done = "Upgrade", "Upgrade complete"
	}
	if back, ok := a.kind.(release.Rollback); ok {
		verb, done = "Rollback", fmt.Sprintf("Rollback to %d", back.Version)
	}
	a.made.Applied = e.cause == nil || e.waiting
	if e.cause != nil {
		a.made.Status, a.made.Outdated = helmv2.StatusFailed, e.outdated
		a.made.Interrupted = (e.cancelled || e.outage != "") && !e.outdated
		a.made.Description = fmt.Sprintf("%s %q failed: %s", verb, a.made.Name, e.cause)
		return
	}
	if a.replaced != nil {
		a.replaced.Status = helmv2.StatusSuperseded
	}
	a.made.Status, a.made.Description = helmv2.StatusDeployed, done
}

// testName is the name of the test that charts have.
const testName = "smoke"

// endTest records the result of the test.
func (a *action) endTest(e ending) {
	if a.made.Tests == nil {
		return
	}
	phase := helmv2.TestPhaseSucceeded
	if e.cause != nil {
		phase = helmv2.TestPhaseFailed
	}
	a.made.Tests = map[string]release.TestRun{testName: {Started: a.started, Completed: a.made.Modified, Phase: phase}}
}

// endRecheck removes the labels of interrupted and outdated revisions, with and without success.
func (a *action) endRecheck(e ending) {
	if e.cancelled {
		return
	}
	a.made.Interrupted, a.made.Outdated = false, false
	if e.cause != nil {
		a.made.Description = fmt.Sprintf("Upgrade %q failed: %s", a.made.Name, e.cause)
		return
	}
	if old := a.store.deployed(); old != nil {
		old.Status = helmv2.StatusSuperseded
		a.replaced = old
	}
	a.made.Status, a.made.Description = helmv2.StatusDeployed, "Upgrade complete"
}

func (a *action) endUninstall(now time.Time) {
	a.made.Status, a.made.Description, a.made.Deleted = helmv2.StatusUninstalled, "Uninstallation complete", now
	if !a.store.keepHistory {
		a.store.revisions = nil
	}
}

// store returns the storage of a release.
func (w *World) store(t release.Target) *storage {
	key := t.StorageNamespace + "/" + t.Name
	if w.stores[key] == nil {
		w.stores[key] = &storage{}
	}
	w.stores[key].options = w.options
	return w.stores[key]
}
