// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// sampleEvery is how often metrics are read: a series of a release goes with it.
const sampleEvery = 500 * time.Millisecond

// Canaries looks for values of Secrets where people without access to Secrets may
// see them. Every Secret of the cluster makes canaries, whoever made it, so no test
// has to do anything for it. Looked through is every version there ever was of the
// status and metadata of HelmReleases and Operations, of Events and of the metadata
// of what Operations made, and all logs, metrics and messages that were handed to it.
//
// All of it is kept until Leaks, because a Secret may become known after what leaks
// it. Methods may be called concurrently; those of nil do nothing.
type Canaries struct {
	api     dynamic.Interface
	stop    context.CancelFunc
	running sync.WaitGroup
	watches []*canaryWatch

	mu      sync.Mutex
	birds   *aviary
	texts   map[string]string // where a text was seen first
	seen    map[string]int    // how many texts, by what they are of
	logs    map[string]bool
	metrics map[int]metricsSource
	next    int
}

type metricsSource struct {
	name string
	read func(context.Context) ([]string, error)
}

// WatchCanaries begins to watch a cluster. Its requests carry the harness's user
// agent.
func WatchCanaries(config *rest.Config) (*Canaries, error) {
	config = rest.CopyConfig(config)
	config.UserAgent, config.QPS, config.Timeout, config.WrapTransport = UserAgent, -1, 0, nil
	api, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &Canaries{
		api: api, stop: stop, birds: newAviary(), texts: map[string]string{}, seen: map[string]int{},
		logs: map[string]bool{}, metrics: map[int]metricsSource{},
	}
	for _, k := range watchedKinds() {
		w := &canaryWatch{canaryKind: k, canaries: c}
		c.watches = append(c.watches, w)
		c.running.Go(func() { w.follow(ctx) })
	}
	c.running.Go(func() { c.sample(ctx) })
	return c, nil
}

// Add makes a canary of what is secret and in no Secret, such as the password in a
// URL.
func (c *Canaries) Add(name, value string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.birds.add(name, value)
}

// Read looks through a text of some sort, such as what a receiver of notifications
// got.
func (c *Canaries) Read(sort, where, text string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[sort]++
	if _, known := c.texts[text]; !known && len(text) >= minForm {
		c.texts[text] = sort + " " + where
	}
}

// Log looks through a file, at the end. Lines may be added until then.
func (c *Canaries) Log(path string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logs[path] = true
}

// Metrics looks through the series that somebody has, again and again, until the
// function it returns is called, which looks once more. read may fail: a process may
// have ended.
func (c *Canaries) Metrics(name string, read func(context.Context) ([]string, error)) (last func(context.Context)) {
	if c == nil {
		return func(context.Context) {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	id, source := c.next, metricsSource{name, read}
	c.metrics[id] = source
	return func(ctx context.Context) {
		c.scrape(ctx, source)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.metrics, id)
	}
}

func (c *Canaries) sample(ctx context.Context) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.scrapeAll(ctx)
		}
	}
}

func (c *Canaries) scrapeAll(ctx context.Context) {
	c.mu.Lock()
	sources := slices.Collect(maps.Values(c.metrics))
	c.mu.Unlock()
	for _, s := range sources {
		c.scrape(ctx, s)
	}
}

func (c *Canaries) scrape(ctx context.Context, s metricsSource) {
	series, err := s.read(ctx)
	if err != nil {
		return
	}
	for _, text := range series {
		c.Read("metric", "of "+s.name, text)
	}
}

// Seen returns how many texts there were of some sort, such as HelmRelease, Event,
// Secret, metric or log.
func (c *Canaries) Seen(sort string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[sort]
}

// Leaks returns where which value was seen so far, in words that do not tell it.
func (c *Canaries) Leaks(ctx context.Context) ([]string, error) {
	if c == nil {
		return nil, nil
	}
	group, watching := errgroup.WithContext(ctx)
	for _, w := range c.watches {
		group.Go(func() error { return w.catchUp(watching) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	c.scrapeAll(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	var leaks []string
	for text, where := range c.texts {
		leaks = append(leaks, c.birds.find(where, text)...)
	}
	for path := range c.logs {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		n := 0
		for line := range strings.Lines(string(content)) {
			n++
			leaks = append(leaks, c.birds.find(fmt.Sprintf("log %s:%d", path, n), line)...)
		}
		c.seen["log"] = max(n, c.seen["log"])
	}
	slices.Sort(leaks)
	return slices.Compact(leaks), nil
}

// maxLeaks is how many leaks are told of.
const maxLeaks = 50

// Check ends the watch and returns an error if a value was seen.
func (c *Canaries) Check(ctx context.Context) error {
	if c == nil {
		return nil
	}
	leaks, err := c.Leaks(ctx)
	c.stop()
	c.running.Wait()
	if err != nil || len(leaks) == 0 {
		return err
	}
	return errors.New(fmt.Sprint("values of Secrets are told in ", len(leaks), " places:\n  ", strings.Join(leaks[:min(maxLeaks, len(leaks))], "\n  ")))
}
