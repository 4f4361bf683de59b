// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
)

// SlowAfter is after how long a download is slow.
const SlowAfter = 5 * time.Second

const (
	// perHost is how many downloads from one server run at a time: one that does not
	// answer holds so many connections and no more, and other servers none.
	perHost = 8
	// remembered is how long those who were told to come back can collect what came
	// of a download, after its end. A thousand of them take their time.
	remembered = time.Minute
)

// host is a server that something is downloaded from.
type host struct {
	slots chan struct{}
	// users are its downloads, and late those of them that nobody waits for any
	// more. While there are any, nobody waits for another one either: a thousand
	// artifacts of a server that says nothing would take a thousand times the grace.
	users, late int
}

// download is one download for all who need it. Its fields do not change once it
// runs, but for those that are named below.
type download struct {
	key      string
	artifact Artifact
	host     *host
	// ended and late are closed when it ends, and when those who wait should go.
	ended, late chan struct{}

	// The store guards these: what came of it, which never changes once it is set;
	// that people should know how long it takes; whom it was told to come back.
	got     *outcome
	slow    bool
	waiters []string
}

// join returns the download of an artifact, which it begins if there is none, and
// whether it is worth waiting for.
func (s *Store) join(ctx context.Context, a Artifact) (d *download, wait bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, running := s.running[a.key()]
	if !running {
		d = s.begin(ctx, a)
	}
	return d, d.host.late == 0
}

func (s *Store) begin(ctx context.Context, a Artifact) *download {
	name := hostOf(a.URL)
	h := s.hosts[name]
	if h == nil {
		h = &host{slots: make(chan struct{}, perHost)}
		s.hosts[name] = h
	}
	h.users++
	a.got = nil
	d := &download{key: a.key(), artifact: a, host: h, ended: make(chan struct{}), late: make(chan struct{})}
	s.running[d.key] = d
	// Whoever comes first downloads for all, so its context must not end the
	// download; the client's timeout does.
	go s.run(context.WithoutCancel(ctx), d, name)
	return d
}

// run downloads and tells everybody.
func (s *Store) run(ctx context.Context, d *download, hostname string) {
	grace := time.AfterFunc(s.grace, func() { s.beLate(d) })
	long := time.AfterFunc(SlowAfter, func() { s.beSlow(d) })
	d.host.slots <- struct{}{}
	begun := s.clock()
	got := s.fetch(ctx, d.artifact)
	s.observed(s.clock().Sub(begun), int64(len(got.data)), got.err)
	<-d.host.slots
	grace.Stop()
	long.Stop()

	s.mu.Lock()
	defer s.mu.Unlock()
	d.got = got
	delete(s.running, d.key)
	if d.isLate() {
		d.host.late--
	}
	if d.host.users--; d.host.users == 0 {
		delete(s.hosts, hostname)
	}
	if len(d.waiters) > 0 {
		time.AfterFunc(remembered, func() { s.forget(d) })
	}
	close(d.ended)
}

func (s *Store) beLate(d *download) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.got == nil {
		d.host.late++
		close(d.late)
	}
}

func (d *download) isLate() bool {
	select {
	case <-d.late:
		return true
	default:
		return false
	}
}

func (s *Store) beSlow(d *download) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.slow = true
}

// forget drops what nobody came back for: a release may be gone, or have no use
// for the artifact any more.
func (s *Store) forget(d *download) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, waiter := range d.waiters {
		if s.tickets[waiter] == d {
			delete(s.tickets, waiter)
		}
	}
}

// fetch downloads an artifact and finds out what it is, unless that is known. What
// goes wrong while strange bytes are read must not end the process.
func (s *Store) fetch(ctx context.Context, a Artifact) (got *outcome) {
	defer func() {
		if cause := recover(); cause != nil {
			got = &outcome{err: fmt.Errorf("chart in %s cannot be read: %v", redacted(a.URL), cause)}
		}
	}()
	data, err := s.download(ctx, a)
	if err != nil {
		return &outcome{err: err}
	}
	s.mu.Lock()
	s.cache.keepBytes(a.Digest, data)
	_, known := s.cache.identities.Get(a.Digest)
	s.mu.Unlock()
	got = &outcome{data: data}
	if known {
		return got
	}
	if got.chart, got.err = got.parse(a); got.err == nil {
		s.identified(a.Digest, got.chart)
	}
	return got
}

func (s *Store) download(ctx context.Context, a Artifact) ([]byte, error) {
	// What is said of the artifact, by us and by those we ask, names it like this.
	shown := redacted(a.URL)
	want, err := digest.Parse(a.Digest)
	if err != nil {
		return nil, fmt.Errorf("artifact %s has no usable digest %q: %w", shown, a.Digest, err)
	}
	req, err := newRequest(ctx, a.URL)
	if err != nil {
		return nil, err
	}
	resp, err := s.client.Do(req)
	var failed *url.Error
	if errors.As(err, &failed) && failed.Timeout() {
		// In the client's own words it would be another one almost every time, and news
		// each time.
		return nil, fmt.Errorf("artifact cannot be downloaded: GET %s was not answered within %s", shown, s.client.Timeout)
	}
	if failed != nil && strings.HasPrefix(failed.Err.Error(), "failed to parse Location") {
		// Its text quotes all of an address that is none.
		return nil, fmt.Errorf("artifact cannot be downloaded: GET %s redirects to what is no URL", shown)
	}
	if failed != nil {
		return nil, fmt.Errorf("artifact cannot be downloaded: GET %s: %w", redacted(failed.URL), failed.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("artifact cannot be downloaded: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, fmt.Errorf("%w: %s", ErrNotFound, shown)
	default:
		// In our words: a server's own may be a megabyte.
		return nil, fmt.Errorf("artifact cannot be downloaded: GET %s answered %d %s", shown, resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, s.maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("artifact %s broke off: %w", shown, err)
	}
	if int64(len(data)) > s.maxBytes {
		return nil, fmt.Errorf("artifact %s is larger than the limit of %d bytes", shown, s.maxBytes)
	}
	if got := want.Algorithm().FromBytes(data); got != want {
		return nil, fmt.Errorf("artifact %s has digest %s, but its source announced %s", shown, got, want)
	}
	return data, nil
}

// newRequest asks for a URL if it is one of a web server.
func newRequest(ctx context.Context, raw string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, raw, nil)
	if err != nil {
		// Its error quotes all of it.
		return nil, fmt.Errorf("artifact URL %q cannot be read", redacted(raw))
	}
	if !isWeb(req.URL) {
		return nil, fmt.Errorf("artifact %s cannot be downloaded: %w", redacted(raw), errScheme)
	}
	return req, nil
}

var errScheme = errors.New("only http and https URLs are")

func isWeb(u *url.URL) bool { return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" }

// maxRedirects is how often a server may send a download elsewhere.
const maxRedirects = 5

// CheckRedirect is for http.Client's CheckRedirect. It refuses to follow artifacts to
// anything but a web server, from https to http, and for long.
func CheckRedirect(req *http.Request, via []*http.Request) error {
	switch {
	case !isWeb(req.URL):
		return fmt.Errorf("the server redirects to %s: %w", redacted(req.URL.String()), errScheme)
	case len(via) > 0 && via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https":
		return fmt.Errorf("the server redirects from https to %s", redacted(req.URL.String()))
	case len(via) > maxRedirects:
		return fmt.Errorf("the server redirects more than %d times", maxRedirects)
	}
	return nil
}

// hostOf returns the server of a URL; all that cannot be read share one.
func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Host
}
