// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
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

// sampleEvery is the interval of metric scrapes. The series of a release disappear with the
// release.
const sampleEvery = 500 * time.Millisecond

// Canaries searches for values of Secrets in places that are readable without access to Secrets.
// Every Secret of the cluster is included, so tests need no code for it. It searches every version
// of the status and metadata of HelmReleases, Operations and ReleasePlans, of Events, and of the
// metadata of objects that Operations create. It also searches all logs, metrics and messages that
// are passed to it.
//
// All texts are kept until Leaks is called, because a Secret may become known after the text with
// its value. Methods are safe for concurrent use; those of nil do nothing.
type Canaries struct {
	api     dynamic.Interface
	stop    context.CancelFunc
	running sync.WaitGroup
	watches []*canaryWatch

	mu      sync.Mutex
	matcher *secretMatcher
	texts   map[string]string // where a text was found first
	seen    map[string]int    // number of texts by source
	logs    map[string]bool
	metrics map[int]metricsSource
	next    int
}

type metricsSource struct {
	name string
	read func(context.Context) ([]string, error)
}

// WatchCanaries starts to watch a cluster. Its requests have the user agent of the harness.
func WatchCanaries(config *rest.Config) (*Canaries, error) {
	config = rest.CopyConfig(config)
	config.UserAgent, config.QPS, config.Timeout, config.WrapTransport = UserAgent, -1, 0, nil
	api, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &Canaries{
		api: api, stop: stop, matcher: newSecretMatcher(), texts: map[string]string{}, seen: map[string]int{},
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

// Add adds a secret value that is in no Secret, such as the password in a URL.
func (c *Canaries) Add(name, value string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.matcher.add(name, value)
}

// Read searches a text of the given sort, such as a received notification.
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

// Log adds a log file. It is searched at the end, so lines may be added until then.
func (c *Canaries) Log(path string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logs[path] = true
}

// Metrics searches the series of a process repeatedly. The returned function ends the repetition
// after a last search. read may fail, because the process may have ended.
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

// Seen returns the number of texts of one sort, such as HelmRelease, Event, Secret, metric or log.
func (c *Canaries) Seen(sort string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[sort]
}

// Leaks returns a description of each leaked value found so far. It does not contain the value.
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
		leaks = append(leaks, c.matcher.find(where, text)...)
	}
	for path := range c.logs {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		n := 0
		for line := range strings.Lines(string(content)) {
			n++
			leaks = append(leaks, c.matcher.find(fmt.Sprintf("log %s:%d", path, n), line)...)
		}
		c.seen["log"] = max(n, c.seen["log"])
	}
	slices.Sort(leaks)
	return slices.Compact(leaks), nil
}

// maxLeaks is the maximum number of leaks in an error.
const maxLeaks = 50

// LeakError reports values of Secrets in public places. It does not contain the values.
type LeakError struct{ Leaks []string }

func (e LeakError) Error() string {
	return fmt.Sprint("values of Secrets were found in ", len(e.Leaks), " places:\n  ", strings.Join(e.Leaks[:min(maxLeaks, len(e.Leaks))], "\n  "))
}

// Check ends the watch and returns a LeakError if a value was found.
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
	return LeakError{leaks}
}
