// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
)

const (
	// watchedFor is how long a catalogue is trusted while somebody watches for
	// changes of definitions: an API server that is replaced by a newer one may offer
	// new kinds in groups that it had.
	watchedFor = 10 * time.Minute
	// unwatchedFor is how long it is trusted if nobody does, or if the server could
	// not tell all.
	unwatchedFor = 10 * time.Second
	// settling is how long after a change the server may go on to learn about it: a
	// definition is called established a moment before it is served.
	settling = 5 * time.Second
	// between is the least time between two catalogues that changes ask for: a few
	// hundred definitions at once are not to be a few hundred catalogues.
	between = time.Second
)

// catalogue keeps what the API server of one cluster offers, for all connections
// that lead there: discovery tells everybody the same. It may be used
// concurrently.
type catalogue struct {
	// now is nil if nothing is to be trusted that was asked for earlier.
	now func() time.Time
	// sleep waits; time.Sleep but in tests.
	sleep func(time.Duration)

	// fetching is held while the server is asked, so that it is asked once.
	fetching sync.Mutex

	mu   sync.Mutex
	held *offer
	// asked is when the server was asked for what is held.
	asked time.Time
	// changed is when definitions changed last, as far as we were told.
	changed time.Time
	watched bool
	// spoilt is set if what is held is known to be out of date.
	spoilt bool
}

// offer is what an API server offers. It is never changed.
type offer struct {
	version *version.Info
	kinds   *kinds
	// incomplete is client-go's error that says which groups the server could not
	// tell about; nil if it told all.
	incomplete error
}

func newCatalogue(now func() time.Time) *catalogue { return &catalogue{now: now, sleep: time.Sleep} }

// verdict is what can be done with what is held.
type verdict int

const (
	good verdict = iota
	// stale means to ask now, early to ask in a moment.
	stale
	early
)

// judge says whether what is held is to be trusted, and if it is too early to ask
// again, how long that takes.
func (c *catalogue) judge() (*offer, verdict, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil || c.spoilt || c.now == nil {
		return c.held, stale, 0
	}
	age := c.now().Sub(c.asked)
	trusted := unwatchedFor
	if c.watched && c.held.incomplete == nil {
		trusted = watchedFor
	}
	switch {
	case age >= trusted:
		return c.held, stale, 0
	case c.asked.After(c.changed.Add(settling)):
		return c.held, good, 0
	case age >= between:
		return c.held, stale, 0
	case c.asked.After(c.changed):
		return c.held, good, 0
	}
	return c.held, early, between - age
}

// current returns what the server offers, as far as anybody can know: it asks dc
// unless what is held can be trusted.
func (c *catalogue) current(dc discovery.DiscoveryInterface) (*offer, error) {
	if held, v, _ := c.judge(); v == good {
		return held, nil
	}
	c.fetching.Lock()
	defer c.fetching.Unlock()
	// Somebody else may have asked meanwhile. Who is early waits once: others then
	// find what it has asked for.
	held, v, pause := c.judge()
	if v == good {
		return held, nil
	}
	if v == early {
		c.sleep(pause)
	}
	return c.fetch(dc)
}

// recent is current for those who can do with what is held if it is too early to
// ask again, or if nothing was said against it.
func (c *catalogue) recent(dc discovery.DiscoveryInterface) (*offer, error) {
	usable := func() *offer {
		held, v, _ := c.judge()
		if held != nil && (v != stale || c.now == nil && !c.isSpoilt()) {
			return held
		}
		return nil
	}
	if held := usable(); held != nil {
		return held, nil
	}
	c.fetching.Lock()
	defer c.fetching.Unlock()
	if held := usable(); held != nil {
		return held, nil
	}
	return c.fetch(dc)
}

// fetch asks the server. An error is not kept: somebody else may be allowed to
// ask.
func (c *catalogue) fetch(dc discovery.DiscoveryInterface) (*offer, error) {
	c.mu.Lock()
	var asked time.Time
	if c.now != nil {
		asked = c.now()
	}
	// What is said against the catalogue from now on counts for the new one too.
	c.spoilt = false
	c.mu.Unlock()
	next, err := ask(dc)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.spoilt = true
		return nil, err
	}
	c.held, c.asked = next, asked
	return next, nil
}

func ask(dc discovery.DiscoveryInterface) (*offer, error) {
	server, err := dc.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("could not get server version from Kubernetes: %w", err)
	}
	groups, resources, err := dc.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("could not get apiVersions from Kubernetes: %w", err)
	}
	return &offer{version: server, kinds: newKinds(groups, resources), incomplete: err}, nil
}

// spoil makes the next who asks ask the server, at once.
func (c *catalogue) spoil() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spoilt = true
	if c.now != nil {
		c.changed = c.now()
	}
}

func (c *catalogue) isSpoilt() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spoilt
}

// note says that definitions changed. It never blocks for long.
func (c *catalogue) note() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now != nil {
		c.changed = c.now()
	}
}

// setWatched says whether somebody calls note. What is held when that begins may
// miss what changed before.
func (c *catalogue) setWatched(watched bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spoilt = c.spoilt || watched && !c.watched
	c.watched = watched
}
