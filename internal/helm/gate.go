// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"errors"
	"fmt"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/apply"
	"github.com/pintle-dev/pintle/internal/helm/storage"
)

// gate is a storage driver that checks a new revision before it is stored. Helm stores a revision
// when it has rendered and built everything, and before it changes any object. That is the time to
// choose the apply method, and to refuse the revision.
type gate struct {
	driver.Driver
	// begin, if set, is called with the new revision, and read with the revisions that Helm reads.
	begin func(next *helmrelease.Release)
	read  func(all ...*helmrelease.Release)
	// choose, if set, is called with the number of the last revision.
	choose func(last int)
	// limit, if set, may refuse the new revision for the size of its record, and check for other
	// reasons. Until both have passed, nothing is written except by enter, which is called between
	// them if it is set.
	limit func(key string, next *helmrelease.Release) error
	enter func() error
	check func(next *helmrelease.Release) error

	// newest is the number of the newest revision that Helm has read, 0 if none.
	newest int
	// worked is true if a revision was read whose status is or was deployed.
	worked  bool
	refused error
	open    bool
	// delayed are the writes that Helm sends before it stores the new revision.
	delayed []func() error
}

// Create stores a new revision if it passes the checks.
func (g *gate) Create(key string, rls *helmrelease.Release) error {
	if !g.open {
		if err := g.pass(key, rls); err != nil {
			return err
		}
	}
	return g.Driver.Create(key, rls)
}

// Query reads revisions and stores the number of the newest.
func (g *gate) Query(labels map[string]string) ([]*helmrelease.Release, error) {
	all, err := g.Driver.Query(labels)
	for _, rls := range all {
		g.newest = max(g.newest, rls.Version)
		g.worked = g.worked || rls.Info.Status == helmrelease.StatusDeployed || rls.Info.Status == helmrelease.StatusSuperseded
	}
	if g.read != nil {
		g.read(all...)
	}
	return all, err
}

func (g *gate) pass(key string, rls *helmrelease.Release) error {
	if g.begin != nil {
		g.begin(rls)
	}
	if g.choose != nil {
		g.choose(rls.Version - 1)
	}
	if g.refused = g.checkAll(key, rls); g.refused != nil {
		return g.refused
	}
	g.open = true
	for _, write := range g.delayed {
		if err := write(); err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
			return fmt.Errorf("making room for revision %d of release %s: %w", rls.Version, rls.Name, err)
		}
	}
	return nil
}

// checkAll returns the reason why a new revision is refused, nil if there is none.
func (g *gate) checkAll(key string, rls *helmrelease.Release) error {
	if g.limit != nil {
		if err := g.limit(key, rls); err != nil {
			return err
		}
	}
	if g.enter != nil {
		if err := g.enter(); err != nil {
			return err
		}
	}
	if g.check != nil {
		return g.check(rls)
	}
	return nil
}

// delays reports whether writes are delayed until the checks have passed. Helm deletes and updates
// old revisions before it stores the new one.
func (g *gate) delays() bool { return (g.check != nil || g.limit != nil) && !g.open }

// Update stores an existing revision, now or after the checks.
func (g *gate) Update(key string, rls *helmrelease.Release) error {
	if g.delays() {
		g.delayed = append(g.delayed, func() error { return g.Driver.Update(key, rls) })
		return nil
	}
	return g.Driver.Update(key, rls)
}

// Delete deletes a revision, now or after the checks.
func (g *gate) Delete(key string) (*helmrelease.Release, error) {
	if g.delays() {
		g.delayed = append(g.delayed, func() error { _, err := g.Driver.Delete(key); return err })
		return nil, nil //nolint:nilnil // the only caller drops the deleted revision
	}
	return g.Driver.Delete(key)
}

// chooseMethod sets the apply method when the new revision is stored, since Helm has read the
// history by then. In mode auto it is the method of the given revision; 0 stands for the last one.
func (r *run) chooseMethod(mode helmv2.ServerSideApplyMode, version int, force bool) {
	r.gate.choose = func(last int) {
		m := nextMethod(r.store, mode, version, last, force)
		if force && m.ServerSide {
			r.logs.Printf("force has no meaning for server-side apply and is ignored")
		}
		r.client.Begin(m)
		r.store.SetApplyMethod(methodName(m.ServerSide))
	}
}

// nextMethod returns the method of the revision after last; see chooseMethod.
func nextMethod(store *storage.Driver, mode helmv2.ServerSideApplyMode, version, last int, force bool) apply.Method {
	if version == 0 {
		version = last
	}
	serverSide := appliesServerSide(store, mode, version)
	return apply.Method{ServerSide: serverSide, Migrate: changesMethod(store, last, serverSide), Force: force && !serverSide}
}

// appliesServerSide reports whether a mode means server-side apply. In mode auto, the method is
// that of the given revision.
func appliesServerSide(store *storage.Driver, mode helmv2.ServerSideApplyMode, version int) bool {
	switch mode {
	case helmv2.ServerSideApplyEnabled:
		return true
	case helmv2.ServerSideApplyDisabled:
		return false
	case helmv2.ServerSideApplyAuto:
	}
	return store.ApplyMethod(version) == storage.ServerSide
}

// changesMethod reports whether objects in the cluster may have been applied with the other method.
// An earlier change may not have reached all objects. Fields of client-side apply show when an
// object is applied, but those of server-side apply do not, so each stored revision counts.
func changesMethod(store *storage.Driver, last int, serverSide bool) bool {
	if serverSide {
		return last == 0 || store.ApplyMethod(last) != storage.ServerSide
	}
	for version := last; version > max(0, last-helmv2.DefaultMaxHistory); version-- {
		if store.ApplyMethod(version) == storage.ServerSide {
			return true
		}
	}
	return false
}

func methodName(serverSide bool) string {
	if serverSide {
		return storage.ServerSide
	}
	return storage.ClientSide
}

// modeOf returns the mode of an action without a revision to follow.
func modeOf(serverSide bool) helmv2.ServerSideApplyMode {
	if serverSide {
		return helmv2.ServerSideApplyEnabled
	}
	return helmv2.ServerSideApplyDisabled
}
