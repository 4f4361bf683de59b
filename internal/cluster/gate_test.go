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

// far is a cluster that is there or not, as tests want it, behind a gate.
type far struct {
	*Connections
	*Connection

	mu sync.Mutex
	// answer is what becomes of requests, and probed of probes.
	answer, probed func(ctx context.Context) error
	sent, probes   int
	woken          []string
	told           []string
}

func fine(context.Context) error    { return nil }
func refused(context.Context) error { return syscall.ECONNREFUSED }

// silent never answers.
func silent(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// RoundTrip implements http.RoundTripper.
func (f *far) RoundTrip(req *http.Request) (*http.Response, error) {
	f.mu.Lock()
	f.sent++
	answer := f.answer
	f.mu.Unlock()
	if err := answer(req.Context()); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}")), Request: req}, nil
}

// newFar returns a cluster that answers. It has to be called in a bubble.
func newFar(t *testing.T) *far {
	t.Helper()
	f := &far{answer: fine, probed: fine, Connections: NewConnections(&rest.Config{Host: "http://local"}, KubeconfigOptions{}, time.Now)}
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
		Enqueue:     func(who types.NamespacedName) { f.note(&f.woken, who.Name) },
		Unreachable: func(host string, is bool) { f.note(&f.told, fmt.Sprint(host, " ", is)) },
		Reachable:   func(string) { f.note(&f.told, "reachable") },
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

func (f *far) note(list *[]string, what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*list = append(*list, what)
}

func (f *far) set(answer, probed func(context.Context) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer, f.probed = answer, probed
}

func (f *far) counts() (sent, probes int, woken, told []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sent, f.probes, slices.Sorted(slices.Values(f.woken)), slices.Clone(f.told)
}

// send sends a request through the gate, and reads the answer.
func (f *far) send(t *testing.T) error {
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

func (f *far) visit(name string) *Unreachable {
	return f.Admit(f.Connection, types.NamespacedName{Name: name})
}

// open makes the cluster sound, and then unreachable.
func (f *far) open(t *testing.T) {
	t.Helper()
	_ = f.visit("first")
	time.Sleep(time.Minute)
	f.set(refused, refused)
	if err := f.send(t); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("the first to notice gets what it was: %v", err)
	}
	synctest.Wait()
}

// TestFirstVisit: the first visit is told to come back, and does not wait for anybody
// to answer.
func TestFirstVisit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar(t)
		if u := f.visit("a"); u == nil || !u.Checking {
			t.Fatalf("nobody knew whether anybody is there: %v", u)
		}
		synctest.Wait()
		if _, probes, woken, told := f.counts(); probes != 1 || !slices.Equal(woken, []string{"a"}) || len(told) > 0 {
			t.Errorf("%d probes, woke %s, told %s", probes, woken, told)
		}
		if u := f.visit("a"); u != nil {
			t.Error(u)
		}
	})
}

// TestFirstVisitOfNobody: what is said names the host and the failure, and nothing of
// the kubeconfig else.
func TestFirstVisitOfNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar(t)
		f.set(fine, refused)
		_ = f.visit("a")
		synctest.Wait()
		u := f.visit("a")
		if u == nil || u.Checking || u.Error() != "https://far:6443 has not been reachable since 2000-01-01T00:00:00Z: connection refused; it is tried again within 1m0s" {
			t.Errorf("got %v", u)
		}
		if _, _, woken, _ := f.counts(); !slices.Equal(woken, []string{"a"}) {
			t.Errorf("woke %s: it has something to say now", woken)
		}
	})
}

// TestOpen: nothing is sent to a cluster that is not there, nobody waits for it, and
// all are woken once it is back.
func TestOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar(t)
		f.open(t)
		before, _, _, told := f.counts()
		if !slices.Equal(told, []string{"https://far:6443 true"}) {
			t.Errorf("told %s", told)
		}
		began := time.Now()
		for _, name := range []string{"a", "b"} {
			if u := f.visit(name); u == nil || u.Checking || u.Cause != "connection refused" {
				t.Errorf("%s is let in: %v", name, u)
			}
		}
		var unreachable *Unreachable
		if err := f.send(t); !errors.As(err, &unreachable) || errors.Is(err, syscall.ECONNREFUSED) {
			// client-go would try again what it takes for a broken connection.
			t.Errorf("got %v", err)
		}
		if sent, _, _, _ := f.counts(); sent != before || !time.Now().Equal(began) {
			t.Errorf("%d requests were sent, which took %s", sent-before, time.Since(began))
		}
		f.set(fine, fine)
		time.Sleep(longestPause)
		synctest.Wait()
		_, _, woken, told := f.counts()
		if !slices.Equal(woken, []string{"a", "b", "first"}) || !slices.Equal(told, []string{"https://far:6443 true", "https://far:6443 false", "reachable"}) {
			t.Errorf("woke %s, told %s", woken, told)
		}
		if u := f.visit("a"); u != nil || f.send(t) != nil {
			t.Errorf("it is there, but %v", u)
		}
	})
}

// TestProbesAreFew: an hour of absence costs about a probe a minute, and none if
// nobody wants to know.
func TestProbesAreFew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar(t)
		f.open(t)
		_, before, _, _ := f.counts()
		time.Sleep(time.Hour)
		if _, probes, _, _ := f.counts(); probes != before {
			t.Errorf("%d probes that nobody wanted", probes-before)
		}
		for n := range 1000 {
			_ = f.visit(fmt.Sprint("r", n))
		}
		time.Sleep(time.Hour)
		if _, probes, _, _ := f.counts(); probes-before < 55 || probes-before > 70 {
			t.Errorf("%d probes in an hour", probes-before)
		}
		// Who asks after a long time is answered soon.
		f.set(fine, fine)
		time.Sleep(longestPause)
		if u := f.visit("r0"); u != nil {
			t.Error(u)
		}
	})
}

// TestBlip: a connection that broke is no reason to refuse anything.
func TestBlip(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar(t)
		_ = f.visit("first")
		synctest.Wait()
		time.Sleep(time.Minute)
		f.set(refused, fine)
		if err := f.send(t); err == nil {
			t.Fatal("it does not work")
		}
		f.set(fine, fine)
		if err := f.send(t); err != nil {
			t.Errorf("refused before anything was known: %v", err)
		}
		synctest.Wait()
		if u := f.visit("a"); u != nil {
			t.Error(u)
		}
		if _, probes, _, told := f.counts(); probes != 2 || len(told) > 0 {
			t.Errorf("%d probes, told %s", probes, told)
		}
	})
}

// TestSilence: a server that goes away without a word keeps what is under way for a
// few seconds only.
func TestSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar(t)
		_ = f.visit("first")
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

// TestSlow: who is only slow gets all the time there is.
func TestSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar(t)
		_ = f.visit("first")
		synctest.Wait()
		f.set(func(context.Context) error { time.Sleep(25 * time.Second); return nil }, fine)
		if err := f.send(t); err != nil {
			t.Error(err)
		}
		if u := f.visit("a"); u != nil {
			t.Error(u)
		}
	})
}

// TestGivenUp: that somebody does not want an answer any more says nothing of the
// cluster, nor does the end of a watch.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar(t)
		_ = f.visit("first")
		synctest.Wait()
		time.Sleep(time.Minute)
		f.set(silent, refused)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://far", http.NoBody)
		resp, err := f.gate.wrap(f).RoundTrip(req)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, %v", resp, err)
		}
		broken := errors.New("read on closed body")
		body := &watchedBody{
			ReadCloser: io.NopCloser(readerFunc(func([]byte) (int, error) { return 0, broken })),
			flight:     &flight{gate: f.gate, cancel: func(error) {}}, ctx: t.Context(),
		}
		_ = body.Close()
		if _, err := body.Read(nil); !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if u := f.visit("a"); u != nil {
			t.Error(u)
		}
	})
}

// TestBrokenWatch: a watch that breaks off is the first to notice.
func TestBrokenWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar(t)
		_ = f.visit("first")
		time.Sleep(time.Minute)
		f.set(fine, refused)
		body := &watchedBody{
			ReadCloser: io.NopCloser(readerFunc(func([]byte) (int, error) { return 0, io.ErrUnexpectedEOF })),
			flight:     &flight{gate: f.gate, cancel: func(error) {}}, ctx: t.Context(),
		}
		if _, err := body.Read(nil); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if u := f.visit("a"); u == nil || u.Checking {
			t.Errorf("got %v", u)
		}
	})
}

type readerFunc func([]byte) (int, error)

func (r readerFunc) Read(p []byte) (int, error) { return r(p) }

// TestMovedOn: who leads to another cluster by now is not woken for the old one, which
// nobody looks for any more.
func TestMovedOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFar(t)
		f.open(t)
		_, _ = f.visit("a"), f.visit("b")
		home := f.mustFor(t, Identity{})
		if u := f.Admit(home, types.NamespacedName{Name: "a"}); u != nil {
			t.Error(u)
		}
		f.Forget(types.NamespacedName{Name: "b"})
		_, before, _, _ := f.counts()
		time.Sleep(time.Hour)
		// One was under way already, or wanted.
		if _, probes, woken, _ := f.counts(); probes > before+1 || len(woken) != 1 {
			t.Errorf("%d probes, woke %s", probes-before, woken)
		}
		f.mustFor(t, Identity{})
		if _, _, _, told := f.counts(); len(f.gates) != 0 || told[len(told)-1] != "https://far:6443 false" {
			t.Errorf("%d clusters are known, told %s", len(f.gates), told)
		}
	})
}

// TestNobodyProbes: without anybody to find out whether a cluster is back, none is
// given up.
func TestNobodyProbes(t *testing.T) {
	t.Parallel()
	pool, _ := newPool(t, &rest.Config{Host: "http://local"})
	way := pool.mustFor(t, Identity{Kubeconfig: kubeconfigFor("http://127.0.0.1:1", "t")})
	for range 2 {
		if u := pool.Admit(way, types.NamespacedName{Name: "a"}); u != nil {
			t.Error(u)
		}
		d, _ := way.ToDiscoveryClient()
		if _, err := d.ServerVersion(); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("got %v", err)
		}
	}
}

// TestGates: those who come by the same kubeconfig share what is known of the cluster,
// whomever they impersonate, and others share nothing.
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

// TestProbe goes all the way, to a server that answers this and that.
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
	g := pool.mustFor(t, Identity{Kubeconfig: kubeconfigFor(server.URL+"/path", "t0ken"), User: "somebody"}).gate
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
		t.Errorf("the server saw %q", seen)
	}
	mu.Unlock()
	server.Close()
	if err := g.probe(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("nobody is there, but %v", err)
	}
}

func TestCauseOf(t *testing.T) {
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
		"Long":    {errors.New(strings.Repeat("ä\n", 1000)), strings.Repeat("ä ", 66) + "ä…"},
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

// TestProbeCutOff: that we end is no reason to give up a cluster.
func TestProbeCutOff(t *testing.T) {
	t.Parallel()
	pool, _ := newPool(t, &rest.Config{Host: "http://local"})
	id := Identity{Kubeconfig: kubeconfigFor("http://127.0.0.1:1", "t")}
	g := pool.mustFor(t, id).gate
	g.breaker.phase = suspected
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	pool.probe(ctx, id.key().digest, g)
	if g.isOpen() {
		t.Error("nobody was asked, and that was taken for an answer")
	}
}
