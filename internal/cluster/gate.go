// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pintle-dev/pintle/internal/apiretry"
)

const (
	// patience is how long a request may go without an answer before it is found out
	// whether there is anybody to answer. It is not cut off for that.
	patience = 5 * time.Second
	// probeTimeout bounds a probe, and so how long a cluster can be suspected.
	probeTimeout = 10 * time.Second
)

// Unreachable is the error of whatever wants to use a cluster that does not answer.
type Unreachable struct {
	// Host is the address of the API server, without any path. Of what only a cloud can
	// lead to, it is what the cluster is called there.
	Host string
	// Cloud is the provider that was asked and leads nowhere; empty if it is the cluster
	// itself. Key is that of a ConfigMap which Host is taken from then.
	Cloud string
	Key   string
	// Checking is true if it is about to be found out whether anybody answers: there is
	// nothing to be said yet. Since and Cause may be zero then.
	Checking bool
	// Since is when that was noticed, and Cause the last failure. It is the same for
	// the same failure, and quotes nothing of a kubeconfig but the server's address.
	Since time.Time
	Cause string
}

// Error implements error. The text does not change until the cause does.
func (u *Unreachable) Error() string {
	if u.Checking {
		return u.Host + " is being tried"
	}
	if u.Cloud != "" {
		return fmt.Sprintf("there has been no way to %s since %s: %s; it is tried again within %s", u.Host, u.Since.UTC().Format(time.RFC3339), u.Cause, longestPause)
	}
	return fmt.Sprintf("%s has not been reachable since %s: %s; it is tried again within %s", u.Host, u.Since.UTC().Format(time.RFC3339), u.Cause, longestPause)
}

// gate stands before all connections that lead to a cluster by the same
// kubeconfig. Two kubeconfigs never share one: one that is wrong is no reason to keep
// others from a cluster. It may be used concurrently.
type gate struct {
	host string
	now  func() time.Time
	// running reports whether anybody sends probes. Without, everything goes through.
	running func() bool
	// kick makes whoever sends probes look at the gate. It does not block.
	kick func()
	// probe sends a request past the gate, on a network connection of its own.
	probe func(ctx context.Context) error
	// bearer authenticates what goes through; nil if what leads there holds credentials.
	bearer *bearer
	// via is what found the cluster, and of is what is found behind the gate of a cloud;
	// nil for others.
	via *locator
	of  *Workload

	mu      sync.Mutex
	breaker breaker
	// waiters are those that are woken when there is something new.
	waiters map[types.NamespacedName]struct{}
	// asked is when somebody wanted to use the cluster last, and wanted is true if that
	// was after the last probe: nobody else is served by another one.
	asked   time.Time
	wanted  bool
	flights map[*flight]struct{}
}

// flight is a request that is under way, until its body has been read.
type flight struct {
	gate   *gate
	cancel context.CancelCauseFunc
	// slow tells that there is no answer yet.
	slow *time.Timer
}

func newGate(host string, now func() time.Time, running func() bool, kick func()) *gate {
	return &gate{
		host: host, now: now, running: running, kick: kick,
		waiters: map[types.NamespacedName]struct{}{}, flights: map[*flight]struct{}{},
	}
}

// admit returns nil if who may go on, and else wakes it once there is news.
func (g *gate) admit(who types.NamespacedName) *Unreachable {
	if !g.running() {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ask()
	if g.breaker.phase == sound {
		delete(g.waiters, who)
		return nil
	}
	g.waiters[who] = struct{}{}
	return g.unreachable()
}

func (g *gate) leave(who types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.waiters, who)
}

// ask is called with the mutex held.
func (g *gate) ask() {
	now := g.now()
	g.asked = now
	g.breaker.ask(now)
	if !g.wanted && g.breaker.phase != sound {
		g.wanted = true
		g.kick()
	}
}

// unreachable is called with the mutex held.
func (g *gate) unreachable() *Unreachable {
	u := &Unreachable{Host: g.host, Checking: g.breaker.phase != broken, Since: g.breaker.since, Cause: g.breaker.cause}
	if g.of != nil {
		u.Cloud, u.Key = g.of.Cloud, g.of.key()
	}
	return u
}

// await wakes who once there is news, for which it brings about a probe.
func (g *gate) await(who types.NamespacedName) *Unreachable {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.breaker.doubt(g.now(), "")
	g.ask()
	g.waiters[who] = struct{}{}
	return g.unreachable()
}

// closed returns an error if nothing goes through.
func (g *gate) closed() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.breaker.phase != broken {
		return nil
	}
	return g.unreachable()
}

// doubt is told that a request was not answered.
func (g *gate) doubt(cause string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.breaker.doubt(g.now(), cause) {
		g.wanted = true
		g.kick()
	}
}

// begin reports whether a probe is to be sent now, which then has begun, and if not
// when to look again; zero is when somebody kicks.
func (g *gate) begin(now time.Time) (bool, time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.wanted && len(g.waiters) == 0 {
		return false, time.Time{}
	}
	if g.breaker.due(now) {
		g.breaker.probing, g.wanted = true, false
		return true, time.Time{}
	}
	if g.breaker.probing || g.breaker.phase == sound {
		return false, time.Time{}
	}
	return false, g.breaker.next
}

// end takes the outcome of a probe. It returns whom to wake, and whether the
// cluster became unreachable or reachable by it. What is under way in a cluster that is not there ends.
func (g *gate) end(err error) (wake []types.NamespacedName, opened, closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	cause := ""
	if err != nil {
		cause = apiretry.Cause(err)
	}
	news, opened, closed := g.breaker.probed(g.now(), cause)
	if news {
		for who := range g.waiters {
			wake = append(wake, who)
		}
		clear(g.waiters)
	}
	if opened {
		for f := range g.flights {
			f.cancel(g.unreachable())
		}
	}
	return wake, opened, closed
}

// isOpen reports whether nothing goes through.
func (g *gate) isOpen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.breaker.phase == broken
}

// touch notes that somebody knows the way.
func (g *gate) touch(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked = now
}

// unused reports whether nobody has asked for the cluster for a while.
func (g *gate) unused(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return now.Sub(g.asked) >= maxIdle && len(g.waiters) == 0 && len(g.flights) == 0 && !g.breaker.probing
}

// wrap lets requests through next as long as the gate lets them.
func (g *gate) wrap(next http.RoundTripper) http.RoundTripper { return &guarded{gate: g, next: next} }

type guarded struct {
	gate *gate
	next http.RoundTripper
}

// WrappedRoundTripper lets client-go find the transport that holds connections.
func (t *guarded) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *guarded) RoundTrip(req *http.Request) (*http.Response, error) {
	if !t.gate.running() {
		return t.next.RoundTrip(req)
	}
	ctx, f, err := t.gate.enter(req.Context())
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	resp, err := t.next.RoundTrip(req.WithContext(ctx))
	f.slow.Stop()
	if err != nil {
		err = f.failed(ctx, err)
		f.land()
		return nil, err
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		// What follows is no body, and ends with the connection.
		t.gate.forget(f)
		return resp, nil
	}
	resp.Body = &watchedBody{ReadCloser: resp.Body, flight: f, ctx: ctx}
	return resp, nil
}

// enter begins a request.
func (g *gate) enter(asked context.Context) (context.Context, *flight, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ask()
	if g.breaker.phase == broken {
		return nil, nil, g.unreachable()
	}
	ctx, cancel := context.WithCancelCause(asked)
	f := &flight{gate: g, cancel: cancel, slow: time.AfterFunc(patience, func() { g.doubt("no answer within " + patience.String()) })}
	g.flights[f] = struct{}{}
	return ctx, f, nil
}

// failed says what to make of an error. It is no fault of the cluster if whoever
// asked gave up, and not news if we did.
func (f *flight) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	f.gate.doubt(apiretry.Cause(err))
	return err
}

func (f *flight) land() {
	f.gate.forget(f)
	f.cancel(context.Canceled)
}

func (g *gate) forget(f *flight) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.flights, f)
}

// watchedBody notices when a connection breaks while somebody reads from it, as
// those do who watch.
type watchedBody struct {
	io.ReadCloser

	flight *flight
	ctx    context.Context //nolint:containedctx // it is the request's, as the body is
	closed atomic.Bool
}

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF && !b.closed.Load() { //nolint:errorlint // it is never wrapped: others compare it so
		err = b.flight.failed(b.ctx, err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *watchedBody) Close() error {
	// Whoever still reads gets an error, which nobody is to be blamed for.
	b.closed.Store(true)
	err := b.ReadCloser.Close()
	b.flight.land()
	return err
}

// prober returns a function that asks a server who it is, and returns an error if
// nobody answers, or only somebody who says that there is nobody behind. It does not
// matter what else the answer is: who is refused has reached somebody.
func prober(client *http.Client, host string) (func(ctx context.Context) error, error) {
	address, err := url.JoinPath(host, "version")
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close() //nolint:errcheck // nothing is done with it
		switch resp.StatusCode {
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return fmt.Errorf("there is nobody behind it (%d %s)", resp.StatusCode, http.StatusText(resp.StatusCode))
		}
		return nil
	}, nil
}
