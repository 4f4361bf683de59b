// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"

	"github.com/pintle-dev/pintle/internal/bounded"
)

const (
	// watchedTTL is how long capabilities are used while CRDs and APIServices are watched. An
	// API server that is replaced by a newer one may serve new kinds in existing groups.
	watchedTTL = 10 * time.Minute
	// unwatchedTTL is how long capabilities are used without such a watch, or if the server
	// could not list all groups.
	unwatchedTTL = 10 * time.Second
	// propagation is how long after a change the server may answer with the old capabilities. A
	// CRD is established a moment before it is served.
	propagation = 5 * time.Second
	// minInterval is the least time between two fetches that changes cause. A few hundred CRDs
	// that are created at once must not cause a few hundred fetches.
	minInterval = time.Second
)

// discoveryCache caches the capabilities of one API server for all connections to it. Discovery
// returns the same to every user. It may be used concurrently.
type discoveryCache struct {
	// now is the clock; nil if nothing may be reused.
	now func() time.Time
	// sleep waits. It is time.Sleep except in tests.
	sleep func(time.Duration)

	// fetching is held during a fetch, so that concurrent callers cause one.
	fetching sync.Mutex

	mu     sync.Mutex
	cached *capabilities
	// fetchedAt is when the fetch of cached started.
	fetchedAt time.Time
	// changedAt is when a CRD or APIService changed last; zero if none has.
	changedAt time.Time
	watched   bool
	// invalid is true if cached is known to be outdated.
	invalid bool
}

// capabilities are the version and the APIs of a server. They are immutable.
type capabilities struct {
	version *version.Info
	kinds   *kinds
	// incomplete is the error of client-go that names the groups that the server could not
	// list; nil if it listed all.
	incomplete error
}

func newDiscoveryCache(now func() time.Time) *discoveryCache {
	return &discoveryCache{now: now, sleep: time.Sleep}
}

// freshness is whether cached capabilities can be used.
type freshness int

const (
	fresh freshness = iota
	// stale needs a fetch now, tooEarly one after minInterval.
	stale
	tooEarly
)

// state returns the cached capabilities and their freshness. The duration is how long to wait
// before the next fetch if that is tooEarly.
func (c *discoveryCache) state() (*capabilities, freshness, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cached == nil || c.invalid || c.now == nil {
		return c.cached, stale, 0
	}
	age := c.now().Sub(c.fetchedAt)
	ttl := unwatchedTTL
	if c.watched && c.cached.incomplete == nil {
		ttl = watchedTTL
	}
	switch {
	case age >= ttl:
		return c.cached, stale, 0
	case c.fetchedAt.After(c.changedAt.Add(propagation)):
		return c.cached, fresh, 0
	case age >= minInterval:
		return c.cached, stale, 0
	case c.fetchedAt.After(c.changedAt):
		return c.cached, fresh, 0
	}
	return c.cached, tooEarly, minInterval - age
}

// current returns the capabilities of the server. It fetches them through dc unless the cached
// ones are fresh, and waits if it is too early for a fetch.
func (c *discoveryCache) current(dc discovery.DiscoveryInterface) (*capabilities, error) {
	if cached, f, _ := c.state(); f == fresh {
		return cached, nil
	}
	c.fetching.Lock()
	defer c.fetching.Unlock()
	// Another caller may have fetched meanwhile.
	cached, f, pause := c.state()
	if f == fresh {
		return cached, nil
	}
	if f == tooEarly {
		c.sleep(pause)
	}
	return c.fetch(dc)
}

// recent is like current, but returns the cached capabilities if it is too early for a fetch.
// Without a clock it returns them until they are invalid. It never sleeps.
func (c *discoveryCache) recent(dc discovery.DiscoveryInterface) (*capabilities, error) {
	usable := func() *capabilities {
		cached, f, _ := c.state()
		if cached != nil && (f != stale || c.now == nil && !c.isInvalid()) {
			return cached
		}
		return nil
	}
	if cached := usable(); cached != nil {
		return cached, nil
	}
	c.fetching.Lock()
	defer c.fetching.Unlock()
	if cached := usable(); cached != nil {
		return cached, nil
	}
	return c.fetch(dc)
}

// fetch requests the capabilities and caches them. An error is not cached: another user may be
// allowed to list APIs.
func (c *discoveryCache) fetch(dc discovery.DiscoveryInterface) (*capabilities, error) {
	c.mu.Lock()
	var started time.Time
	if c.now != nil {
		started = c.now()
	}
	// Invalidations from now on hold for the new capabilities too.
	c.invalid = false
	c.mu.Unlock()
	next, err := fetchCapabilities(dc)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.invalid = true
		return nil, err
	}
	c.cached, c.fetchedAt = next, started
	return next, nil
}

func fetchCapabilities(dc discovery.DiscoveryInterface) (*capabilities, error) {
	server, err := dc.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("could not get server version from Kubernetes: %w", err)
	}
	groups, resources, err := groupsAndResources(dc)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("could not get apiVersions from Kubernetes: %w", err)
	}
	return &capabilities{version: server, kinds: newKinds(groups, resources), incomplete: err}, nil
}

// maxVersions limits the versions of all API groups of a server. Without aggregated discovery,
// client-go requests the resources of all versions at the same time, and a server of a tenant may
// list a million. Large clusters have a few hundred.
const maxVersions = 2000

// groupsAndResources is ServerGroupsAndResources of dc, with a limit on the versions of groups.
func groupsAndResources(dc discovery.DiscoveryInterface) ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	all := listedGroups{DiscoveryInterface: dc}
	var err error
	if aggregated, ok := dc.(discovery.AggregatedDiscoveryInterface); ok {
		all.groups, all.resources, all.failed, err = aggregated.GroupsAndMaybeResources()
	} else {
		all.groups, err = dc.ServerGroups()
	}
	if all.groups == nil {
		return nil, nil, err
	}
	versions := 0
	for _, g := range all.groups.Groups {
		versions += len(g.Versions)
	}
	if versions > maxVersions {
		return nil, nil, bounded.Exceeded("the server lists %d versions of API groups, more than %d", versions, maxVersions)
	}
	if len(all.resources) == 0 {
		return discovery.ServerGroupsAndResources(all)
	}
	return all.pointers(), slices.Collect(maps.Values(all.resources)), all.incomplete()
}

// listedGroups are the groups of a server, with their resources if it has aggregated discovery.
type listedGroups struct {
	discovery.DiscoveryInterface

	groups    *metav1.APIGroupList
	resources map[schema.GroupVersion]*metav1.APIResourceList
	failed    map[schema.GroupVersion]error
}

// ServerGroups returns the groups that were listed.
func (l listedGroups) ServerGroups() (*metav1.APIGroupList, error) { return l.groups, nil }

func (l listedGroups) pointers() []*metav1.APIGroup {
	var all []*metav1.APIGroup
	for i := range l.groups.Groups {
		all = append(all, &l.groups.Groups[i])
	}
	return all
}

// incomplete returns the error of client-go for groups that could not be listed, nil without any.
func (l listedGroups) incomplete() error {
	if len(l.failed) == 0 {
		return nil
	}
	return &discovery.ErrGroupDiscoveryFailed{Groups: l.failed}
}

// invalidate makes the next use fetch at once.
func (c *discoveryCache) invalidate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.invalid = true
	if c.now != nil {
		c.changedAt = c.now()
	}
}

func (c *discoveryCache) isInvalid() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.invalid
}

// recordChange records that a CRD or APIService has changed. It never blocks for long.
func (c *discoveryCache) recordChange() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now != nil {
		c.changedAt = c.now()
	}
}

// setWatched sets whether changes are recorded from now on. When recording starts, cached
// capabilities become invalid: they may lack an earlier change.
func (c *discoveryCache) setWatched(watched bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.invalid = c.invalid || watched && !c.watched
	c.watched = watched
}
