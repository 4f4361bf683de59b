// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pintle-dev/pintle/internal/apiretry"
)

const (
	// maxIdle is how long an unused connection or gate is kept. Most HelmReleases are reconciled
	// more often.
	maxIdle = 30 * time.Minute
	// patience is how long a request may go without an answer before a probe is sent. The
	// request itself goes on.
	patience = 5 * time.Second
	// probeTimeout bounds a probe and so the time in phaseSuspected.
	probeTimeout = 10 * time.Second
)

// Unreachable is the error of requests to a cluster that does not answer.
type Unreachable struct {
	// Host is the URL of the API server without a path. If Cloud is set, it is the name that
	// identifies the cluster there.
	Host string
	// Cloud is the provider that gave no access; empty if the cluster itself does not answer.
	Cloud string
	// Key is the key of the ConfigMap that Host is taken from, if Cloud is set.
	Key string
	// Checking is true if a probe has not been answered yet, so that the state is not known.
	// Since and Cause may be zero then.
	Checking bool
	// Since is when the first failure was noticed.
	Since time.Time
	// Slow is true if the cluster is reached, and answers reads too slowly or with errors.
	Slow bool
	// Cause is the last failure. It is equal for equal failures and quotes nothing of a
	// kubeconfig except the address of the server.
	Cause string
}

// Error implements error. The text changes only with the cause.
func (u *Unreachable) Error() string {
	if u.Checking {
		return "the connection to " + u.Host + " is being checked"
	}
	if u.Cloud != "" {
		return fmt.Sprintf("the cloud has not given access to %s since %s: %s", u.Host, u.Since.UTC().Format(time.RFC3339), u.Cause)
	}
	if u.Slow {
		return fmt.Sprintf("%s answers reads too slowly or with errors since %s: %s; nothing is read or changed there meanwhile", u.Host, u.Since.UTC().Format(time.RFC3339), u.Cause)
	}
	return fmt.Sprintf("%s has not been reachable since %s: %s", u.Host, u.Since.UTC().Format(time.RFC3339), u.Cause)
}

// gate rejects requests to a cluster while its breaker is open. All connections by the same
// kubeconfig share a gate. Two kubeconfigs never do: an invalid one must not keep others from the
// cluster. It may be used concurrently.
type gate struct {
	host string
	now  func() time.Time
	// running reports whether probes are sent. If not, the gate rejects nothing.
	running func() bool
	// trigger makes Start check the gate. It does not block.
	trigger func()
	// probe sends a request past the gate, on a network connection of its own. probeRead reads a
	// path in the same way; nil for gates of clouds.
	probe     func(ctx context.Context) error
	probeRead func(ctx context.Context, path string) error
	// tokens authenticates requests; nil if a kubeconfig holds credentials.
	tokens *tokenSource
	// locator located the cluster; nil if it needed no cloud lookup.
	locator *locator
	// workload is the cluster that the gate of a cloud locates; nil for gates of clusters.
	workload *Workload

	mu      sync.Mutex
	breaker breaker
	health  health
	// waiters are the HelmReleases to enqueue when the state changes.
	waiters map[types.NamespacedName]struct{}
	// usedAt is when the cluster was last to be used.
	usedAt time.Time
	// probeWanted is true if that was after the last probe. Without it and without waiters no
	// probe is sent.
	probeWanted bool
	inFlight    map[*inFlight]struct{}
}

// inFlight is a request whose answer has not been read to its end.
type inFlight struct {
	gate   *gate
	cancel context.CancelCauseFunc
	// slow triggers a probe if there is no answer in time.
	slow *time.Timer
	// measured is nil unless the answer counts for the health of the cluster.
	measured *measured
}

func newGate(host string, now func() time.Time, running func() bool, trigger func()) *gate {
	return &gate{
		host: host, now: now, running: running, trigger: trigger,
		waiters: map[types.NamespacedName]struct{}{}, inFlight: map[*inFlight]struct{}{},
	}
}

// admit returns nil if the cluster is reachable. Otherwise it makes key wait for a change.
func (g *gate) admit(key types.NamespacedName) *Unreachable {
	if !g.running() {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.use()
	if g.breaker.phase == phaseReachable {
		delete(g.waiters, key)
		return nil
	}
	g.waiters[key] = struct{}{}
	return g.unreachable()
}

// tokenSource returns the token source of a gate; nil if it has none. The gate of a cloud and the
// gates of the clusters that it located share one.
func (g *gate) tokenSource() *tokenSource {
	if g.tokens == nil && g.locator != nil {
		return g.locator.tokens
	}
	return g.tokens
}

func (g *gate) removeWaiter(key types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.waiters, key)
}

// use records that the cluster is about to be used. It is called with the mutex held.
func (g *gate) use() {
	now := g.now()
	g.usedAt = now
	g.breaker.use(now)
	if !g.probeWanted && g.breaker.phase != phaseReachable {
		g.probeWanted = true
		g.trigger()
	}
}

// unreachable is called with the mutex held.
func (g *gate) unreachable() *Unreachable {
	u := &Unreachable{Host: g.host, Checking: g.breaker.phase != phaseUnreachable, Since: g.breaker.since, Cause: g.breaker.cause}
	_, u.Slow = g.health.Suspect()
	if g.workload != nil {
		u.Cloud, u.Key = g.workload.Cloud, g.workload.key()
	}
	return u
}

// wait makes key wait for a change and triggers a probe.
func (g *gate) wait(key types.NamespacedName) *Unreachable {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.breaker.fail(g.now(), "")
	g.use()
	g.waiters[key] = struct{}{}
	return g.unreachable()
}

// openError returns an error if the breaker is open.
func (g *gate) openError() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.breaker.phase != phaseUnreachable {
		return nil
	}
	return g.unreachable()
}

// fail records that a request was not answered.
func (g *gate) fail(cause string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.breaker.fail(g.now(), cause) {
		g.probeWanted = true
		g.trigger()
	}
}

// startProbe reports whether a probe must be sent now, and records that it is in flight. If not, it
// returns when the next probe is due; zero means after the next trigger.
func (g *gate) startProbe(now time.Time) (bool, time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.probeWanted && len(g.waiters) == 0 {
		return false, time.Time{}
	}
	if g.breaker.due(now) {
		g.breaker.probing, g.probeWanted = true, false
		return true, time.Time{}
	}
	if g.breaker.probing || g.breaker.phase == phaseReachable {
		return false, time.Time{}
	}
	return false, g.breaker.next
}

// endProbe records the outcome of a probe. It returns the keys to enqueue and whether the breaker
// opened or closed. When it opens, requests in flight are canceled.
func (g *gate) endProbe(err error) (enqueue []types.NamespacedName, opened, closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	cause := ""
	if err != nil {
		cause = apiretry.Cause(err)
	}
	if err == nil {
		g.health.RecordProbe()
	}
	changed, opened, closed := g.breaker.recordProbe(g.now(), cause)
	if changed {
		for key := range g.waiters {
			enqueue = append(enqueue, key)
		}
		clear(g.waiters)
	}
	if opened {
		for f := range g.inFlight {
			f.cancel(g.unreachable())
		}
	}
	return enqueue, opened, closed
}

// isOpen reports whether the breaker is open.
func (g *gate) isOpen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.breaker.phase == phaseUnreachable
}

// answers reports whether the cluster is reachable, or it is not known because no probes are sent.
func (g *gate) answers() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.breaker.phase == phaseReachable || !g.running()
}

// touch records a use without a request, so that the gate is kept.
func (g *gate) touch(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.usedAt = now
}

// idle reports whether the cluster was not used for maxIdle.
func (g *gate) idle(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return now.Sub(g.usedAt) >= maxIdle && len(g.waiters) == 0 && len(g.inFlight) == 0 && !g.breaker.probing
}

// wrap returns a transport that sends requests through next unless the breaker is open.
func (g *gate) wrap(next http.RoundTripper) http.RoundTripper { return &gated{gate: g, next: next} }

type gated struct {
	gate *gate
	next http.RoundTripper
}

// WrappedRoundTripper lets client-go find the innermost transport.
func (t *gated) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *gated) RoundTrip(req *http.Request) (*http.Response, error) {
	if !t.gate.running() {
		return t.next.RoundTrip(req)
	}
	ctx, f, err := t.gate.start(req)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	resp, err := t.next.RoundTrip(req.WithContext(ctx))
	f.slow.Stop()
	if err != nil {
		err = f.recordFailure(ctx, err)
		f.end()
		return nil, err
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		// The connection is no longer a body, and its end is not observed.
		t.gate.remove(f)
		return resp, nil
	}
	f.measured.recordAnswer(resp.StatusCode)
	resp.Body = &observedBody{ReadCloser: resp.Body, request: f, ctx: ctx}
	return resp, nil
}

// start records a request. It returns an error if the breaker is open.
func (g *gate) start(req *http.Request) (context.Context, *inFlight, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.use()
	if g.breaker.phase == phaseUnreachable {
		return nil, nil, g.unreachable()
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	f := &inFlight{gate: g, cancel: cancel, slow: time.AfterFunc(patience, func() { g.fail("no answer within " + patience.String()) })}
	if isMeasured(req) {
		f.measured = g.measure(req.URL.Path)
	}
	g.inFlight[f] = struct{}{}
	return ctx, f, nil
}

// recordFailure records a failed request and returns its error. A canceled request does not count:
// the client or the breaker canceled it.
func (f *inFlight) recordFailure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		if slow, ok := errors.AsType[*apiretry.SlowError](context.Cause(ctx)); ok && !slow.Total {
			f.measured.end(true)
		}
		f.measured.drop()
		return context.Cause(ctx)
	}
	f.measured.drop()
	f.gate.fail(apiretry.Cause(err))
	return err
}

func (f *inFlight) end() {
	f.gate.remove(f)
	f.measured.drop()
	f.cancel(context.Canceled)
}

func (g *gate) remove(f *inFlight) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.inFlight, f)
}

// observedBody records a connection that breaks while the body of an answer is read, such as a
// watch.
type observedBody struct {
	io.ReadCloser

	request *inFlight
	ctx     context.Context //nolint:containedctx // of one request
	closed  atomic.Bool
}

// Read implements io.Reader.
func (b *observedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF && !b.closed.Load() { //nolint:errorlint // io.Reader returns io.EOF unwrapped
		err = b.request.recordFailure(b.ctx, err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *observedBody) Close() error {
	// A concurrent Read fails now, which is not a failure of the cluster.
	b.closed.Store(true)
	err := b.ReadCloser.Close()
	if b.ctx.Err() == nil {
		b.request.measured.end(false)
	}
	b.request.end()
	return err
}
