// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/internal/apiretry"
)

// remote is another cluster behind a gate, whose answers tests set.
type remote struct {
	*Connections
	*Connection

	mu sync.Mutex
	// answer answers requests, and probed probes.
	answer, probed func(ctx context.Context) error
	sent, probes   int
	enqueued       []string
	reported       []string
}

func succeed(context.Context) error { return nil }
func refuse(context.Context) error  { return syscall.ECONNREFUSED }

// silent does not answer.
func silent(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// RoundTrip implements http.RoundTripper.
func (f *remote) RoundTrip(req *http.Request) (*http.Response, error) {
	f.mu.Lock()
	f.sent++
	answer := f.answer
	f.mu.Unlock()
	if err := answer(req.Context()); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}")), Request: req}, nil
}

// newRemote returns a cluster that answers. It has to be called in a synctest bubble.
func newRemote(t *testing.T) *remote {
	t.Helper()
	f := &remote{answer: succeed, probed: succeed, Connections: NewConnections(&rest.Config{Host: "http://local"}, Options{Now: time.Now})}
	f.Connection = f.mustFor(t, Identity{Kubeconfig: kubeconfigFor("https://far:6443/path", "hunter2")})
	f.gate.probe = func(ctx context.Context) error {
		f.mu.Lock()
		f.probes++
		probed := f.probed
		f.mu.Unlock()
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		return probed(ctx)
	}
	f.SetCallbacks(Callbacks{
		Enqueue:     func(key types.NamespacedName) { f.note(&f.enqueued, key.Name) },
		Unreachable: func(host string, is bool) { f.note(&f.reported, fmt.Sprint(host, " ", is)) },
		Reachable:   func(string) { f.note(&f.reported, "reachable") },
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- f.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	return f
}

func (f *remote) note(list *[]string, what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*list = append(*list, what)
}

func (f *remote) set(answer, probed func(context.Context) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer, f.probed = answer, probed
}

func (f *remote) counts() (sent, probes int, enqueued, reported []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sent, f.probes, slices.Sorted(slices.Values(f.enqueued)), slices.Clone(f.reported)
}

// send sends a request through the gate and reads the answer.
func (f *remote) send(t *testing.T) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://far:6443/path", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := f.gate.wrap(f).RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it cannot fail
	_, err = io.ReadAll(resp.Body)
	return err
}

func (f *remote) admit(name string) *Unreachable {
	return f.Admit(f.Connection, types.NamespacedName{Name: name})
}

// open makes the cluster reachable and then unreachable.
func (f *remote) open(t *testing.T) {
	t.Helper()
	_ = f.admit("first")
	time.Sleep(time.Minute)
	f.set(refuse, refuse)
	if err := f.send(t); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("the first request got %v, want its own error", err)
	}
	synctest.Wait()
}

// TestFirstReconciliation: the first reconciliation ends at once and is enqueued after a probe.
func TestFirstReconciliation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newRemote(t)
		if u := f.admit("a"); u == nil || !u.Checking {
			t.Fatalf("admitted although the state of the cluster is not known: %v", u)
		}
		synctest.Wait()
		if _, probes, enqueued, reported := f.counts(); probes != 1 || !slices.Equal(enqueued, []string{"a"}) || len(reported) > 0 {
			t.Errorf("%d probes, enqueued %s, reported %s", probes, enqueued, reported)
		}
		if u := f.admit("a"); u != nil {
			t.Error(u)
		}
	})
}

// TestUnreachableMessage: the message contains the host and the failure and nothing else of the
// kubeconfig.
func TestUnreachableMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newRemote(t)
		f.set(succeed, refuse)
		_ = f.admit("a")
		synctest.Wait()
		u := f.admit("a")
		if u == nil || u.Checking || u.Error() != "https://far:6443 has not been reachable since 2000-01-01T00:00:00Z: connection refused" {
			t.Errorf("got %v", u)
		}
		if _, _, enqueued, _ := f.counts(); !slices.Equal(enqueued, []string{"a"}) {
			t.Errorf("enqueued %s, want a", enqueued)
		}
	})
}

// TestOpen: no request is sent to an unreachable cluster, none waits, and all HelmReleases are
// enqueued once it answers again.
func TestOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newRemote(t)
		f.open(t)
		before, _, _, reported := f.counts()
		if !slices.Equal(reported, []string{"https://far:6443 true"}) {
			t.Errorf("reported %s", reported)
		}
		began := time.Now()
		for _, name := range []string{"a", "b"} {
			if u := f.admit(name); u == nil || u.Checking || u.Cause != "connection refused" {
				t.Errorf("%s is admitted: %v", name, u)
			}
		}
		var unreachable *Unreachable
		if err := f.send(t); !errors.As(err, &unreachable) || errors.Is(err, syscall.ECONNREFUSED) {
			// client-go repeats requests whose connection was refused.
			t.Errorf("got %v", err)
		}
		if sent, _, _, _ := f.counts(); sent != before || !time.Now().Equal(began) {
			t.Errorf("%d requests were sent, which took %s", sent-before, time.Since(began))
		}
		f.set(succeed, succeed)
		time.Sleep(longestPause)
		synctest.Wait()
		_, _, enqueued, reported := f.counts()
		if !slices.Equal(enqueued, []string{"a", "b", "first"}) || !slices.Equal(reported, []string{"https://far:6443 true", "https://far:6443 false", "reachable"}) {
			t.Errorf("enqueued %s, reported %s", enqueued, reported)
		}
		if u := f.admit("a"); u != nil || f.send(t) != nil {
			t.Errorf("the cluster answers, but %v", u)
		}
	})
}

// TestPeek: a cluster that is not known to answer is refused without a probe or a request, and the
// HelmReleases that wait go on waiting.
func TestPeek(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newRemote(t)
		there := Identity{Kubeconfig: kubeconfigFor("https://far:6443/path", "hunter2")}
		if _, err := f.Peek(there); err == nil {
			t.Error("a cluster that was never asked is known to answer")
		}
		synctest.Wait()
		if _, probes, _, _ := f.counts(); probes != 0 {
			t.Errorf("%d probes", probes)
		}
		f.open(t)
		_ = f.admit("waits")
		sent, probes, _, _ := f.counts()
		if _, err := f.Peek(there); err == nil || err.Error() != "https://far:6443 is not known to answer" {
			t.Errorf("got %v", err)
		}
		if local, err := f.Peek(Identity{}); err != nil || !local.Local() {
			t.Errorf("the controller's own cluster: %v", err)
		}
		synctest.Wait()
		if s, p, _, _ := f.counts(); s != sent || p != probes {
			t.Errorf("%d requests and %d probes", s-sent, p-probes)
		}
		f.set(succeed, succeed)
		time.Sleep(longestPause)
		synctest.Wait()
		if _, _, enqueued, _ := f.counts(); !slices.Contains(enqueued, "waits") {
			t.Errorf("enqueued %s", enqueued)
		}
		if conn, err := f.Peek(there); err != nil || conn.gate != f.gate {
			t.Errorf("a cluster that answers: %v", err)
		}
	})
}

// TestProbesAreFew: an unreachable cluster is probed about once a minute while a HelmRelease waits
// for it, and not otherwise.
func TestProbesAreFew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newRemote(t)
		f.open(t)
		_, before, _, _ := f.counts()
		time.Sleep(time.Hour)
		if _, probes, _, _ := f.counts(); probes != before {
			t.Errorf("%d probes without a waiting HelmRelease", probes-before)
		}
		for n := range 1000 {
			_ = f.admit(fmt.Sprint("r", n))
		}
		time.Sleep(time.Hour)
		if _, probes, _, _ := f.counts(); probes-before < 55 || probes-before > 70 {
			t.Errorf("%d probes in an hour", probes-before)
		}
		// A reconciliation after a long time is admitted soon.
		f.set(succeed, succeed)
		time.Sleep(longestPause)
		if u := f.admit("r0"); u != nil {
			t.Error(u)
		}
	})
}

// TestBrokenConnection: one broken connection rejects no other request.
func TestBrokenConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newRemote(t)
		_ = f.admit("first")
		synctest.Wait()
		time.Sleep(time.Minute)
		f.set(refuse, succeed)
		if err := f.send(t); err == nil {
			t.Fatal("the request succeeded")
		}
		f.set(succeed, succeed)
		if err := f.send(t); err != nil {
			t.Errorf("rejected before a probe was sent: %v", err)
		}
		synctest.Wait()
		if u := f.admit("a"); u != nil {
			t.Error(u)
		}
		if _, probes, _, reported := f.counts(); probes != 2 || len(reported) > 0 {
			t.Errorf("%d probes, reported %s", probes, reported)
		}
	})
}

// TestSilence: requests in flight end a few seconds after a server stopped answering.
func TestSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newRemote(t)
		_ = f.admit("first")
		synctest.Wait()
		f.set(silent, silent)
		began := time.Now()
		var unreachable *Unreachable
		if err := f.send(t); !errors.As(err, &unreachable) || unreachable.Cause != "no answer in time" {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took > patience+probeTimeout {
			t.Errorf("it took %s", took)
		}
	})
}

// TestSlow: a slow answer is not interrupted while probes are answered.
func TestSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newRemote(t)
		_ = f.admit("first")
		synctest.Wait()
		f.set(func(context.Context) error { time.Sleep(25 * time.Second); return nil }, succeed)
		if err := f.send(t); err != nil {
			t.Error(err)
		}
		if u := f.admit("a"); u != nil {
			t.Error(u)
		}
	})
}

// TestCanceled: neither a canceled request nor the end of a watch counts as a failure.
func TestCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newRemote(t)
		_ = f.admit("first")
		synctest.Wait()
		time.Sleep(time.Minute)
		f.set(silent, refuse)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://far", http.NoBody)
		resp, err := f.gate.wrap(f).RoundTrip(req)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, %v", resp, err)
		}
		broken := errors.New("read on closed body")
		body := &observedBody{
			ReadCloser: io.NopCloser(readerFunc(func([]byte) (int, error) { return 0, broken })),
			request:    &inFlight{gate: f.gate, cancel: func(error) {}}, ctx: t.Context(),
		}
		_ = body.Close()
		if _, err := body.Read(nil); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if u := f.admit("a"); u != nil {
			t.Error(u)
		}
	})
}

// TestBrokenWatch: a watch that breaks triggers a probe.
func TestBrokenWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newRemote(t)
		_ = f.admit("first")
		time.Sleep(time.Minute)
		f.set(succeed, refuse)
		body := &observedBody{
			ReadCloser: io.NopCloser(readerFunc(func([]byte) (int, error) { return 0, io.ErrUnexpectedEOF })),
			request:    &inFlight{gate: f.gate, cancel: func(error) {}}, ctx: t.Context(),
		}
		if _, err := body.Read(nil); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if u := f.admit("a"); u == nil || u.Checking {
			t.Errorf("got %v", u)
		}
	})
}

type readerFunc func([]byte) (int, error)

func (r readerFunc) Read(p []byte) (int, error) { return r(p) }

// TestChangedCluster: a HelmRelease that uses another cluster now is not enqueued for the old one,
// which is no longer probed.
func TestChangedCluster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newRemote(t)
		f.open(t)
		_, _ = f.admit("a"), f.admit("b")
		local := f.mustFor(t, Identity{})
		if u := f.Admit(local, types.NamespacedName{Name: "a"}); u != nil {
			t.Error(u)
		}
		f.Forget(types.NamespacedName{Name: "b"})
		_, before, _, _ := f.counts()
		time.Sleep(time.Hour)
		// One was in flight or due already.
		if _, probes, enqueued, _ := f.counts(); probes > before+1 || len(enqueued) != 1 {
			t.Errorf("%d probes, enqueued %s", probes-before, enqueued)
		}
		f.mustFor(t, Identity{})
		if _, _, _, reported := f.counts(); len(f.gates.byDigest) != 0 || reported[len(reported)-1] != "https://far:6443 false" {
			t.Errorf("%d gates, reported %s", len(f.gates.byDigest), reported)
		}
	})
}

// TestWithoutProbes: while no probes are sent, every request is.
func TestWithoutProbes(t *testing.T) {
	t.Parallel()
	pool, _ := newPool(t, &rest.Config{Host: "http://local"})
	connection := pool.mustFor(t, Identity{Kubeconfig: kubeconfigFor("http://127.0.0.1:1", "t")})
	for range 2 {
		if u := pool.Admit(connection, types.NamespacedName{Name: "a"}); u != nil {
			t.Error(u)
		}
		d, _ := connection.ToDiscoveryClient()
		if _, err := d.ServerVersion(); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("got %v", err)
		}
	}
}

// TestGates: connections by the same kubeconfig share a gate, and others do not.
func TestGates(t *testing.T) {
	t.Parallel()
	pool, _ := newPool(t, &rest.Config{Host: "http://local"})
	a, b := kubeconfigFor("https://there", "a"), kubeconfigFor("https://there", "b")
	one := pool.mustFor(t, Identity{Kubeconfig: a}).gate
	for name, tc := range map[string]struct {
		id   Identity
		same bool
	}{
		"User":  {Identity{Kubeconfig: a, User: "u"}, true},
		"Fresh": {Identity{Kubeconfig: a, Fresh: true}, true},
		"Token": {Identity{Kubeconfig: b}, false},
	} {
		if got := pool.mustFor(t, tc.id).gate; (got == one) != tc.same {
			t.Errorf("%s: the same: %t", name, got == one)
		}
	}
	if pool.mustFor(t, Identity{}).gate != nil {
		t.Error("the controller's own cluster has a gate")
	}
}

// TestProbe: a probe fails if the server does not answer, or if a proxy reports that.
func TestProbe(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	status, seen := http.StatusOK, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = r.URL.Path + " " + r.Header.Get("Authorization") + " " + r.Header.Get("Impersonate-User")
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	pool, _ := newPool(t, &rest.Config{Host: "http://local"})
	g := pool.mustFor(t, Identity{Kubeconfig: kubeconfigFor(server.URL+"/path", "t0ken"), User: "u"}).gate
	for answer, there := range map[int]bool{
		200: true, 301: true, 401: true, 403: true, 404: true, 429: true, 500: true, 502: false, 503: false, 504: false,
	} {
		mu.Lock()
		status = answer
		mu.Unlock()
		if err := g.probe(t.Context()); (err == nil) != there {
			t.Errorf("%d: %v", answer, err)
		}
	}
	mu.Lock()
	if seen != "/path/version Bearer t0ken " {
		t.Errorf("the server received %q", seen)
	}
	mu.Unlock()
	server.Close()
	if err := g.probe(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the server is closed, but %v", err)
	}
}

// TestCause: a cause is the same for the same reason and quotes no URL.
func TestCause(t *testing.T) {
	t.Parallel()
	dial := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 443}, Err: err}
	}
	read := &net.OpError{Op: "read", Net: "tcp", Source: &net.TCPAddr{Port: 54321}, Err: syscall.ECONNRESET}
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"Refused": {dial(syscall.ECONNREFUSED), "dial 10.0.0.1:443: connection refused"},
		"Late":    {dial(timeoutError{}), "dial 10.0.0.1:443: late"},
		"Reset":   {read, "read: connection reset by peer"},
		"URL":     {&url.Error{Op: "Get", URL: "https://hunter2@h/?hunter2", Err: &url.Error{URL: "hunter2", Err: syscall.ECONNREFUSED}}, "connection refused"},
		"Silent":  {&url.Error{Err: context.DeadlineExceeded}, "no answer in time"},
		"Expired": {x509.CertificateInvalidError{Cert: &x509.Certificate{}, Reason: x509.Expired, Detail: "current time 2026-01-02T03:04:05Z"}, "tls: the certificate of the server has expired or is not yet valid"},
		"Unknown": {x509.UnknownAuthorityError{}, "x509: certificate signed by unknown authority"},
		"Long":    {errors.New(strings.Repeat("ä\n", 1000)), strings.Repeat("ä ", 65) + "ä..."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := apiretry.Cause(tc.err); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

type timeoutError struct{}

func (timeoutError) Error() string { return "late" }
func (timeoutError) Timeout() bool { return true }

// TestInterruptedProbe: a probe that a shutdown interrupts does not open the breaker.
func TestInterruptedProbe(t *testing.T) {
	t.Parallel()
	pool, _ := newPool(t, &rest.Config{Host: "http://local"})
	id := Identity{Kubeconfig: kubeconfigFor("http://127.0.0.1:1", "t")}
	g := pool.mustFor(t, id).gate
	g.breaker.phase = phaseSuspected
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	pool.gates.probe(ctx, id.key().digest, g)
	if g.isOpen() {
		t.Error("an interrupted probe opened the breaker")
	}
}
