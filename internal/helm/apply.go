// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"errors"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/storage"
)

// applying says how a job applies the objects of its release.
type applying struct {
	serverSide bool
	// migrate is true if the objects in the cluster were applied by the other method, or by
	// an unknown one: their managed fields are read first.
	migrate bool
	// force replaces objects instead of merging; client-side only.
	force bool
	// rendered are the objects of the revision that is being made, as Helm got them
	// from Build. Hooks are not among them.
	rendered kube.ResourceList
}

// chooseMethod settles how the objects of the revision that is about to be made
// are applied, and that its record says so. In mode auto it is the way of the
// given revision; 0 stands for the one before the new. The choice is made when
// the revision is stored, since Helm has read the history by then.
func (r *run) chooseMethod(mode helmv2.ServerSideApplyMode, version int, force bool) {
	r.gate.choose = func(last int) {
		if version == 0 {
			version = last
		}
		c := r.client
		c.applying.serverSide = r.appliesServerSide(mode, version)
		c.applying.migrate = r.changesMethod(last, c.applying.serverSide)
		c.applying.force = force && !c.applying.serverSide
		if force && c.applying.serverSide {
			r.logs.printf("force has no meaning for server-side apply and is ignored")
		}
		r.store.SetApplyMethod(methodName(c.applying.serverSide))
	}
}

func (r *run) appliesServerSide(mode helmv2.ServerSideApplyMode, version int) bool {
	switch mode {
	case helmv2.ServerSideApplyEnabled:
		return true
	case helmv2.ServerSideApplyDisabled:
		return false
	case helmv2.ServerSideApplyAuto:
	}
	return r.store.ApplyMethod(version) == storage.ServerSide
}

// changesMethod reports whether objects in the cluster may have been applied the
// other way. An earlier change may not have got to all of them: what it missed of
// client-side applying shows when an object is applied, but the other direction
// shows nowhere, so that any revision that is left counts.
func (r *run) changesMethod(last int, toServer bool) bool {
	if toServer {
		return last == 0 || r.store.ApplyMethod(last) != storage.ServerSide
	}
	for version := last; version > max(0, last-defaultMaxHistory); version-- {
		if r.store.ApplyMethod(version) == storage.ServerSide {
			return true
		}
	}
	return false
}

func methodName(isServerSide bool) string {
	if isServerSide {
		return storage.ServerSide
	}
	return storage.ClientSide
}

// modeOf is the mode of an action that has no revision to follow.
func modeOf(isServerSide bool) helmv2.ServerSideApplyMode {
	if isServerSide {
		return helmv2.ServerSideApplyEnabled
	}
	return helmv2.ServerSideApplyDisabled
}

// gate stands in front of storage. Helm stores a new revision once everything is
// rendered, built and found free to take, and before it touches any object: that
// is the moment to choose how to apply, and to refuse.
type gate struct {
	driver.Driver
	client *client
	// choose, if set, is told the number of the last revision.
	choose func(last int)
	// weigh, if set, may refuse the new revision for the size of its record, and check
	// for other reasons. Until both have passed, nothing is written but what enter
	// writes, which is called in between if it is set.
	weigh func(key string, next *helmrelease.Release) error
	enter func() error
	check func(next *helmrelease.Release) error

	// newest is the number of the newest revision that Helm has read, 0 if none.
	newest int
	// worked is true if a revision was read that is deployed, or was.
	worked  bool
	refused error
	open    bool
	held    []func() error
}

// Create stores a new revision, if it passes.
func (g *gate) Create(key string, rls *helmrelease.Release) error {
	if !g.open {
		if err := g.pass(key, rls); err != nil {
			return err
		}
	}
	return g.Driver.Create(key, rls)
}

// Query reads revisions and remembers the number of the newest.
func (g *gate) Query(labels map[string]string) ([]*helmrelease.Release, error) {
	all, err := g.Driver.Query(labels)
	for _, rls := range all {
		g.newest = max(g.newest, rls.Version)
		g.worked = g.worked || rls.Info.Status == helmrelease.StatusDeployed || rls.Info.Status == helmrelease.StatusSuperseded
	}
	g.client.inquest.meet(all...)
	return all, err
}

func (g *gate) pass(key string, rls *helmrelease.Release) error {
	g.client.looks.end()
	g.client.inquest.meet(rls)
	g.client.retrier.OwnWebhooks(ownWebhooks(g.client.previous, g.client.built))
	if g.choose != nil {
		g.client.applying.rendered = g.client.built
		g.choose(rls.Version - 1)
	}
	if g.refused = g.judge(key, rls); g.refused != nil {
		return g.refused
	}
	g.open = true
	for _, write := range g.held {
		if err := write(); err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
			return fmt.Errorf("making room for revision %d of release %s: %w", rls.Version, rls.Name, err)
		}
	}
	return nil
}

// judge asks whether a new revision may be begun.
func (g *gate) judge(key string, rls *helmrelease.Release) error {
	if g.weigh != nil {
		if err := g.weigh(key, rls); err != nil {
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

// holds reports whether writes have to wait for the verdict: Helm removes and
// rewrites old revisions before it stores the new one.
func (g *gate) holds() bool { return (g.check != nil || g.weigh != nil) && !g.open }

// Update stores an existing revision, or will.
func (g *gate) Update(key string, rls *helmrelease.Release) error {
	if g.holds() {
		g.held = append(g.held, func() error { return g.Driver.Update(key, rls) })
		return nil
	}
	return g.Driver.Update(key, rls)
}

// Delete removes a revision, or will.
func (g *gate) Delete(key string) (*helmrelease.Release, error) {
	if g.holds() {
		g.held = append(g.held, func() error { _, err := g.Driver.Delete(key); return err })
		return nil, nil //nolint:nilnil // the only caller drops what was deleted
	}
	return g.Driver.Delete(key)
}

// Create makes objects: the templates of an install are applied, hooks are
// created, so that one that is left over from another run is an error and not
// taken for this one's.
func (c *client) Create(list kube.ResourceList) (*kube.Result, error) {
	hooks := len(list) > 0 && !slices.Contains(c.applying.rendered, list[0])
	if hooks {
		if err := markAttempt(list, c.attempt()); err != nil {
			return nil, err
		}
	}
	if !c.applying.serverSide || len(list) == 0 || hooks {
		result, err := c.Client.Create(list)
		if err == nil {
			c.keepResults(list)
		} else if len(list) == 1 {
			c.inquest.refuse(list[0], err)
		}
		return result, err
	}
	c.Log("applying %d resource(s)", len(list))
	_, err := c.applyAll(nil, list)
	if err != nil {
		return nil, err
	}
	return &kube.Result{Created: list}, nil
}

// Update changes the objects of a release from original to target.
func (c *client) Update(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	return c.update(original, target, func() (*kube.Result, error) { return c.Client.Update(original, target, force) })
}

// UpdateThreeWayMerge is Update for an install that finds objects in place.
func (c *client) UpdateThreeWayMerge(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	return c.update(original, target, func() (*kube.Result, error) { return c.Client.UpdateThreeWayMerge(original, target, force) })
}

// update always returns a result, which Helm uses even if there is an error.
func (c *client) update(original, target kube.ResourceList, merge func() (*kube.Result, error)) (*kube.Result, error) {
	if c.applying.serverSide {
		result, err := c.applyAll(original, target)
		if err == nil {
			result.Deleted = c.prune(original.Difference(target))
		}
		return result, err
	}
	if c.applying.migrate {
		if err := c.migrateAll(original, target); err != nil {
			return &kube.Result{}, err
		}
	}
	result, err := merge()
	if err == nil {
		c.keepResults(target)
	}
	return result, err
}

// keepResults keeps the answers to writes by Helm, which are in the objects.
func (c *client) keepResults(list kube.ResourceList) {
	for _, info := range list {
		c.waiter.Written(info, info.Object)
	}
}
